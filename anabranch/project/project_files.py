"""The files of a project: those below its folder that its patterns name, in the order of their names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from anabranch.errors import InvalidDefinitionFile, InvalidProjectFile

MAX_FILES = 10_000
MAX_FILE_BYTES = 1 << 20
SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


def find_files(folder: Path, patterns: Sequence[str], *, needed: bool, outside: str) -> list[str]:
    """Paths relative to the folder, with slashes. `needed`: patterns that name nothing are an error.

    Hidden folders, virtual environments and `outside`, where the lake is, are left out.
    """
    names = list(_walk_files(folder, outside))
    wanted = [_pattern_regex(pattern) for pattern in patterns]
    matched = [name for name in names if any(each.fullmatch(name) for each in wanted)]
    if needed and not matched:
        shown = ", ".join(ascii(pattern)[:80] for pattern in patterns)
        # Else a slip of the pen would mean that all of its stream tables are to go.
        raise InvalidProjectFile(
            f"no file is named by {shown}", hint="correct `files:`, or take it out for **/*.sql and **/*.py."
        )
    for name in matched:
        _check_inside(folder, name)
    return sorted(matched)


def read_text(folder: Path, name: str) -> str:
    """The text of a file."""
    path = folder / name
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InvalidDefinitionFile(
                f"{name} is too large", detail=f"{size} bytes; {MAX_FILE_BYTES} are allowed."
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDefinitionFile(f"{name} is not text in UTF-8") from error
    except OSError as error:
        raise InvalidDefinitionFile(f"{name} can't be read", detail=f"{error.strerror}.") from error


def _walk_files(folder: Path, outside: str) -> Iterator[str]:
    count = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(
            each
            for each in folders
            if not each.startswith(".")
            and each not in SKIPPED
            and not os.path.exists(os.path.join(place, each, "pyvenv.cfg"))
            and os.path.realpath(os.path.join(place, each)) != outside
        )
        for each in files:
            if not each.endswith((".sql", ".py")) or each.startswith("."):
                continue
            count += 1
            if count > MAX_FILES:
                raise InvalidProjectFile(f"the project has more than {MAX_FILES} files")
            yield Path(place, each).relative_to(folder).as_posix()


def _check_inside(folder: Path, name: str) -> None:
    real = (folder / name).resolve()
    if not real.is_relative_to(folder.resolve()):
        raise InvalidDefinitionFile(f"{name} leads out of the project", detail="it is a link to elsewhere.")


def _pattern_regex(pattern: str) -> re.Pattern[str]:
    """`**/` stands for folders, any number of them; `*` and `?` for characters of one name.

    >>> [bool(_pattern_regex(each).fullmatch("a/b.sql")) for each in ("**/*.sql", "*.sql")]
    [True, False]
    """
    pieces = []
    *folders, last = pattern.split("/")
    for piece in folders:
        pieces.append("(?:[^/]+/)*" if piece == "**" else _segment_regex(piece) + "/")
    pieces.append("(?:[^/]+/)*[^/]+" if last == "**" else _segment_regex(last))
    return re.compile("".join(pieces))


def _segment_regex(piece: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character)) for character in piece)
