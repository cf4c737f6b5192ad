"""Commits: stage metadata, move the pointers of several tables in one transaction, report the outcome."""
