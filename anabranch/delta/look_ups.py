"""Look-ups: steps of a change plan that find rows of a large table by keys, and compute nothing.

    σ(T ⋉ D₁ ⋉ D₂ …),  where Dᵢ are values of one column of T

Whatever reads the rows judges the conditions σ again, so that they may be judged in part. A set of keys is
made of columns of changes or of some of their rows, of rows that were looked up before, and of steps whose
few rows an engine has computed. A superset of it does as well, if everything that reads the keys reads the
same ones. So neither needs an engine: keys are values of columns, rows are found by them in the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from anabranch.algebra.plan import (
    Delta,
    Distinct,
    Filter,
    Join,
    Materialised,
    Net,
    Plan,
    Project,
    Scan,
    Support,
    UnionAll,
    subplans,
)
from anabranch.algebra.scalar import Call, Ref, Scalar, conjuncts, rename_refs
from anabranch.delta.row_conditions import Conditions
from anabranch.delta.small_subplans import IsSmall, shared_small_subplans

KEY = "__d"
"""The column of keys that bounds ask for."""
FOUND_PREFIX = "__r_"
"""Columns of look-ups that bounds ask for have names that begin so, and no others have."""
CHOSEN_PREFIX = "__q_"
"""So do columns of rows that are chosen."""

KeySource = tuple[Plan, str]
"""A change, maybe filtered, or rows of an earlier step, and the column of it whose values are keys."""


@dataclass(frozen=True)
class KeyColumn:
    """A column that is looked up, the keys it must be among, and whether NULL is one like others."""

    name: str
    keys: Plan
    null_safe: bool


@dataclass(frozen=True)
class LookUp:
    """The rows of a table that have one of the keys in each of some columns, and meet some conditions."""

    scan: Scan
    keys: tuple[KeyColumn, ...]
    conditions: tuple[Scalar, ...] = ()


def _split_conditions(plan: Plan) -> tuple[list[Scalar], Plan]:
    """The conditions of a filter, and what it filters."""
    return (conjuncts(plan.condition), plan.input) if isinstance(plan, Filter) else ([], plan)


def _have_prefix(plan: Plan, prefix: str) -> bool:
    return all(name.startswith(prefix) for name in plan.names)


def is_bound(join: Join) -> bool:
    """Whether a semi join keeps the rows that have one of the keys that a bound asks for."""
    return join.kind == "semi" and join.right.names == (KEY,)


def _is_at_hand(source: Plan, steps: Collection[Plan] = ()) -> bool:
    """Whether rows are read without an engine: those of changes, and of steps that have run."""
    return isinstance(source, Materialised) or source in steps or as_changed_rows(source) is not None


@dataclass(frozen=True)
class ChangedRows:
    """Rows of a table's change that meet conditions."""

    table: str
    columns: Mapping[str, str]
    """Their names in the plan, and what they are called in the table."""
    conditions: Conditions
    """In the table's columns."""


def as_changed_rows(plan: Plan) -> ChangedRows | None:
    """The rows of a change that a plan is; None if it is something else."""
    conditions, plan = _split_conditions(plan)
    if not isinstance(plan, Delta):
        return None
    columns = dict(plan.columns)
    own = frozenset(rename_refs(condition, columns) for condition in conditions)
    return ChangedRows(plan.table, columns, own)


@dataclass(frozen=True)
class ChosenRows:
    """Rows of a change, or of an earlier step, that have one of the keys in each of some columns."""

    source: Plan
    columns: Mapping[str, str]
    """Their names in the plan, and what they are called in the source."""
    keys: tuple[KeyColumn, ...]
    conditions: tuple[Scalar, ...] = ()
    """In the names of the plan."""


def as_look_up(plan: Plan, steps: Collection[Plan] = ()) -> LookUp | None:
    """The look-up that a plan is, where some subplans are steps; None if it is none."""
    return _Recogniser(steps).look_up(plan)


