"""Reading tables as of one lake version."""
