"""What an anabranch.yml says: where the lake is, its settings, which files define its tables, its groups."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from anabranch.errors import AnabranchError, InvalidProjectFile, MissingVariable, UnknownEnvironment
from anabranch.ledger.timestamps import from_micros
from anabranch.lifecycle.refresh_groups import RefreshGroupRequest, parse_refresh_group
from anabranch.lifecycle.watermark_groups import parse_watermark_group
from anabranch.project.strict_yaml import YamlValue, read_document
from anabranch.settings import read_setting
from anabranch.streams.source_readiness import WatermarkGroup

PROJECT_FILE = "anabranch.yml"
DEFAULT_FILES = ("**/*.sql", "**/*.py")
OVERRIDABLE = ("lake", "catalog", "settings", "spark")
KEYS = ("name", *OVERRIDABLE, "environments", "files", "refresh_groups", "watermark_groups")
MAX_ENTRIES = 10_000
SECRET_LENGTH = 4
NO_TIME = from_micros(0)
Made = TypeVar("Made")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"\$(?:\$\{|\{([^}]*)\})")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPARK_OPTION = re.compile(r"spark\.[A-Za-z0-9_.\-]+")


@dataclass(frozen=True)
class Config:
    """The project file, for one environment."""

    name: str
    environment: str | None
    lake: str = field(repr=False)
    catalog: str | None = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    spark: Mapping[str, str] = field(repr=False)
    files: tuple[str, ...]
    files_given: bool
    """Whether the file names them; what is named and not there is an error."""
    refresh_groups: tuple[RefreshGroupRequest, ...]
    watermark_groups: tuple[WatermarkGroup, ...]
    secrets: tuple[str, ...] = field(repr=False)
    """What came from environment variables: it is never shown."""


def read_config(folder: Path, environment: str | None, variables: Mapping[str, str] | None = None) -> Config:
    """The project file in a folder."""
    path = folder / PROJECT_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidProjectFile(
            f"there is no {PROJECT_FILE} in {folder}",
            detail=f"{error.strerror}." if not isinstance(error, FileNotFoundError) else None,
            hint="`anabranch init DIR` makes a project.",
        ) from error
    document = read_document(data, PROJECT_FILE)
    found = _Variables(os.environ if variables is None else variables)
    with hide_secrets_in_errors(found.used):
        return _parse_config(document, folder, environment, found)


@contextmanager
def hide_secrets_in_errors(secrets: Sequence[str]) -> Iterator[None]:
    """Errors that pass here show stars where they would show a secret."""
    try:
        yield
    except AnabranchError as error:
        told = (error.message, error.detail, error.hint)
        hidden = [None if text is None else without_secrets(text, secrets) for text in told]
        if tuple(hidden) == told:
            raise
        # The error that it came from would tell.
        raise type(error)(hidden[0] or "", detail=hidden[1], hint=hidden[2]) from None


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text with stars for secrets; what is short enough to be guessed is none."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SECRET_LENGTH:
            text = text.replace(secret, "***")
    return text


def _parse_config(document: YamlValue, folder: Path, environment: str | None, found: _Variables) -> Config:
    parts = document.mapping(*KEYS)
    name = _project_name(document, parts)
    chosen = _parts_for_environment(document, parts, environment)
    lake = chosen.get("lake")
    if lake is None:
        raise document.refuse("the project file doesn't say where the lake is", hint="lake: ./lake")
    catalog = chosen.get("catalog")
    return Config(
        name=name,
        environment=environment,
        lake=_resolve_location(found.substitute(lake), folder),
        catalog=None if catalog is None or catalog.value is None else found.substitute(catalog),
        settings={
            key: _parse_setting(key, part, found)
            for key, part in _merge_mapping(parts, chosen, "settings").items()
        },
        spark={
            key: _parse_spark_option(key, part, found)
            for key, part in _merge_mapping(parts, chosen, "spark").items()
        },
        files=_parse_file_patterns(parts["files"]) if "files" in parts else DEFAULT_FILES,
        files_given="files" in parts,
        refresh_groups=tuple(map(_parse_refresh_group, _parse_entries(parts, "refresh_groups").values())),
        watermark_groups=tuple(
            map(_parse_watermark_group, _parse_entries(parts, "watermark_groups").values())
        ),
        secrets=tuple(found.used),
    )


def _project_name(document: YamlValue, parts: Mapping[str, YamlValue]) -> str:
    if "name" not in parts:
        raise document.refuse(
            "the project has no name", hint="name: shop. By it the lake remembers what the project made."
        )
    name = parts["name"].text()
    if not _NAME.fullmatch(name):
        raise parts["name"].refuse(
            f"{ascii(name)[:60]} can't be the name of a project",
            hint="letters, digits, _ and -; up to 64, the first a letter.",
        )
    return name


# -- environments ---------------------------------------------------------------------------------


def _parts_for_environment(
    document: YamlValue, parts: Mapping[str, YamlValue], environment: str | None
) -> dict[str, YamlValue]:
    """What is said for the environment, and otherwise for all. All environments are looked at."""
    environments = _parse_entries(parts, "environments")
    for part in environments.values():
        part.mapping(*OVERRIDABLE)
    chosen = {key: part for key, part in parts.items() if key in OVERRIDABLE}
    if environment is None:
        return chosen
    if environment not in environments:
        close = difflib.get_close_matches(str(environment), environments, n=1)
        known = ", ".join(environments) or "none"
        raise UnknownEnvironment(
            f"the project has no environment {ascii(environment)[:60]}",
            detail=f"{document.file} has {known}.",
            hint=f"did you mean {close[0]}?" if close else None,
        )
    return chosen | dict(environments[environment].mapping())


def _merge_mapping(
    parts: Mapping[str, YamlValue], chosen: Mapping[str, YamlValue], key: str
) -> dict[str, YamlValue]:
    """Keys of a mapping: what the environment doesn't name is as it is for all."""
    base, own = parts.get(key), chosen.get(key)
    return {**(base.mapping() if base else {}), **(own.mapping() if own else {})}


