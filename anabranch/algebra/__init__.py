"""What a query is: plans over tables, and scalars over the columns of a row."""
