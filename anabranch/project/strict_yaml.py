"""A YAML document, read strictly: plain values, no key twice, no references, and every value knows its line.

Only what JSON knows is taken: words such as `on`, `1:30` or a date stay the text that they are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from anabranch.errors import InvalidProjectFile

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12

Value = str | int | float | bool | None | list[Any] | dict[str, Any]


class _Loader(yaml.SafeLoader):
    """The safe loader, with the plain values of JSON and nothing else."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"^(?:null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    ("float", r"^[-+]?(?:0|[1-9][0-9]*)\.[0-9]+$", list("-+0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


@dataclass(frozen=True)
class YamlValue:
    """A value of the document, the names that lead to it, and its line."""

    value: Value
    path: tuple[str, ...]
    line: int
    file: str
    parts: Mapping[str, YamlValue]
    """What is below, if it is a mapping; the entries of a list are called by their numbers."""

    def refuse(self, message: str, *, hint: str | None = None) -> InvalidProjectFile:
        """The error that this can't be, with its place."""
        shown = f" ({'.'.join(self.path)})" if self.path else ""
        return InvalidProjectFile(message, detail=f"{self.file}, line {self.line}{shown}.", hint=hint)

    def mapping(self, *known: str) -> Mapping[str, YamlValue]:
        """What is below, which may be called so only (without `known`: as it likes)."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.refuse(f"{self.name} needs keys and values, not {_kind(self.value)}")
        for key, part in self.parts.items():
            if known and key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                meant = f"did you mean {close[0]}? " if close else ""
                raise part.refuse(
                    f"{self.name} has no key {ascii(key)[:60]}",
                    hint=f"{meant}the keys are {', '.join(known)}.",
                )
        return self.parts

    def text(self) -> str:
        """A text that isn't empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.refuse(f"{self.name} needs a text, not {_kind(self.value)}", hint=_QUOTE)
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts."""
        if not isinstance(self.value, list):
            raise self.refuse(f"{self.name} needs a list, not {_kind(self.value)}", hint="write [a, b].")
        return tuple(part.text() for part in self.parts.values())

    def scalar(self) -> str | int | float | bool | None:
        """A single value."""
        if isinstance(self.value, dict | list):
            raise self.refuse(f"{self.name} needs a single value, not {_kind(self.value)}")
        return self.value

    @property
    def name(self) -> str:
        """What it is called in a message."""
        return ascii(self.path[-1])[1:-1][:60] if self.path else "the project file"


_QUOTE = 'put it into quotes: "…".'


def read_document(data: bytes, file: str) -> YamlValue:
    """The document in a file; anything doubtful is an `InvalidProjectFile` that says where."""
    if len(data) > MAX_BYTES:
        raise InvalidProjectFile(
            f"{file} is too large", detail=f"{len(data)} bytes; {MAX_BYTES} are allowed."
        )
    try:
        text = data.decode("utf-8")
        loader = _Loader(text)
    except (UnicodeDecodeError, yaml.reader.ReaderError) as error:
        raise InvalidProjectFile(f"{file} is not text in UTF-8") from error
    try:
        _check_yaml_events(text, file)
        node = loader.get_single_node()
        if node is None:
            raise InvalidProjectFile(f"{file} is empty")
        return _read_node(loader, node, (), file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{file}, line {mark.line + 1}, column {mark.column + 1}: " if mark else f"{file}: "
        problem = " ".join(str(error.problem or "it can't be read").split())[:200]
        raise InvalidProjectFile(f"{file} is no YAML", detail=f"{where}{problem}.") from error
    finally:
        loader.dispose()


def _check_yaml_events(text: str, file: str) -> None:
    """References and depth, before anything is built: a small text can stand for a huge one."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InvalidProjectFile(
                f"{file} uses an anchor or an alias", detail=f"{file}, line {line}.", hint="write it out."
            )
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None):
            raise InvalidProjectFile(
                f"{file} uses a tag", detail=f"{file}, line {line}.", hint="leave out what begins with !."
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InvalidProjectFile(f"{file} is nested too deeply", detail=f"{file}, line {line}.")


def _read_node(loader: _Loader, node: yaml.Node, path: tuple[str, ...], file: str) -> YamlValue:
    line = node.start_mark.line + 1
    parts: dict[str, YamlValue] = {}
    value: Value
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            key = _read_key(key_node, file)
            if key in parts:
                raise InvalidProjectFile(
                    f"the key {ascii(key)[:60]} stands twice",
                    detail=f"{file}, lines {parts[key].line} and {key_node.start_mark.line + 1}.",
                )
            parts[key] = _read_node(loader, value_node, (*path, key), file)
        value = {key: part.value for key, part in parts.items()}
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            parts[str(number)] = _read_node(loader, item, (*path, str(number)), file)
        value = [part.value for part in parts.values()]
    else:
        value = _SCALARS.get(node.tag.rpartition(":")[2], str)(node.value)
    return YamlValue(value, path, line, file, parts)


_SCALARS: Mapping[str, Callable[[str], Value]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
}


def _read_key(node: yaml.Node, file: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.tag.endswith(":str"):
        raise InvalidProjectFile(
            f"{file} has a key that is no text",
            detail=f"{file}, line {node.start_mark.line + 1}.",
            hint=_QUOTE,
        )
    return str(node.value)


def _kind(value: Value) -> str:
    if value is None or value == "":
        return "nothing"
    return {dict: "keys and values", list: "a list", str: "a text", bool: "true or false"}.get(
        type(value), "a number"
    )
