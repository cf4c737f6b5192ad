"""Running SQL statements against a lake."""
