"""Maintenance of a lake: expire versions, sweep files, compact tables."""