def as_chosen_rows(plan: Plan, steps: Collection[Plan] = ()) -> ChosenRows | None:
    """The rows at hand that a plan chooses, where some subplans are steps; None if it is something else."""
    return _Recogniser(steps).chosen_rows(plan)


class _Recogniser:
    """Tells which plans are look-ups, choices and keys, where some subplans are steps.

    Keys come from look-ups that have keys of their own, and these are shared: each is judged once.
    """

    def __init__(self, steps: Collection[Plan]) -> None:
        self._steps = steps
        self._look_ups: dict[Plan, LookUp | None] = {}
        self._chosen: dict[Plan, ChosenRows | None] = {}
        self._key_sets: dict[Plan, bool] = {}

    def look_up(self, plan: Plan) -> LookUp | None:
        """The look-up that a plan is; None if it is none."""
        if plan not in self._look_ups:
            self._look_ups[plan] = self._judge_look_up(plan)
        return self._look_ups[plan]

    def chosen_rows(self, plan: Plan) -> ChosenRows | None:
        """The rows at hand that a plan chooses; None if it is something else."""
        if plan not in self._chosen:
            self._chosen[plan] = self._judge_chosen_rows(plan)
        return self._chosen[plan]

    def is_key_set(self, keys: Plan) -> bool:
        """Whether keys are columns of changes, steps or other look-ups, or computed from these already."""
        if keys not in self._key_sets:
            self._key_sets[keys] = self._judge_key_set(keys)
        return self._key_sets[keys]

    def _judge_look_up(self, plan: Plan) -> LookUp | None:
        conditions, plan = _split_conditions(plan)
        keys, plan = self._split_key_columns(plan)
        if not isinstance(plan, Scan) or not (keys or (conditions and _have_prefix(plan, FOUND_PREFIX))):
            return None
        return LookUp(plan, keys, tuple(conditions))

    def _judge_chosen_rows(self, plan: Plan) -> ChosenRows | None:
        if _have_prefix(plan, FOUND_PREFIX):
            return self._as_narrowed_step(plan)
        if not _have_prefix(plan, CHOSEN_PREFIX):
            return None
        keys, source = self._split_key_columns(plan)
        if not keys:
            return None
        if as_changed_rows(source) is not None:
            return ChosenRows(source, {name: name for name in plan.names}, keys)
        if isinstance(source, Materialised):
            return ChosenRows(source, dict(source.columns), keys)
        if isinstance(source, Project):
            names = {name: scalar.name for name, scalar in source.items if isinstance(scalar, Ref)}
            inner = source.input
            if len(names) == len(source.items) and (_is_at_hand(inner, self._steps) or self.look_up(inner)):
                if isinstance(inner, Materialised):
                    names = {name: dict(inner.columns)[own] for name, own in names.items()}
                return ChosenRows(inner, names, keys)
        return None

    def _as_narrowed_step(self, plan: Plan) -> ChosenRows | None:
        """A look-up by more keys than another one, which has run as a step of its own."""
        conditions, plan = _split_conditions(plan)
        keys, source = self._split_key_columns(plan)
        if not isinstance(source, Materialised) or not (keys or conditions):
            return None
        return ChosenRows(source, dict(source.columns), keys, tuple(conditions))

    def _split_key_columns(self, plan: Plan) -> tuple[tuple[KeyColumn, ...], Plan]:
        """The columns by which semi joins choose rows, and what they choose from."""
        columns: list[KeyColumn] = []
        while isinstance(plan, Join) and plan.kind == "semi":
            column = self._key_column(plan.on, plan.right)
            if column is None:
                break
            columns.append(column)
            plan = plan.left
        return tuple(columns), plan

    def _key_column(self, on: Scalar, keys: Plan) -> KeyColumn | None:
        match on:
            case Call("=" | "<=>" as op, (Ref(name), Ref(key))):
                if keys.names == (key,) and self.is_key_set(keys):
                    return KeyColumn(name, keys, op == "<=>")
        return None

    def _judge_key_set(self, keys: Plan) -> bool:
        if isinstance(keys, Materialised):
            return True
        found = _key_parts(keys)
        return found is not None and all(
            _is_at_hand(source, self._steps)
            or self.look_up(source) is not None
            or self.chosen_rows(source) is not None
            for source, _ in found
        )


