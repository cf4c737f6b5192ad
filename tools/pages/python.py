"""The reference of the Python interface, made from signatures and docstrings as they stand in the source."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.pages.markdown_table import head, row

PACKAGE = Path(__file__).parents[2] / "anabranch"
SECTION = re.compile(r"^    # -- (.*?) -+$")
WIDTH = 96

_INTRODUCTION = """\
# Python interface

Made from the docstrings and signatures of the package by `make docs`.

```python
import anabranch as ab
```

Names are `table` or `namespace.table`; the namespace `main` is not shown. What lists returns a list of frozen
records; in a terminal and in a notebook it shows itself as a table. A DataFrame is Spark's.
"""

RECORDS = (
    ("read/table_info.py", "TableInfo"),
    ("read/table_info.py", "ColumnInfo"),
    ("inspect/sources.py", "SourceInfo"),
    ("read/preview.py", "Preview"),
    ("read/iceberg_table.py", "IcebergTable"),
    ("write/autocommit.py", "Written"),
    ("ledger/records.py", "Commit"),
    ("inspect/status.py", "StreamTableStatus"),
    ("inspect/definition.py", "StreamTableInfo"),
    ("inspect/history.py", "RefreshRecord"),
    ("schedule/tick.py", "TickReport"),
    ("refresh/verify.py", "Verified"),
    ("inspect/graph_data.py", "LakeGraph"),
    ("inspect/graph_data.py", "GraphNode"),
    ("inspect/graph_data.py", "GraphEdge"),
    ("inspect/dependency_tree.py", "DependencyTree"),
    ("inspect/groups.py", "DiamondGroupMember"),
    ("inspect/groups.py", "RefreshGroupInfo"),
    ("inspect/cycles.py", "CycleStatus"),
    ("inspect/gates.py", "SourceGate"),
    ("inspect/gates.py", "SourceWatermark"),
    ("inspect/gates.py", "WatermarkGroupInfo"),
    ("inspect/fuses.py", "FuseStatus"),
    ("inspect/explain.py", "StreamTableExplanation"),
    ("inspect/explain_query.py", "Explanation"),
    ("inspect/health.py", "Check"),
    ("inspect/leading_scheduler.py", "SchedulerInfo"),
    ("ledger/pulse.py", "Pulse"),
    ("inspect/settings.py", "SettingInfo"),
    ("maintain/maintenance.py", "Upkeep"),
    ("events.py", "Event"),
)
"""What the calls return, where it is more than a value."""

_ABOUT = {
    "writing": (
        "Each call is a transaction of its own. `attempt` is a name that you give to one try: a write whose\n"
        "attempt was already committed, though its answer was lost, is found and not done twice."
    ),
    "whether sources are ready": "More in [Gates and watermarks](gates.md).",
    "stream tables": (
        "What the options mean, and how groups, failures and schedules work:\n"
        "[Stream tables](stream-tables.md); fuses: [The fuse](fuse.md)."
    ),
    "inspecting": "How it looks in a notebook: [Notebooks and terminals](notebooks.md).",
    "maintenance": "What to run when: [Operations](operations.md#maintenance).",
}
"""What is to be said before the methods of a section."""

_OF_A_TRANSACTION = (("write/transaction.py", "Transaction"), ("write/source_verbs.py", "SourceVerbs"))


def python_page() -> str:
    """`connect`, the lake by section, its transactions and snapshots, and what they return."""
    lake = _Source("lake.py")
    lines = [_INTRODUCTION, "## Open a lake", "", *_call_section(lake.function("connect"), "ab.")]
    verbs = []
    for title, methods in lake.sections("Lake"):
        lines += [f"## {title[0].upper()}{title[1:]}", ""]
        if title in _ABOUT:
            lines += [_ABOUT[title], ""]
        for method in methods:
            lines += _call_section(method, "lake.")
            verbs.append(method.name)
    lines += ["## In a transaction", "", "The same verbs, seen by others when all of it is committed.", ""]
    for path, name in _OF_A_TRANSACTION:
        for method in _Source(path).methods(name):
            if method.name in (*verbs, "commit", "rollback"):
                lines += _call_section(method, "tx.")
    lines += ["## In a snapshot", ""]
    for method in _Source("read/snapshot.py").methods("Snapshot"):
        lines += _call_section(method, "snap.")
    lines += ["## Time, for tests", "", *_clock_section()]
    lines += ["## What is returned", ""]
    for path, name in RECORDS:
        lines += _record_section(_Source(path).class_(name))
    return "\n".join(lines).rstrip() + "\n"


class _Source:
    """A file of the package, as its author wrote it."""

    def __init__(self, path: str) -> None:
        text = (PACKAGE / path).read_text("utf-8")
        self._lines = text.splitlines()
        self._tree = ast.parse(text)

    def class_(self, name: str) -> ast.ClassDef:
        return next(node for node in self._tree.body if isinstance(node, ast.ClassDef) and node.name == name)

    def function(self, name: str) -> ast.FunctionDef:
        return next(
            node for node in self._tree.body if isinstance(node, ast.FunctionDef) and node.name == name
        )

    def methods(self, name: str) -> list[ast.FunctionDef]:
        """The public ones."""
        found = [node for node in self.class_(name).body if isinstance(node, ast.FunctionDef)]
        return [method for method in found if not method.name.startswith("_")]

    def sections(self, name: str) -> Iterator[tuple[str, list[ast.FunctionDef]]]:
        """The public methods of a class under the comments that part them."""
        titles = [
            (number, found[1]) for number, line in enumerate(self._lines) if (found := SECTION.match(line))
        ]
        ends = [*(number for number, _ in titles[1:]), len(self._lines)]
        for (start, title), end in zip(titles, ends, strict=True):
            yield title, [method for method in self.methods(name) if start < method.lineno <= end]


def _call_section(function: ast.FunctionDef, before: str) -> list[str]:
    """A signature as a call, and its docstring."""
    returns = ast.unparse(function.returns) if function.returns is not None else "None"
    name = f"{before}{function.name}"
    if _is_property(function):
        call = f"{name}: {returns}"
    else:
        after = "" if returns == "None" else f" -> {returns}"
        arguments = list(_arguments(function.args))
        call = f"{name}({', '.join(arguments)}){after}"
        if len(call) > WIDTH:
            call = "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){after}"])
    return [f"### {name}", "", "```python", call, "```", "", _prose(function), ""]


def _arguments(found: ast.arguments) -> Iterator[str]:
    placed = [argument for argument in found.args if argument.arg != "self"]
    defaults = [None] * (len(placed) - len(found.defaults)) + list(found.defaults)
    for argument, default in zip(placed, defaults, strict=True):
        yield _argument(argument, default)
    if found.kwonlyargs:
        yield "*"
    for argument, default in zip(found.kwonlyargs, found.kw_defaults, strict=True):
        yield _argument(argument, default)
    if found.kwarg is not None:
        yield f"**{_argument(found.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
    return f"{argument.arg}{kind}" + ("" if default is None else f" = {ast.unparse(default)}")


def _prose(node: ast.FunctionDef | ast.ClassDef) -> str:
    """A docstring without its doctests."""
    text = textwrap.dedent(ast.get_docstring(node) or "")
    return text.partition("\n\n>>>")[0].strip()


def _record_section(node: ast.ClassDef) -> list[str]:
    lines = [f"### {node.name}", "", _prose(node), "", *head("field", "type", "meaning")]
    for name, kind, meaning in _fields(node.body):
        # A bar would have to be escaped in a table, and not every reader takes that back inside of code.
        lines.append(row(f"`{name}`", f"`{kind.replace(' | ', ' or ')}`", meaning))
    return [*lines, ""]


def _fields(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str, str]]:
    """The fields with the text that stands below them, and the properties."""
    statements = list(body)
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            kind = ast.unparse(statement.annotation)
            if not kind.startswith("ClassVar"):
                yield statement.target.id, kind, _text_below(statements[place + 1 : place + 2])
        elif isinstance(statement, ast.FunctionDef) and _is_property(statement):
            returns = ast.unparse(statement.returns) if statement.returns is not None else ""
            yield statement.name, returns, _prose(statement)


def _is_property(function: ast.FunctionDef) -> bool:
    marks = {ast.unparse(mark) for mark in function.decorator_list}
    return "property" in marks and not function.name.startswith("_")


def _text_below(following: list[ast.stmt]) -> str:
    match following:
        case [ast.Expr(ast.Constant(str(text)))]:
            return text
    return ""


def _clock_section() -> list[str]:
    source = _Source("clock.py")
    lines = ["### ManualClock", "", _prose(source.class_("ManualClock")), ""]
    lines += ["```python", 'ab.connect("./lake", clock=ab.ManualClock())', "```", ""]
    for method in source.methods("ManualClock"):
        if method.name == "advance":
            lines += _call_section(method, "clock.")
    return lines
