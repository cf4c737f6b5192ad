SELECT id, item_name, description, initial_bid, reserve, date_time, expires, seller, category,
  auction, bidder, price, bid_time
FROM (
  SELECT a.*, b.auction, b.bidder, b.price, b.date_time AS bid_time,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.date_time) AS rank_number
  FROM auction AS a
  JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
) AS q
WHERE rank_number <= 1
