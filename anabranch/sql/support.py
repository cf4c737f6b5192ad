"""Which SQL is maintained incrementally: yes, not yet, never, as data.

Every entry has an example that a test lowers; the page in the docs is printed from here:
`python -m anabranch.sql.support > docs/sql-support.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from anabranch.names import TableName
from anabranch.schema import Schema
from anabranch.sql.ddl import parse_schema

EXAMPLE_TABLES: Mapping[str, str] = {
    "orders": """id BIGINT, customer BIGINT, region STRING, amount DECIMAL(12,2), day DATE,
        tags ARRAY<STRING>, info STRUCT<source: STRING>, counts MAP<STRING, INT>""",
    "customers": "id BIGINT, name STRING, region STRING",
    "returns": "id BIGINT, customer BIGINT, amount DECIMAL(12,2), day DATE",
}
"""The tables that the examples read."""

# `# area`, then for each entry `name :: status [code] [:: note]` and, indented, its example.
_ENTRIES = """
# Columns and rows
projection and filter :: yes
    SELECT id, amount * 2 AS twice FROM orders WHERE amount > 10
stars :: yes
    SELECT * EXCEPT (tags), 1 AS one FROM orders
DISTINCT :: yes
    SELECT DISTINCT region FROM orders
CASE, IN, BETWEEN, LIKE, IS DISTINCT FROM :: yes
    SELECT CASE WHEN amount BETWEEN 1 AND 5 THEN 'low' END AS x FROM orders WHERE region IN ('EU',
    'US') AND region LIKE 'E%'
casts :: yes
    SELECT CAST(amount AS INT) AS a, id::STRING AS b, TRY_CAST(region AS DATE) AS c FROM orders
Spark's deterministic functions :: yes
    SELECT date_trunc('MONTH', day) AS month, concat_ws('-', tags) AS tags FROM orders
lambdas, subscripts, struct fields :: yes
    SELECT transform(tags, x -> upper(x)) AS t, tags[0] AS u, info.source AS s FROM orders
dates and intervals :: yes
    SELECT day + INTERVAL 1 DAY AS next, EXTRACT(YEAR FROM day) AS year FROM orders
names of earlier items :: yes
    SELECT amount * 2 AS twice, twice + 1 AS more FROM orders
# Joins
INNER, CROSS, comma :: yes
    SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id
LEFT, RIGHT, FULL :: yes
    SELECT o.id, c.name FROM orders o FULL JOIN customers c ON o.customer = c.id
SEMI, ANTI :: yes
    SELECT o.id FROM orders o LEFT ANTI JOIN customers c ON o.customer = c.id
without equality :: yes
    SELECT o.id, r.id AS r FROM orders o LEFT JOIN returns r ON r.day > o.day
USING, NATURAL :: yes
    SELECT id, region, name FROM orders JOIN customers USING (id, region)
a table with itself :: yes
    SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.customer = b.customer
LATERAL subqueries :: yes
    SELECT c.id, l.latest FROM customers c, LATERAL (SELECT max(day) AS latest FROM orders o WHERE
    o.customer = c.id) l
LATERAL VIEW, explode :: yes
    SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag
explode in the SELECT list :: yes
    SELECT id, posexplode(tags) AS (place, tag) FROM orders
inline, stack :: yes
    SELECT id, s.k FROM orders LATERAL VIEW stack(2, 'a', 'b') s AS k
subqueries in ON :: yes
    SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.id AND o.id IN (SELECT
    id FROM returns)
# Groups
GROUP BY, HAVING, by name, place or ALL :: yes
    SELECT region, sum(amount) AS total FROM orders GROUP BY ALL HAVING total > 0
every aggregate of Spark :: yes ::
  those that depend on an order of rows (`first`, `collect_list`, …) with a notice
    SELECT region, avg(amount) AS a, stddev(amount) AS s, percentile(amount, 0.5) AS p FROM orders
    GROUP BY region
DISTINCT and FILTER :: yes
    SELECT count(DISTINCT customer) AS n, sum(amount) FILTER (WHERE region = 'EU') AS eu FROM orders
