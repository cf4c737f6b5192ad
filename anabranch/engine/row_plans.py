"""What the lake asks about rows besides queries, as plans: every engine that runs plans answers it.

Frames of changes have a column of weights. Here it is read as data: `COUNT` is its name in these plans.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.algebra.plan import (
    Aggregate,
    AggregateCall,
    Delta,
    Filter,
    Generate,
    Join,
    Materialised,
    Plan,
    Project,
    Rows,
    Scan,
    SortKey,
    UnionAll,
    Window,
    WindowCall,
)
from anabranch.algebra.scalar import Call, Function, Literal, Ref, all_of
from anabranch.delta.single_partition import RelationFacts
from anabranch.engine.base import Engine, FileWithDeletes, Frame, ReadPositions
from anabranch.engine.render.comparable import comparable
from anabranch.engine.run_plan import run_plan
from anabranch.names import FILE, POSITION, WEIGHT
from anabranch.schema import Column, Schema, has_floats, has_map

COUNT = "__count"
_CHANGES, _STORED, _INCOMING = "changes", "stored", "incoming"
_FEW = RelationFacts(few=True, changes=False)
"""Sends the smaller side of a join to all tasks."""


def net_changes(engine: Engine, changes: Frame, schema: Schema, weight: str = WEIGHT) -> Frame:
    """The rows of a change with their weights added up, in a column of that name; none of them is zero."""
    rows = Scan(_CHANGES, (*_same_names(schema.names), (COUNT, WEIGHT)))
    return run_plan(engine, _net(engine, rows, schema.columns, weight), {_CHANGES: changes})


def _net(engine: Engine, rows: Plan, columns: Sequence[Column], weight: str) -> Plan:
    """Equal rows once, with the sum of their counts under another name, where that isn't zero.

    Rows with maps are grouped by what their maps hold, and one map of each group is kept.
    """
    maps = {column.name: f"__key_{i}" for i, column in enumerate(columns) if has_map(column.type)}
    keys = tuple(
        (maps.get(column.name, column.name), comparable(column.name, column.type, engine.dialect))
        for column in columns
    )
    firsts = tuple((name, AggregateCall("first", (Ref(name),))) for name in maps)
    added = Aggregate(rows, keys, (*firsts, (COUNT, AggregateCall("sum", (Ref(COUNT),)))))
    left = Filter(added, Call("<>", (Ref(COUNT), Literal(0))))
    return Project(left, (*((column.name, Ref(column.name)) for column in columns), (weight, Ref(COUNT))))


def count_differences(
    engine: Engine, left: Frame, right: Frame, columns: Sequence[Column]
) -> tuple[int, int]:
    """How many rows, as bags of these columns, are only in the left frame, and how many only in the right."""
    names = [column.name for column in columns]
    sides = tuple(
        Project(
            Scan(table, _same_names(names)), (*((name, Ref(name)) for name in names), (COUNT, Literal(sign)))
        )
        for table, sign in (("left", 1), ("right", -1))
    )
    net = _net(engine, UnionAll(sides), columns, COUNT)
    only_left, only_right = (
        AggregateCall("sum", (Ref(COUNT),), where=Call(sign, (Ref(COUNT), Literal(0)))) for sign in "><"
    )
    totals = Aggregate(net, (), (("surplus", only_left), ("lack", only_right)))
    row = engine.collect(run_plan(engine, totals, {"left": left, "right": right}))
    assert row is not None, "one row is never too much"
    surplus, lack = (row.column(name)[0].as_py() or 0 for name in totals.names)
    return surplus, -lack


def exact_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns that hold no floating point: sums in another order differ in the last digits."""
    return tuple(column for column in schema if not has_floats(column.type))


