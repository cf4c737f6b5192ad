-- People who opened an auction.
SELECT DISTINCT p.id, p.name, p.date_time
FROM person AS p
JOIN auction AS a ON p.id = a.seller
