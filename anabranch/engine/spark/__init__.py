"""The Spark engine: the only folder that imports pyspark, and only its public API."""
