-- The first rows. Run it once: anabranch sql -f load.sql

INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Edsger'), (4, 'Barbara');

INSERT INTO orders VALUES
    (1, 1, 'north', 'tea', 12.50),
    (2, 2, 'north', 'coffee', 8.00),
    (3, 2, 'south', 'tea', 25.00),
    (4, 3, 'west', 'cocoa', 4.20),
    (5, 4, 'south', 'coffee', 16.00);