def locate_rows(
    engine: Engine, changes: Sequence[str], live: Sequence[FileWithDeletes], schema: Schema
) -> Frame:
    """File and position of the stored rows that change files delete.

    Of equal rows as many as the weight says. The change is small beside what is stored, and is sent to where
    that is read.
    """
    keys = [f"__key_{i}" for i in range(len(schema))]
    wanted = [f"__wanted_{i}" for i in range(len(schema))]
    values = [comparable(column.name, column.type, engine.dialect) for column in schema]
    change = Materialised(_CHANGES, (*_same_names(schema.names), (COUNT, WEIGHT)), weighted=False)
    gone = Project(
        Filter(change, Call("<", (Ref(COUNT), Literal(0)))),
        (*zip(wanted, values, strict=True), (COUNT, Ref(COUNT))),
    )
    stored = Project(
        Scan(_STORED, _same_names((*schema.names, FILE, POSITION))),
        (*zip(keys, values, strict=True), (FILE, Ref(FILE)), (POSITION, Ref(POSITION))),
    )
    same = all_of([Call("<=>", (Ref(key), Ref(value))) for key, value in zip(keys, wanted, strict=True)])
    order = (SortKey(Ref(FILE)), SortKey(Ref(POSITION)))
    number = WindowCall("row_number", (), tuple(map(Ref, keys)), order)
    numbered = Window(Join(stored, gone, "inner", same), (("__number", number),))
    taken = Filter(numbered, Call("<=", (Ref("__number"), Call("negate", (Ref(COUNT),)))))
    return run_plan(
        engine,
        Project(taken, ((FILE, Ref(FILE)), (POSITION, Ref(POSITION)))),
        {
            _CHANGES: engine.scan_changes((), (), changes, schema),
            _STORED: engine.scan(live, schema, positions=True),
        },
        known=_FEW,
    )


def rows_with_keys(
    engine: Engine, stored: Frame, incoming: Frame, columns: Sequence[str], keys: Sequence[str]
) -> Frame:
    """The stored rows that agree in all keys with a row of a small frame, which is sent to where they are.

    An upsert keeps its incoming rows whether or not they match. An engine can't send the kept side of such an
    outer join everywhere, and would move all stored rows instead.
    """
    wanted = Materialised(
        _INCOMING, tuple((f"__wanted_{i}", key) for i, key in enumerate(keys)), weighted=False
    )
    same = all_of([Call("=", (Ref(key), Ref(name))) for key, name in zip(keys, wanted.names, strict=True)])
    matching = Join(Scan(_STORED, _same_names(columns)), wanted, "semi", same)
    return run_plan(engine, matching, {_STORED: stored, _INCOMING: incoming}, known=_FEW)


def repeat_with_change_type(engine: Engine, weighted: Frame, columns: Sequence[str], weight: str) -> Frame:
    """Weighted rows for people: `_change_type` says insert or delete, a row per occurrence."""
    rows = Scan(_CHANGES, (*_same_names(columns), (COUNT, weight)))
    times = Call("abs", (Ref(COUNT),))
    numbers = Function("sequence", (Literal(1), times))
    if not engine.dialect.has_lateral_view:
        numbers = Function("range", (times,))
    inserted = Call(">", (Ref(COUNT), Literal(0)))
    kind = Call("case", (inserted, Literal("insert"), Literal("delete")))
    repeated = Generate(rows, "explode", numbers, ("__time",))
    return run_plan(
        engine,
        Project(repeated, (*((name, Ref(name)) for name in columns), ("_change_type", kind))),
        {_CHANGES: weighted},
    )


def rows_after_rewrite(
    engine: Engine,
    touched: Sequence[FileWithDeletes],
    changes: Sequence[str],
    schema: Schema,
    deleted: ReadPositions,
) -> Frame:
    """The rows of touched files but those at deleted positions, and those that change files add."""
    if not changes:
        return engine.scan(touched, schema, all_deleted=deleted)
    names = schema.names
    change = Delta(_CHANGES, (*_same_names(names), (COUNT, WEIGHT)))
    come = Rows(Filter(change, Call(">", (Ref(COUNT), Literal(0)))))
    plan: Plan = Project(come, tuple((name, Ref(name)) for name in names))
    frames = {_CHANGES: engine.scan_changes((), (), changes, schema)}
    if touched:
        plan = UnionAll((plan, Scan(_STORED, _same_names(names))))
        frames[_STORED] = engine.scan(touched, schema, all_deleted=deleted)
    return run_plan(engine, plan, frames)


def _same_names(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)
