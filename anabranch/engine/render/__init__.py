"""From a plan to one SQL statement."""