GROUPING SETS, ROLLUP, CUBE :: yes
    SELECT region, customer, grouping(region) AS g, sum(amount) AS total FROM orders GROUP BY ROLLUP
    (region, customer)
percentile_cont :: yes
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS p FROM orders
# Set operations
UNION [ALL] :: yes
    SELECT id FROM orders UNION SELECT id FROM returns
INTERSECT [ALL], EXCEPT [ALL] :: yes
    SELECT id FROM orders EXCEPT ALL SELECT id FROM returns
# Subqueries
EXISTS, NOT EXISTS :: yes
    SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id)
IN, NOT IN :: yes
    SELECT name FROM customers WHERE id NOT IN (SELECT customer FROM orders)
under OR, in CASE, in the SELECT list :: yes :: `IN` as a value is never NULL there: so does Spark
    SELECT name, id IN (SELECT customer FROM orders) AS buys FROM customers
scalar :: yes
    SELECT id FROM orders WHERE amount > (SELECT avg(amount) FROM orders)
correlated, by any condition :: yes
    SELECT c.id, (SELECT count(*) FROM orders o WHERE o.customer = c.id AND o.day < DATE
    '2024-01-01') AS n FROM customers c
correlated and nested :: yes :: Spark itself refuses to run those that reach past the next query
    SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND
    NOT EXISTS (SELECT 1 FROM returns r WHERE r.customer = c.id AND r.id = o.id))
in FROM :: yes
    SELECT q.region FROM (SELECT region, count(*) AS n FROM orders GROUP BY region) AS q WHERE q.n >
    1
CTEs :: yes
    WITH big AS (SELECT * FROM orders WHERE amount > 100) SELECT a.id FROM big a JOIN big b ON a.id
    = b.id
WITH RECURSIVE :: yes :: Spark itself refuses UNION, and loses rows where a step reads the CTE twice
    WITH RECURSIVE q AS (SELECT id, customer FROM orders UNION SELECT q.id, r.customer FROM q JOIN
    returns r ON q.customer = r.id) SELECT id, count(*) AS n FROM q GROUP BY id
# Windows
rank, row_number, lag, … :: yes :: rows that tie are ordered by all their columns, with a notice
    SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount DESC) AS place FROM orders
aggregates over windows and frames :: yes
    SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY day ROWS BETWEEN 6 PRECEDING AND
    CURRENT ROW) AS week FROM orders
named windows, QUALIFY :: yes
    SELECT id FROM orders QUALIFY rank() OVER w = 1 WINDOW w AS (PARTITION BY region ORDER BY amount
    DESC)
# Order
ORDER BY … LIMIT [OFFSET] :: yes :: rows that tie are ordered by all their columns, with a notice
    SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 10 OFFSET 5
ORDER BY alone :: yes :: dropped, with a notice: a table has no order
    SELECT id FROM orders ORDER BY id
# Rows
VALUES :: yes
    SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, name)
range(…) of at most 1,000 rows :: yes
    SELECT id FROM range(10)
# Refused
WITH RECURSIVE that reads columns of an outer query :: not yet AB203
    SELECT id, (WITH RECURSIVE q AS (SELECT orders.id AS x UNION SELECT x - 1 FROM q WHERE x > 0)
    SELECT count(*) FROM q) AS n FROM orders
PIVOT, UNPIVOT :: not yet AB203
    SELECT * FROM returns PIVOT (sum(amount) FOR customer IN (1, 2))
windows of time :: not yet AB203
    SELECT window(day, '1 day') AS w FROM orders
listagg(…) WITHIN GROUP :: not yet AB203
    SELECT listagg(region, ',') WITHIN GROUP (ORDER BY id) AS r FROM orders
lag(…) IGNORE NULLS :: not yet AB203
    SELECT lag(amount) IGNORE NULLS OVER (ORDER BY day) AS x FROM orders
FILTER with OVER, beyond the simple aggregates :: not yet AB203
    SELECT stddev(amount) FILTER (WHERE id > 1) OVER (PARTITION BY region) AS x FROM orders
