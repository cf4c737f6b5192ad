-- A diamond: orders flow apart into two stream tables, and meet again in a third. The three are always
-- refreshed from the same orders, and published together: revenue_check never shows two different totals.

CREATE STREAM TABLE by_region WITH (schedule = '1s') AS
SELECT region, SUM(amount) AS revenue, COUNT(*) AS orders
FROM orders
GROUP BY region;

CREATE STREAM TABLE by_product WITH (schedule = '1s') AS
SELECT product, SUM(amount) AS revenue
FROM orders
GROUP BY product;

CREATE STREAM TABLE revenue_check AS
SELECT r.total AS by_region, p.total AS by_product, r.total = p.total AS agree
FROM (SELECT SUM(revenue) AS total FROM by_region) AS r
CROSS JOIN (SELECT SUM(revenue) AS total FROM by_product) AS p;
