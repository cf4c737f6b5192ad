-- Changes. Run it, then anabranch tick: only what they touch is computed.

INSERT INTO orders VALUES (6, 1, 'west', 'tea', 99.90);
UPDATE orders SET amount = amount + 1 WHERE product = 'coffee';
DELETE FROM orders WHERE id = 4;
