"""Opening a lake, and the context that every operation on it is handed."""
