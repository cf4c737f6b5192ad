-- Sources: tables that people write to. They are created if they are missing, and never dropped.

CREATE TABLE customers (
    id   BIGINT NOT NULL,
    name STRING
);

CREATE TABLE orders (
    id          BIGINT NOT NULL,
    customer_id BIGINT,
    region      STRING,
    product     STRING,
    amount      DECIMAL(12, 2)
);
