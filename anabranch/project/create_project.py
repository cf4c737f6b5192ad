"""Beginning a project: the files of a new folder, none of which takes the place of another."""

from __future__ import annotations

import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from anabranch.errors import FileExists, InputError
from anabranch.project.config import PROJECT_FILE

DEFAULT_NAME = "project"
_HIDDEN = {"gitignore": ".gitignore"}
"""Files whose names begin with a dot, as they are kept here."""


def create_project(folder: str | Path, *, example: bool = False) -> list[str]:
    """Write the files of an empty project, or of an example that runs; their names."""
    place = Path(folder)
    template = resources.files("anabranch.project") / "templates" / ("example" if example else "plain")
    files = {
        name: text.replace("{name}", _project_name(place)) for name, text in _read_template(template, "")
    }
    for name in files:
        if (place / name).exists() or (place / name).is_symlink():
            raise FileExists(
                f'"{place / name}" is there already',
                detail="nothing was written.",
                hint="choose another folder.",
            )
    try:
        for name, text in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
    except FileExistsError as error:
        raise FileExists(f'"{error.filename}" is there already', hint="choose another folder.") from error
    except OSError as error:
        raise InputError(f'"{place}" can\'t be written', detail=f"{error.strerror}.") from error
    return sorted(files, key=lambda name: (name != PROJECT_FILE, name))


def _read_template(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in sorted(folder.iterdir(), key=lambda each: each.name):
        name = prefix + _HIDDEN.get(item.name, item.name)
        if item.is_dir():
            found += [] if item.name == "__pycache__" else _read_template(item, f"{name}/")
        else:
            found.append((name, item.read_text("utf-8")))
    return found


def _project_name(place: Path) -> str:
    """The folder's name, as far as it can be a project's."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", place.resolve().name)[:64]
    return name if name[:1].isascii() and name[:1].isalpha() else DEFAULT_NAME
