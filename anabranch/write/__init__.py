"""Changing tables: the verbs, and the transaction around them."""
