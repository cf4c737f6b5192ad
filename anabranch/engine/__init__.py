"""Engines compute rows: their protocol, plans as SQL, Spark, and the local engine in this process."""
