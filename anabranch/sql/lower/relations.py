"""What stands in FROM: tables, views, CTEs, subqueries, rows and functions."""

from __future__ import annotations

from anabranch.algebra.plan import Plan, Project, Scan
from anabranch.algebra.scalar import Ref
from anabranch.errors import UnknownTable
from anabranch.names import TableName
from anabranch.sql.cursor import table_name
from anabranch.sql.lower.context import Context
from anabranch.sql.lower.inline_tables import inline_table, table_function
from anabranch.sql.lower.joins import lower_join
from anabranch.sql.lower.outer_columns import environment_without_domain
from anabranch.sql.lower.scope import (
    CteDefinition,
    Environment,
    Field,
    NeedsDomain,
    RecursiveTable,
    Relation,
    check_arity,
    requalify,
)
from anabranch.sql.lower.syntax import tree
from anabranch.sql.lower.syntax.tree import (
    Alias,
    BracketedTable,
    DerivedTable,
    InlineTable,
    JoinedTable,
    Node,
    TableFunction,
    TableRef,
)


def lower_relation(context: Context, node: tree.Relation, environment: Environment) -> Relation:
    """The relation, with fresh names for its columns."""
    match node:
        case JoinedTable():
            return lower_join(context, node, environment, lower_relation)
        case TableRef():
            return _table(context, node, environment)
        case DerivedTable():
            return apply_alias(context, lower_derived(context, node, environment), node.alias)
        case InlineTable():
            return apply_alias(context, inline_table(context, node), node.alias)
        case TableFunction():
            return apply_alias(context, table_function(context, node), node.alias, node.name)
        case BracketedTable():
            return apply_alias(context, lower_relation(context, node.relation, environment), node.alias)


def lower_derived(context: Context, node: DerivedTable, environment: Environment) -> Relation:
    """A subquery in FROM. It doesn't see its neighbours, but it may see the block around it all."""
    domain = environment.domain
    try:
        return context.rules.query(context, node.query, environment_without_domain(environment))
    except NeedsDomain as need:
        if domain is None or need.token is not domain.token:
            raise
    return context.rules.query(context, node.query, environment)


def apply_alias(
    context: Context, relation: Relation, alias: Alias | None, default: str | None = None
) -> Relation:
    """The relation under its alias, its columns renamed if the alias says so."""
    if alias is None:
        fields = requalify(relation.fields, default) if default else relation.fields
        return Relation(relation.plan, fields, relation.carried)
    fields = requalify(relation.fields, alias.name)
    if alias.columns:
        check_arity(context, alias, len(alias.columns), len(fields))
        fields = tuple(
            Field(name, f.plan, f.qualifier) for name, f in zip(alias.columns, fields, strict=True)
        )
    return Relation(relation.plan, fields, relation.carried)


def _table(context: Context, node: TableRef, environment: Environment) -> Relation:
    definition = environment.ctes.get(node.parts[0].lower()) if len(node.parts) == 1 else None
    if definition is not None:
        return _cte(context, node, definition, environment)
    name = table_name(node.parts)
    if name in context.views:
        relation = copy_with_fresh_names(context, context.rules.view(context, name, node))
    else:
        relation = _scan(context, name, node)
    qualifier = (name.namespace, name.table)
    fields = tuple(Field(f.name, f.plan, qualifier) for f in relation.fields)
    return apply_alias(context, Relation(relation.plan, fields), node.alias)


def _scan(context: Context, name: TableName, node: Node) -> Relation:
    schema = context.schemas.get(name)
    if schema is None:
        raise UnknownTable(f'there is no table "{name}"', detail=f"{context.place(node)}.")
    context.tables.add(name)
    columns: list[tuple[str, str]] = []
    fields: list[Field] = []
    for column in schema:
        plan = context.fresh_column(column.name)
        context.types[plan] = column.type
        columns.append((plan, column.name))
        fields.append(Field(column.name, plan))
    return Relation(Scan(str(name), tuple(columns)), tuple(fields))


def _cte(context: Context, node: TableRef, definition: CteDefinition, environment: Environment) -> Relation:
    if definition.loop is not None:
        relation = _scan_recursive_table(context, definition.loop)
    elif definition.relation is not None:
        relation = copy_with_fresh_names(context, definition.relation)
    else:
        relation = _correlated_cte(context, node, definition, environment)
    if definition.cte.columns:
        names = definition.cte.columns
        check_arity(context, definition.cte, len(names), len(relation.fields))
        renamed = tuple(Field(name, f.plan) for name, f in zip(names, relation.fields, strict=True))
        relation = Relation(relation.plan, renamed, relation.carried)
    return apply_alias(context, relation, node.alias, definition.cte.name)


def _scan_recursive_table(context: Context, loop: RecursiveTable) -> Relation:
    """A recursive CTE, read from within or from outside: the table that stands for it."""
    columns: list[tuple[str, str]] = []
    fields: list[Field] = []
    for column, name, kind in zip(loop.columns, loop.names, loop.types, strict=True):
        plan = context.fresh_column(column)
        if kind is not None:
            context.types[plan] = kind
        columns.append((plan, column))
        fields.append(Field(name, plan))
    return Relation(Scan(loop.table, tuple(columns)), tuple(fields))


def _correlated_cte(
    context: Context, node: TableRef, definition: CteDefinition, environment: Environment
) -> Relation:
    """A CTE that reads the block around it: lowered again where it is used, as a subquery would be."""
    own = definition.environment.outer
    here = environment.outer
    if own is None or here is None or own.token is not here.token:
        raise context.not_incremental(
            node,
            f'the CTE "{definition.cte.name}" can\'t be maintained incrementally here',
            "it reads columns of an outer query, and is used further down",
            "write it as a subquery in FROM",
        )
    inner = Environment(definition.environment.ctes, here, environment.domain)
    if environment.domain is None:
        raise NeedsDomain(here.token)
    return context.rules.query(context, definition.cte.query, inner)


def copy_with_fresh_names(context: Context, relation: Relation) -> Relation:
    """A plan that others use too, under names of its own: the shared part stays one equal subplan."""
    fields: list[Field] = []
    items: list[tuple[str, Ref]] = []
    for field in relation.fields:
        name = context.fresh_column(field.plan, Ref(field.plan))
        items.append((name, Ref(field.plan)))
        fields.append(Field(field.name, name))
    plan: Plan = Project(relation.plan, tuple(items))
    return Relation(plan, tuple(fields))
