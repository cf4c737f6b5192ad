"""Refreshing stream tables: from one lake version of their sources to a later one."""