def key_sources(keys: Plan) -> tuple[KeySource, ...] | None:
    """What a set of keys is made of, once the steps before it have run; None if it is no such set."""
    found = _key_parts(keys)
    if found is None:
        return None
    sources = [(source, name) for source, name in found if _is_at_hand(source)]
    return tuple(sources) if len(sources) == len(found) else None


def _key_parts(keys: Plan) -> list[tuple[Plan, str]] | None:
    return key_column_parts(keys, keys.names[0]) if len(keys.names) == 1 else None


def key_column_parts(keys: Plan, name: str) -> list[tuple[Plan, str]] | None:
    """What a column of a set of keys is made of: plans, and the column of each; None if it is no such set."""
    if isinstance(keys, Support):
        return [(keys.input.input if isinstance(keys.input, Net) else keys.input, name)]
    if not isinstance(keys, Distinct):
        return None
    parts = keys.input.parts if isinstance(keys.input, UnionAll) else (keys.input,)
    place = keys.names.index(name)
    found: list[tuple[Plan, str]] = []
    for part in parts:
        match part:
            case Project(Support(Net(source)) | Support(source) | (Materialised() as source), items):
                scalar = items[place][1]
                if not isinstance(scalar, Ref):
                    return None
                found.append((source, scalar.name))
            case _:
                return None
    return found


def choose_look_ups(plan: Plan, tables: Collection[str]) -> tuple[set[Plan], set[Plan]]:
    """The subplans that need no engine: look-ups of some tables, choices among rows at hand, and the keys of
    both. And what has these keys.
    """
    if not tables:
        return set(), set()
    upwards = subplans(plan)
    steps: set[Plan] = set()
    while True:
        recogniser = _Recogniser(steps)
        found = _local_steps_in(upwards, tables, recogniser)
        keyed = _with_keys(found)
        shared, _ = shared_small_subplans(upwards, IsSmall(), keyed, keyed - set(found))
        if shared <= steps:
            break
        steps |= shared
    # By several columns and conditions, only all of them together are one look-up, unless something else
    # reads what some of them leave.
    inner = {part.inputs[0] for part, one in found.items() if isinstance(one, LookUp)}
    inner -= {below for part in upwards if part not in found for below in part.inputs}
    chosen = _with_keys({part: one for part, one in found.items() if part not in inner})
    chosen |= {
        part.right
        for part in upwards
        if isinstance(part, Join) and is_bound(part) and recogniser.is_key_set(part.right)
    }
    sources = {source for keys in chosen for source, _ in _key_parts(keys) or ()}
    return chosen, {source for source in sources - chosen if not _is_at_hand(source, chosen)}


def keys_of(plans: Iterable[Plan]) -> set[Plan]:
    """The sets of keys that the look-ups and choices among some plans ask for."""
    known = _Recogniser(())
    found = {
        part: one for part in plans if (one := known.look_up(part) or known.chosen_rows(part)) is not None
    }
    return _with_keys(found) - set(found)


def _local_steps_in(
    upwards: Iterable[Plan], tables: Collection[str], recogniser: _Recogniser
) -> dict[Plan, LookUp | ChosenRows]:
    found: dict[Plan, LookUp | ChosenRows] = {}
    for part in upwards:
        if (chosen := recogniser.chosen_rows(part)) is not None:
            found[part] = chosen
        elif (look_up := recogniser.look_up(part)) is not None and (
            look_up.scan.table in tables or _have_prefix(look_up.scan, FOUND_PREFIX)
        ):
            found[part] = look_up
    return found


def _with_keys(found: Mapping[Plan, LookUp | ChosenRows]) -> set[Plan]:
    """Look-ups and choices, and their keys."""
    return {*found, *(column.keys for one in found.values() for column in one.keys)}
