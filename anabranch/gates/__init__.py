"""Which sources are ready, and what waits for those that aren't. Nothing here touches anything."""