json_tuple, variant_explode :: not yet AB203
    SELECT json_tuple(region, 'a') AS a FROM orders
a subquery in ON of an outer join that reads both sides :: not yet AB203
    SELECT o.id FROM orders o LEFT JOIN returns r ON EXISTS (SELECT 1 FROM customers c WHERE c.id =
    o.id AND c.id = r.id)
LEFT JOIN LATERAL with a function :: not yet AB203 :: Spark loses rows there; LATERAL VIEW OUTER is right
    SELECT o.id, t.tag FROM orders o LEFT JOIN LATERAL explode(o.tags) AS t(tag)
functions that aren't Spark's own :: not yet AB203 :: nobody knows whether they give the same value twice
    SELECT my_function(id) AS x FROM orders
chance: rand, uuid, shuffle, … :: never AB203
    SELECT rand() AS r FROM orders
the clock: current_date, now, 'today', … :: never AB203
    SELECT id FROM orders WHERE day = current_date
the session: current_user, input_file_name, … :: never AB203
    SELECT current_user() AS me FROM orders
LIMIT without ORDER BY :: never AB203 ::
  except inside EXISTS and of a single row, where it changes nothing
    SELECT id FROM orders LIMIT 10
TABLESAMPLE :: never AB203
    SELECT id FROM orders TABLESAMPLE (10 PERCENT)
Java, files, other catalogs :: never AB204
    SELECT java_method('java.lang.System', 'exit', id) AS x FROM orders
unknown columns :: never AB207
    SELECT nothing FROM orders
ambiguous columns :: never AB208
    SELECT id FROM orders JOIN returns ON orders.id = returns.id
columns without a name, a name twice :: never AB209
    SELECT count(*) FROM orders
more than one statement :: never AB202
    SELECT id FROM orders; SELECT 1 AS x
"""


@dataclass(frozen=True)
class Feature:
    """One thing that a query may do: `status` is yes, not yet or never."""

    area: str
    name: str
    example: str
    status: str
    code: str | None
    """The error's code, where it is refused."""
    note: str


@cache
def features() -> tuple[Feature, ...]:
    """All entries, in order."""
    found: list[Feature] = []
    area, head, example = "", "", ""
    for line in (*_ENTRIES.strip().splitlines(), "# end"):
        if line.startswith("  ") and head.endswith("::"):
            head += f" {line.strip()}"
        elif line.startswith("  "):
            example += f" {line.strip()}"
        else:
            if head:
                found.append(_feature(area, head, example.strip()))
            head, example = "" if line.startswith("# ") else line, ""
            area = line.removeprefix("# ") if line.startswith("# ") else area
    return tuple(found)


def _feature(area: str, head: str, example: str) -> Feature:
    name, status, *note = (part.strip() for part in head.split(" ::"))
    words = status.split()
    code = words[-1] if words[-1].startswith("AB") else None
    return Feature(
        area, name, example, " ".join(words if code is None else words[:-1]), code, note[0] if note else ""
    )


def example_schemas() -> Mapping[TableName, Schema]:
    """The schemas of the tables that the examples read."""
    return {TableName.parse(name): parse_schema(ddl) for name, ddl in EXAMPLE_TABLES.items()}


def render_support_page() -> str:
    """The page of the docs."""
    lines = [
        "# SQL that is maintained incrementally",
        "",
        "Printed by `python -m anabranch.sql.support`; a test runs every example. Spark decides what a query",
        "means; what is refused with AB203 still runs with `refresh_mode = full`.",
    ]
    for area in dict.fromkeys(feature.area for feature in features()):
        lines += ["", f"## {area}", "", "| what | status | example |", "|---|---|---|"]
        lines += [_line(feature) for feature in features() if feature.area == area]
    return "\n".join(lines) + "\n"


def _line(feature: Feature) -> str:
    status = feature.status if feature.code is None else f"{feature.status} ({feature.code})"
    name = feature.name if not feature.note else f"{feature.name}: {feature.note}"
    return f"| {_cell(name)} | {status} | `{_cell(feature.example)}` |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(render_support_page(), end="")
