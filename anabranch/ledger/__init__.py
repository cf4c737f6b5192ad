"""What the lake remembers, in the same database as the Iceberg pointers."""
