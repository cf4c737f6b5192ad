"""Computing small changes in this process."""
