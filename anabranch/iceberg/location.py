"""Where a lake may be: a local path or an address, as one URI."""

from __future__ import annotations

import re
from pathlib import Path

from anabranch.errors import InvalidLocation

# Characters that Spark would read as a pattern, or a URI parser as something else than a path.
_UNSAFE = re.compile(r"[*?\[\]{}\\#%^`\x00-\x1f\x7f\ud800-\udfff]")
_REMOTE = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "hdfs"})
MAX_LOCATION_LENGTH = 700


def warehouse_uri(location: str | Path) -> str:
    """The URI of a lake's location: a local path becomes `file:///…`.

    >>> warehouse_uri("/data/lake/")
    'file:///data/lake'
    """
    if not isinstance(location, str | Path):
        raise InvalidLocation(f"the lake's location must be text or a path, not {type(location).__name__}")
    text = str(location)
    if not text.strip():
        raise InvalidLocation("the lake's location is empty")
    if _UNSAFE.search(text):
        raise InvalidLocation(
            f"the location {text!a} has characters that can't stand in a path here",
            hint="avoid * ? [ ] { } # % ^ ` \\ and control characters.",
        )
    if "://" not in text or text.startswith("file:///"):
        uri = "file://" + _resolve_path(text.removeprefix("file://"))
    else:
        uri = text.rstrip("/")
        scheme, _, rest = uri.partition("://")
        if scheme not in _REMOTE or not rest:
            raise InvalidLocation(
                f"a lake can't be at {text!a}",
                hint="give a local path, or a URI that begins with " + ", ".join(sorted(_REMOTE)) + ".",
            )
    if len(uri) > MAX_LOCATION_LENGTH:
        raise InvalidLocation(f"the location is longer than {MAX_LOCATION_LENGTH} characters")
    return uri


def _resolve_path(path: str) -> str:
    try:
        return str(Path(path).expanduser().resolve())
    except (OSError, RuntimeError) as error:  # an unknown user's home, links that lead in a circle
        raise InvalidLocation(
            f"the location {path!a} leads nowhere", detail=f"{error}".rstrip(".") + "."
        ) from error
