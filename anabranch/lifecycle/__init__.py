"""From a definition to a stream table, and to its end."""