class _Variables:
    """`${NAME}` in a value stands for an environment variable, `$${` for itself."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.used: list[str] = []

    def substitute(self, part: YamlValue) -> str:
        """The text with its variables."""

        def variable_value(match: re.Match[str]) -> str:
            name = match[1]
            if name is None:
                return "${"
            if not _VARIABLE_NAME.fullmatch(name):
                raise part.refuse(f"{ascii(match[0])[:60]} is no environment variable", hint="write ${NAME}.")
            if name not in self._variables:
                raise MissingVariable(
                    f"the environment variable {name} is not set",
                    detail=f"{part.file}, line {part.line} ({'.'.join(part.path)}) needs it.",
                )
            self.used.append(self._variables[name])
            return self._variables[name]

        return _VARIABLE.sub(variable_value, part.text())


# -- values ---------------------------------------------------------------------------------------


def _resolve_location(lake: str, folder: Path) -> str:
    """Relative to the project file, not to where somebody happens to stand."""
    if "://" in lake or os.path.isabs(lake):
        return lake
    return str((folder / lake).resolve())


def _parse_setting(key: str, part: YamlValue, variables: _Variables) -> Any:
    value = variables.substitute(part) if isinstance(part.value, str) else part.scalar()
    try:
        read_setting(key, value)
    except AnabranchError as error:
        detail = f"{part.file}, line {part.line}"
        told = f"{detail}: {error.detail}" if error.detail else f"{detail}."
        raise type(error)(error.message, detail=told, hint=error.hint) from error
    return value


def _parse_spark_option(key: str, part: YamlValue, variables: _Variables) -> str:
    if not _SPARK_OPTION.fullmatch(key):
        raise part.refuse(f"{ascii(key)[:60]} is no option of Spark", hint="they begin with spark.")
    value = variables.substitute(part) if isinstance(part.value, str) else part.scalar()
    if value is None:
        raise part.refuse(f"{key} has no value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parse_file_patterns(part: YamlValue) -> tuple[str, ...]:
    patterns = part.texts()
    for pattern, entry in zip(patterns, part.parts.values(), strict=True):
        pieces = pattern.split("/")
        if pattern.startswith(("/", "~")) or ".." in pieces or "\\" in pattern or "" in pieces:
            raise entry.refuse(
                f"{ascii(pattern)[:60]} can't be a pattern for files",
                hint="name files below the project's folder: tables/*.sql, **/*.py.",
            )
        if not pattern.endswith((".sql", ".py")):
            raise entry.refuse(
                f"{ascii(pattern)[:60]} names files that define nothing", hint="end it with .sql or .py."
            )
    return patterns


def _parse_entries(parts: Mapping[str, YamlValue], key: str) -> Mapping[str, YamlValue]:
    found = parts[key].mapping() if key in parts else {}
    if len(found) > MAX_ENTRIES:
        raise parts[key].refuse(f"{key} has more than {MAX_ENTRIES} entries")
    return found


def _parse_refresh_group(part: YamlValue) -> RefreshGroupRequest:
    values = part.mapping("members", "isolation", "snapshot_timeout_ms")
    if "members" not in values:
        raise part.refuse(f'the group "{part.name}" has no members', hint="members: [a, b]")
    given = {key: value.scalar() for key, value in values.items() if key != "members"}
    return _name_line_in_errors(
        part,
        lambda: parse_refresh_group(
            part.path[-1],
            values["members"].texts(),
            given.get("isolation", "read_committed"),
            given.get("snapshot_timeout_ms", 0),
        ),
    )


def _parse_watermark_group(part: YamlValue) -> WatermarkGroup:
    values = part.mapping("sources", "tolerance", "missing")
    if "sources" not in values:
        raise part.refuse(f'the watermark group "{part.name}" has no sources', hint="sources: [a, b]")
    given = {key: value.scalar() for key, value in values.items() if key != "sources"}
    return _name_line_in_errors(
        part,
        lambda: parse_watermark_group(
            part.path[-1],
            values["sources"].texts(),
            given.get("tolerance", "0s"),
            given.get("missing", "gated"),
            NO_TIME,
        ),
    )


def _name_line_in_errors(part: YamlValue, make: Callable[[], Made]) -> Made:
    """What is made, or its refusal with the place of the part."""
    try:
        return make()
    except InvalidProjectFile:
        raise
    except AnabranchError as error:
        where = f"{part.file}, line {part.line} ({'.'.join(part.path)})"
        detail = f"{where}: {error.detail}" if error.detail else f"{where}."
        raise type(error)(error.message, detail=detail, hint=error.hint) from error
