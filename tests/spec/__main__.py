"""Rewrite the spec files from what the code does now, and say which changed."""

from __future__ import annotations

from tests.spec.specs import paths, read, rewritten


def main() -> None:
    """All files, each only if it differs."""
    for path in paths():
        text = rewritten(read(path))
        if text != path.read_text():
            path.write_text(text)
            print(f"{path.parent.name}/{path.name}")


main()
