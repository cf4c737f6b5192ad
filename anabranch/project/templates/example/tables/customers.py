"""A stream table whose query is made by Python: the function gives the SQL, and its name to the table."""

import anabranch as ab

HOW_MANY = 3


@ab.stream_table(schedule="1s")
def top_customers() -> str:
    """The customers who spent most."""
    return f"""
        SELECT c.name, SUM(o.amount) AS spent
        FROM orders AS o JOIN customers AS c ON c.id = o.customer_id
        GROUP BY c.name
        ORDER BY spent DESC, c.name
        LIMIT {HOW_MANY}
    """
