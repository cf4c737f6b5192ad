"""Fail if a file of the repository speaks of the machine it was written on.

Paths of somebody's home or workspace, and package registries other than PyPI, work nowhere else.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|opt|home/\w+|Users/\w+)/")
REGISTRY = re.compile(r"index[-_]url|find[-_]links|https?://\S+/\+?simple\b", re.IGNORECASE)


def main() -> int:
    """Print every stray place; the exit status is 1 if there is one."""
    found = [place for path in _list_files() for place in _read_stray_paths(path)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def _list_files() -> list[Path]:
    """What is tracked, or would be at the next `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [Path(name) for name in listed.stdout.split("\0") if name]
    return sorted(path for path in paths if path.is_file())


def _read_stray_paths(path: Path) -> Iterator[str]:
    lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        if hit := MACHINE_PATH.search(line):
            yield f"{path}:{number}: a path of one machine: {hit.group()}"
        if hit := REGISTRY.search(line):
            yield f"{path}:{number}: a package registry: {hit.group()}"


if __name__ == "__main__":
    sys.exit(main())
