"""Bringing a stored query from one moment of its sources to a later one."""
