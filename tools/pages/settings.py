"""The page about settings, made from their definitions."""

from __future__ import annotations

from anabranch.settings import ENVIRONMENT_PREFIX, SETTINGS
from tools.pages.markdown_table import head, row

_INTRODUCTION = f"""\
# Settings

Made from `anabranch/settings.py` by `make docs`.

A value comes from the first of these that has one:

1. the arguments of `connect`: `ab.connect("./lake", parallelism=8)`
2. the environment: `{ENVIRONMENT_PREFIX}PARALLELISM=8`
3. the [project file](project-files.md), where a project opens the lake: `settings: {{parallelism: 8}}`
4. what is stored in the lake: `lake.set("parallelism", 8)`; it holds for every process that opens the lake
5. the default

`lake.settings()`, and `anabranch settings` on the command line, show the value of each and where it is from.

A value that can't be taken is refused wherever it comes from (`AB111`), and a name that doesn't exist too
(`AB110`). A duration is written as `500ms`, `30s`, `5m`, `1h30m`, `7d`, or given as a `timedelta`.
"""


def settings_page() -> str:
    """Every setting by name: its default, what it takes, what it is for."""
    lines = [_INTRODUCTION, *head("setting", "default", "takes", "meaning")]
    for _, setting in sorted(SETTINGS.items()):
        meaning = setting.meaning
        if setting.at_opening:
            meaning += "; a stored value counts from the next opening of the lake"
        lines.append(row(f"`{setting.name}`", f"`{setting.default}`", setting.takes.words, meaning))
    return "\n".join(lines) + "\n"
