"""Reading tables: one moment at a time."""
