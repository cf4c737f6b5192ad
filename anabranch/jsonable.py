"""Values as JSON has them: what the command line prints and the service answers."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def to_jsonable(value: object) -> Any:
    """Dataclasses become objects, times ISO 8601 text, decimals text (they stay exact), bytes Base64.

    >>> to_jsonable({"total": Decimal("1.10"), "days": (date(2024, 2, 29),), "ratio": math.inf})
    {'total': '1.10', 'days': ['2024-02-29'], 'ratio': 'Infinity'}
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _SPELLED.get(value, "NaN")
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Mapping():
            return {str(key): to_jsonable(entry) for key, entry in value.items()}
        case list() | tuple():
            return [to_jsonable(entry) for entry in value]
        case set() | frozenset():
            return [to_jsonable(entry) for entry in sorted(value, key=str)]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
    return str(value)


_SPELLED = {math.inf: "Infinity", -math.inf: "-Infinity"}
