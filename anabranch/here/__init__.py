"""A change computed in this process: its rows are few, and asking an engine costs more than they do."""
