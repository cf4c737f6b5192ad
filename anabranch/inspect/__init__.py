"""What there is to see of stream tables, as frozen values."""
