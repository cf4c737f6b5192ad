-- The auctions with the most bids, over all time.
SELECT c.auction, c.num
FROM (SELECT auction, count(*) AS num FROM bid GROUP BY auction) AS c
WHERE c.num >= (SELECT max(m.num) FROM (SELECT auction, count(*) AS num FROM bid GROUP BY auction) AS m)
