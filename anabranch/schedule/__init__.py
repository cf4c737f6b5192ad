"""When stream tables are refreshed."""
