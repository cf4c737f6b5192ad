-- The highest bids, over all time.
SELECT b.auction, b.price, b.bidder, b.date_time
FROM bid AS b
JOIN (SELECT max(price) AS price FROM bid) AS m ON b.price = m.price
