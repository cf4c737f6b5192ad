"""Logs as JSON lines on standard error: one object a line, with what happened in fields."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from typing import TextIO

from anabranch.clock import Clock
from anabranch.errors import Notice
from anabranch.jsonable import jsonable

NAMES = ("anabranch", "uvicorn", "py.warnings")


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "time": self._clock.now().isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(jsonable(line))


def log_to(clock: Clock, stream: TextIO | None = None) -> None:
    """Send what the service logs, and the lake's Notices, to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(clock))
    logging.captureWarnings(True)
    warnings.simplefilter("always", Notice)
    for name in NAMES:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
