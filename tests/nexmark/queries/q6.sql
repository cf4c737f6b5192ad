-- The average price of a seller's last ten auctions that were sold.
SELECT
  q.seller,
  avg(q.final) OVER (
    PARTITION BY q.seller ORDER BY q.date_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
  ) AS average
FROM (
  SELECT a.id, a.seller, max(b.price) AS final, max(b.date_time) AS date_time
  FROM auction AS a
  JOIN bid AS b ON a.id = b.auction
  WHERE b.date_time BETWEEN a.date_time AND a.expires
  GROUP BY a.id, a.seller
) AS q
