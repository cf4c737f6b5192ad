"""Who reads whom: the graph of stream tables, and what its shape says about refreshing them."""
