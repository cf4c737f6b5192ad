"""How long to wait after a failure: longer every time, up to a cap."""

from __future__ import annotations

from datetime import timedelta

FIRST = timedelta(seconds=1)
FACTOR = 2.0
CAP = timedelta(seconds=60)


def retry_delay(
    failures: int, first: timedelta = FIRST, factor: float = FACTOR, cap: timedelta = CAP
) -> timedelta:
    """The wait after so many failures in a row: `first`, then `factor` times the last, never above `cap`.

    >>> [retry_delay(failures).seconds for failures in (0, 1, 2, 3, 7, 1000)]
    [0, 1, 2, 4, 60, 60]
    """
    if failures <= 0:
        return timedelta(0)
    delay = min(first, cap)
    for _ in range(failures - 1):
        if factor <= 1 or delay >= cap:
            break
        delay = min(delay * factor, cap)
    return delay
