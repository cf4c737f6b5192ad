"""Benchmarks: each row is a ratio of two things measured in one run, taking turns."""
