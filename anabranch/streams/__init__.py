"""The domain, without I/O: stream tables, who reads whom, groups, cycles, gates, watermarks, fuses, holds."""
