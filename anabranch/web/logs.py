"""Logs as JSON lines on standard error: one object a line, with what happened in fields."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from anabranch.clock import Clock
from anabranch.errors import Notice
from anabranch.jsonable import to_jsonable

NAMES = ("anabranch", "uvicorn", "py.warnings")


class JsonFormatter(logging.Formatter):
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
        return json.dumps(to_jsonable(line))


@contextmanager
def log_as_json(clock: Clock, stream: TextIO | None = None) -> Iterator[None]:
    """Send what the service logs, and the lake's Notices, to standard error for as long as it runs."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(clock))
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        logging.captureWarnings(True)
        for logger in loggers:
            logger.handlers, logger.propagate = [handler], False
            logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
                logger.handlers, logger.propagate = handlers, propagate
                logger.setLevel(level)
