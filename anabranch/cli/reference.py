"""Every command with its arguments, as a page of Markdown, made from the application itself.

`python -m anabranch.cli.reference` prints it; docs/cli-reference.md is its output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from anabranch.cli import main
from anabranch.cli.exit_codes import MEANINGS

HEAD = """# The commands

Made from the command line itself, by `python -m anabranch.cli.reference > docs/cli-reference.md`.
How to use it is told in [the command line](cli.md).

## Options for every command

They stand before the command or after it.
"""


def markdown() -> str:
    """The whole reference; the same for the same commands, whatever the environment is."""
    root: Any = typer.main.get_command(main.app)
    parts = [
        HEAD,
        _parameter_table([each for each in root.params if each.name not in _TYPERS]),
        _exit_codes(),
    ]
    for name in root.list_commands(None):
        parts += _command_section(f"anabranch {name}", root.commands[name])
    return "\n".join(part.rstrip() + "\n" for part in parts)


_TYPERS = frozenset({"install_completion", "show_completion"})
"""Options of every application that Typer makes."""


def _exit_codes() -> str:
    rows = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items())
    return f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}"


def _command_section(name: str, command: Any) -> Iterator[str]:
    inner = getattr(command, "commands", {})
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in shown if each.param_type_name == "argument"]
    usage = " ".join([name, *(_metavar(each) for each in arguments)])
    yield f"## `{name}`"
    if not inner or command.invoke_without_command:
        yield f"    {usage}" + (" [OPTIONS]" if len(shown) > len(arguments) else "")
    yield _unwrap_paragraphs(command.help or "")
    if shown:
        yield _parameter_table(shown)
    for word in inner:
        yield from (
            part.replace("## `", "### `", 1) for part in _command_section(f"{name} {word}", inner[word])
        )


def _unwrap_paragraphs(text: str) -> str:
    """Paragraphs, each on one line."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _parameter_table(parameters: list[Any]) -> str:
    rows = "".join(f"| {_parameter_names(each)} | {_parameter_help(each)} |\n" for each in parameters)
    return f"| | |\n|---|---|\n{rows}"


def _parameter_names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    value = "" if parameter.is_flag else f" {_value_placeholder(parameter)}"
    return ", ".join(f"`{option}{value}`" for option in sorted(parameter.opts, key=len, reverse=True))


def _parameter_help(parameter: Any) -> str:
    said = " ".join((parameter.help or "").split()).replace("|", "\\|")
    default = parameter.default
    if parameter.param_type_name == "argument" or parameter.is_flag or default in (None, "", ()):
        return said
    return f"{said} Default: `{getattr(default, 'value', default)}`."


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _value_placeholder(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    described = getattr(parameter, "type_descriptor", None) or getattr(parameter, "type", None)
    choices = getattr(described, "choices", None)
    if choices:
        return "\\|".join(str(getattr(choice, "value", choice)) for choice in choices)
    return str(parameter.name).upper()


if __name__ == "__main__":
    sys.stdout.write(markdown())
