"""Queries that Spark and DuckDB read alike, one per line, by what they show.

Tables: t(a, b, s), u(a, c), v(a, c), w(x, y, s); whole numbers, and s text.
"""

# ruff: noqa: E501

from __future__ import annotations

CORPUS: dict[str, str] = {
    "select": """
        SELECT a, b, s FROM t
        SELECT * FROM t
        SELECT b AS p, a AS q FROM t WHERE a = 1
        SELECT a + b * 2 - 1 AS x, -a AS y, a % 3 AS z FROM t
        SELECT a FROM t WHERE a > 1 OR b IS NULL
        SELECT a FROM t WHERE NOT (a = 1 AND b = 2)
        SELECT a FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN 0 AND 1
        SELECT a FROM t WHERE a IN (1, 2) AND s NOT IN ('x')
        SELECT a FROM t WHERE a IN (1, NULL)
        SELECT a FROM t WHERE a NOT IN (1, NULL)
        SELECT s FROM t WHERE s LIKE 'x%' OR s LIKE '_'
        SELECT a IS NULL AS n, a IS NOT NULL AS m FROM t
        SELECT a IS DISTINCT FROM b AS d, a IS NOT DISTINCT FROM b AS e FROM t
        SELECT (a > 1) IS TRUE AS x, (a > 1) IS NOT TRUE AS y, (a > 1) IS FALSE AS z FROM t
        SELECT CASE WHEN a = 1 THEN 'one' WHEN a = 2 THEN 'two' ELSE 'many' END AS w FROM t
        SELECT CASE a WHEN 1 THEN b WHEN 2 THEN -b END AS w FROM t
        SELECT coalesce(a, b, 0) AS x, nullif(a, b) AS y, abs(a - b) AS z FROM t
        SELECT upper(s) AS x, lower(upper(s)) AS y, length(s) AS z, s || s AS w FROM t
        SELECT DISTINCT a FROM t
        SELECT DISTINCT a, s FROM t WHERE b > 0
        SELECT t.a, t.b FROM t
        SELECT x.a FROM t AS x
        SELECT x.p, x.r FROM t AS x(p, q, r)
        SELECT 1 AS one, 'x' AS s, NULL IS NULL AS n
        SELECT 1 AS one WHERE 1 = 0
        SELECT a + 1 AS p, p * 2 AS q FROM t
        SELECT a = b AS x, a <> b AS y, a < b AS z, a >= b AS w FROM t
        SELECT a FROM t WHERE (a = b) = TRUE
        SELECT TRUE AND a = 1 OR FALSE AS x FROM t
        SELECT s FROM t WHERE s = 'it''s' OR s = 'x'
    """,
    "joins": """
        SELECT t.a, t.b, u.c FROM t JOIN u ON t.a = u.a
        SELECT t.a, u.c FROM t, u WHERE t.a = u.a AND u.c > 1
        SELECT t.a, u.c FROM t CROSS JOIN u
        SELECT t.a AS ta, u.a AS ua FROM t LEFT JOIN u ON t.a = u.a
        SELECT t.a AS ta, u.a AS ua FROM t RIGHT JOIN u ON t.a = u.a
        SELECT t.a AS ta, u.a AS ua, u.c FROM t FULL JOIN u ON t.a = u.a
        SELECT t.a AS ta, u.c FROM t LEFT JOIN u ON t.a = u.a AND u.c > 1
        SELECT t.a AS ta, u.c FROM t LEFT JOIN u ON t.a = u.a AND t.b > 1
        SELECT t.a AS ta, u.c FROM t LEFT JOIN u ON t.a < u.a
        SELECT t.a AS ta, u.c FROM t LEFT JOIN u ON t.a = u.a WHERE u.c IS NULL
        SELECT t.a AS ta, u.c FROM t LEFT JOIN u ON t.a = u.a WHERE t.b = 1 AND u.c = 2
        SELECT t.a, t.b FROM t SEMI JOIN u ON t.a = u.a
        SELECT t.a, t.b FROM t ANTI JOIN u ON t.a = u.a
        SELECT x.a AS p, y.a AS q FROM t AS x JOIN t AS y ON x.b = y.a
        SELECT x.a AS p, y.b AS q FROM t AS x LEFT JOIN t AS y ON x.b = y.a AND y.b > x.b
        SELECT a, b, c FROM t JOIN u USING (a)
        SELECT * FROM t JOIN u USING (a)
        SELECT a, b, c FROM t LEFT JOIN u USING (a)
        SELECT a, b, c FROM t RIGHT JOIN u USING (a)
        SELECT a, b, c FROM t FULL JOIN u USING (a)
        SELECT t.a AS ta, u.a AS ua, c FROM t JOIN u USING (a)
        SELECT * FROM t NATURAL JOIN u
        SELECT a, c FROM u NATURAL JOIN v
        SELECT a, c FROM u JOIN v USING (a, c)
        SELECT a, t.b, u.c AS uc, v.c AS vc FROM t JOIN u USING (a) LEFT JOIN v USING (a)
        SELECT t.a, u.c, v.c AS d FROM t JOIN u ON t.a = u.a JOIN v ON u.c = v.c
        SELECT t.a, u.c, v.c AS d FROM t, u, v WHERE t.a = u.a AND u.c = v.c AND v.a = t.b
        SELECT t.a, x.n FROM t LEFT JOIN (SELECT a, count(*) AS n FROM u GROUP BY a) AS x ON t.a = x.a
        SELECT p.a, p.c FROM (SELECT t.a, u.c FROM t JOIN u ON t.a = u.a) AS p WHERE p.c > 0
        SELECT t.a AS ta, q.c FROM t LEFT JOIN (u JOIN v ON u.a = v.a) AS q(a, c, a2, c2) ON t.a = q.a
        SELECT t.a AS ta, w.y FROM t LEFT JOIN w ON t.s = w.s AND (t.a = w.x OR t.b = w.y)
        SELECT t.a AS ta, u.c, v.c AS vc FROM t LEFT JOIN u ON t.a = u.a RIGHT JOIN v ON u.c = v.c
        SELECT a FROM t WHERE a > 0 UNION ALL SELECT u.a FROM u LEFT JOIN v ON u.a = v.a
        SELECT t.a, u.c FROM t JOIN u ON t.a = u.a AND t.b IN (SELECT c FROM v)
        SELECT t.a AS ta, u.c FROM t JOIN u ON EXISTS (SELECT 1 FROM v WHERE v.a = t.a)
    """,
    "aggregates": """
        SELECT a, count(*) AS n FROM t GROUP BY a
        SELECT a, sum(b) AS x, min(b) AS lo, max(b) AS hi, avg(b) AS m, count(b) AS n FROM t GROUP BY a
        SELECT count(*) AS n, sum(a) AS x, min(s) AS lo FROM t
        SELECT count(*) AS n FROM t WHERE a > 100
        SELECT sum(a) AS x FROM t WHERE a > 100
        SELECT a, count(DISTINCT b) AS n, sum(DISTINCT b) AS x FROM t GROUP BY a
        SELECT a, count(*) FILTER (WHERE b > 1) AS n, sum(b) FILTER (WHERE s = 'x') AS x FROM t GROUP BY a
        SELECT a, sum(b) AS x FROM t GROUP BY a HAVING sum(b) > 2
        SELECT a, sum(b) AS x FROM t GROUP BY a HAVING count(*) > 1 AND a IS NOT NULL
        SELECT a AS k, sum(b) AS x FROM t GROUP BY a HAVING x > 1
        SELECT a + 1 AS k, count(*) AS n FROM t GROUP BY a + 1
        SELECT a + 1 AS k, count(*) AS n FROM t GROUP BY k
        SELECT a, s, count(*) AS n FROM t GROUP BY 1, 2
        SELECT a, s, sum(b) AS x FROM t GROUP BY ALL
        SELECT sum(b) AS x FROM t GROUP BY a
        SELECT a FROM t GROUP BY a
        SELECT DISTINCT count(*) AS n FROM t GROUP BY a
        SELECT a, sum(b) + count(*) * 2 AS x, max(b) - min(b) AS y FROM t GROUP BY a
        SELECT sum(a + b) AS x, sum(a) + sum(b) AS y FROM t
        SELECT CASE WHEN a > 1 THEN 'big' ELSE 'small' END AS k, count(*) AS n FROM t GROUP BY CASE WHEN a > 1 THEN 'big' ELSE 'small' END
        SELECT t.s, sum(u.c) AS x FROM t JOIN u ON t.a = u.a GROUP BY t.s
        SELECT x.n, count(*) AS m FROM (SELECT a, count(*) AS n FROM t GROUP BY a) AS x GROUP BY x.n
        SELECT a, sum(CASE WHEN b = 1 THEN 1 ELSE 0 END) AS x FROM t GROUP BY a
        SELECT a, count(*) AS n FROM t GROUP BY a HAVING count(*) = (SELECT max(c) FROM u)
        SELECT a, count(*) AS n FROM t GROUP BY a HAVING EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
        SELECT a, count(*) AS n FROM t GROUP BY a HAVING a IN (SELECT c FROM u)
        SELECT bool_and(a > 0) AS x, bool_or(a > 2) AS y FROM t
        SELECT count(*) AS n FROM t HAVING count(*) > 2
        SELECT a % 2 AS k, min(a) AS lo FROM t GROUP BY a % 2 HAVING min(a) > 0
        SELECT count(1) AS n, count(NULL) AS m FROM t
    """,
    "grouping sets": """
        SELECT a, s, count(*) AS n FROM t GROUP BY GROUPING SETS ((a, s), (a), (s))
        SELECT a, s, sum(b) AS x, grouping(a) AS g, grouping(s) AS h FROM t GROUP BY GROUPING SETS ((a), (s))
        SELECT a, s, count(*) AS n FROM t WHERE b IS NOT NULL GROUP BY a, ROLLUP (s)
        SELECT a, s, sum(a) AS x FROM t GROUP BY GROUPING SETS ((a), (a, s)) HAVING count(*) > 1
        SELECT a + 1 AS k, count(*) AS n FROM t GROUP BY GROUPING SETS ((a + 1), (a + 1, s))
        SELECT count(*) AS n FROM t GROUP BY GROUPING SETS (())
    """,
    "set operations": """
        SELECT a FROM t UNION ALL SELECT a FROM u
        SELECT a FROM t UNION SELECT a FROM u
        SELECT a FROM t INTERSECT SELECT a FROM u
        SELECT a FROM t EXCEPT SELECT a FROM u
        SELECT a FROM t INTERSECT ALL SELECT a FROM u
        SELECT a FROM t EXCEPT ALL SELECT a FROM u
        SELECT a FROM t UNION ALL SELECT a FROM u INTERSECT SELECT a FROM v
        SELECT a FROM t EXCEPT SELECT a FROM u UNION ALL SELECT c FROM v
        (SELECT a FROM t EXCEPT SELECT a FROM u) INTERSECT SELECT c FROM v
        SELECT a FROM t EXCEPT (SELECT a FROM u INTERSECT SELECT c FROM v)
        SELECT a FROM t UNION SELECT a FROM u UNION SELECT c FROM v
        SELECT a FROM t UNION ALL SELECT a FROM u UNION SELECT c FROM v
        SELECT a, b FROM t UNION ALL SELECT c, a FROM u
        SELECT x.a, count(*) AS n FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS x GROUP BY x.a
        SELECT a, 1 AS k FROM t UNION SELECT c, 2 FROM u
        SELECT a FROM t WHERE a IN (SELECT a FROM u UNION SELECT c FROM v)
        SELECT a, b FROM t INTERSECT SELECT c, a FROM u
        SELECT a FROM t EXCEPT SELECT a FROM u EXCEPT SELECT c FROM v
        SELECT * FROM (VALUES (1, 2), (3, NULL)) AS q(p, r) UNION ALL SELECT a, c FROM u
    """,
    "subqueries": """
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)
        SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE c > 2)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
        SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c > t.b)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a < t.a)
        SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a < t.a AND u.c = t.b)
        SELECT a FROM t WHERE a IN (SELECT a FROM u)
        SELECT a FROM t WHERE a NOT IN (SELECT a FROM u)
        SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE a IS NOT NULL)
        SELECT a FROM t WHERE a NOT IN (SELECT a FROM u WHERE u.c = t.b)
        SELECT a FROM t WHERE a IN (SELECT a FROM u WHERE u.c = t.b)
        SELECT a FROM t WHERE (a, b) IN (SELECT a, c FROM u)
        SELECT a FROM t WHERE (a, b) NOT IN (SELECT a, c FROM u)
        SELECT a FROM t WHERE a + 1 IN (SELECT c FROM u GROUP BY c HAVING count(*) > 1)
        SELECT a FROM t WHERE a IN (SELECT max(c) FROM u GROUP BY a)
        SELECT a FROM t WHERE b = 1 OR EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
        SELECT a FROM t WHERE b = 1 OR a IN (SELECT c FROM u)
        SELECT a FROM t WHERE b = 1 OR a NOT IN (SELECT c FROM u)
        SELECT a FROM t WHERE b = 1 OR (a, b) IN (SELECT a, c FROM u WHERE u.a < 2)
        SELECT a FROM t WHERE NOT (a IN (SELECT a FROM u) OR b = 1)
        SELECT a FROM t WHERE NOT (a NOT IN (SELECT a FROM u) AND b > 0)
        SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a) AS e FROM t
        SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a > t.a AND u.c < t.b) AS e FROM t
        SELECT a, EXISTS (SELECT 1 FROM u WHERE c = 3) AS e FROM t
        SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a + 1 = t.a) AS e FROM t
        SELECT a, EXISTS (SELECT 1 FROM u WHERE u.a = t.a + 1 AND u.c = 1) AS e FROM t
        SELECT a, EXISTS (SELECT 1 FROM w WHERE w.s = t.s) AS e FROM t
        SELECT a, (SELECT max(c) FROM u WHERE u.a + 1 = t.a) AS m FROM t
        SELECT a, (SELECT count(c) FROM u WHERE u.a = t.a - 1 AND u.c > 0) AS m FROM t
        SELECT a, (SELECT sum(x) FROM w WHERE w.s = t.s AND w.y = t.b) AS m FROM t
        SELECT a, (SELECT max(c) + (SELECT min(c) FROM v) FROM u WHERE u.a = t.a) AS m FROM t
        SELECT a, (SELECT max(c) + (SELECT count(*) FROM v WHERE v.a = t.b) FROM u WHERE u.a = t.a) AS m FROM t
        SELECT a FROM t WHERE 1 IN (SELECT a FROM u) OR b = 2
        SELECT a FROM t WHERE (a, 1) IN (SELECT a, c FROM u) OR b = 2
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.a = t.b)
        SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a AND u.a = t.b) AS m FROM t
        SELECT a, NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.c = 1) AS e FROM t
        SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.a = t.a) THEN a ELSE -1 END AS x FROM t
        SELECT CASE WHEN a IN (SELECT a FROM u) THEN 1 ELSE 0 END AS x FROM t
        SELECT a, (SELECT max(c) FROM u) AS m FROM t
        SELECT a, (SELECT c FROM u WHERE c > 100) AS m FROM t
        SELECT a FROM t WHERE b > (SELECT avg(c) FROM u)
        SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a) AS m FROM t
        SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) AS n FROM t
        SELECT a, (SELECT count(*) + 1 FROM u WHERE u.a = t.a AND u.c > 1) AS n FROM t
        SELECT a, (SELECT sum(c) + count(c) FROM u WHERE u.a = t.a) AS n FROM t
        SELECT a, (SELECT coalesce(sum(c), -1) FROM u WHERE u.a = t.a) AS n FROM t
        SELECT a, (SELECT max(c) FROM u WHERE u.a < t.a) AS m FROM t
        SELECT a, (SELECT count(*) FROM u WHERE u.a < t.a OR u.c = t.b) AS n FROM t
        SELECT a, (SELECT count(*) FROM u JOIN v ON u.c = v.c WHERE u.a = t.a AND v.a = t.b) AS n FROM t
        SELECT a FROM t WHERE b = (SELECT max(x.b) FROM t AS x WHERE x.a = t.a)
        SELECT a FROM t WHERE b > (SELECT avg(x.b) FROM t AS x WHERE x.s = t.s AND x.a = t.a)
        SELECT a FROM t WHERE (SELECT count(*) FROM u WHERE u.a = t.a) = 0
        SELECT a, (SELECT max(q.m) FROM (SELECT u.c AS m FROM u WHERE u.a = t.a) AS q) AS m FROM t
        SELECT a, (SELECT max(q.n) FROM (SELECT u.a, count(*) AS n FROM u WHERE u.c = t.b GROUP BY u.a) AS q) AS m FROM t
        SELECT a, (SELECT count(*) FROM (SELECT DISTINCT c FROM u WHERE u.a = t.a) AS q) AS n FROM t
        SELECT a, (SELECT sum(c) FROM u WHERE u.a = t.a GROUP BY u.a) AS m FROM t
        SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a HAVING count(*) > 1) AS m FROM t
        SELECT a FROM t WHERE EXISTS (SELECT u.a FROM u WHERE u.a = t.a GROUP BY u.a HAVING count(*) > 1)
        SELECT a FROM t WHERE EXISTS (SELECT max(c) FROM u WHERE u.a = t.a)
        SELECT a FROM t WHERE EXISTS (SELECT a FROM u WHERE u.a = t.a UNION SELECT a FROM v WHERE v.c = t.b)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND EXISTS (SELECT 1 FROM v WHERE v.a = u.c))
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND NOT EXISTS (SELECT 1 FROM v WHERE v.a = u.c AND v.c = t.b))
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.c = u.c))
        SELECT a, (SELECT count(*) FROM u WHERE u.c > (SELECT min(c) FROM v WHERE v.a = t.a)) AS n FROM t
        SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a AND u.c IN (SELECT c FROM v WHERE v.a = t.b)) AS m FROM t
        SELECT a, (SELECT u.c FROM u WHERE u.a = t.a ORDER BY u.c DESC LIMIT 1) AS m FROM t
        SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE u.a = t.a ORDER BY c LIMIT 2)
        SELECT a, (SELECT t.b) AS x FROM t
        SELECT a, (SELECT max(c) + t.b FROM u WHERE u.a = t.a) AS x FROM t
        SELECT a, (SELECT max(c + t.b) FROM u WHERE u.a = t.a) AS x FROM t
        SELECT a, sum((SELECT max(c) FROM u WHERE u.a = t.a)) AS x FROM t GROUP BY a
        SELECT (SELECT max(c) FROM u WHERE u.a = t.a) AS m, count(*) AS n FROM t GROUP BY 1
        SELECT t.a, u.c FROM t JOIN u ON t.a = u.a WHERE u.c = (SELECT max(x.c) FROM u AS x WHERE x.a = t.a)
        SELECT a FROM t WHERE a = (SELECT min(a) FROM t) OR a = (SELECT max(a) FROM t)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LEFT JOIN v ON u.a = v.a AND v.c = t.b WHERE v.a IS NULL)
        SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 1)
        SELECT a FROM t WHERE a IN (SELECT u.a FROM u WHERE u.c IN (SELECT v.c FROM v WHERE v.a = u.a))
        SELECT a FROM t WHERE a > 0 AND a NOT IN (SELECT x.a FROM t AS x WHERE x.b > 1 AND x.a IS NOT NULL)
        SELECT a, (SELECT count(*) FROM (SELECT c FROM u WHERE u.a = t.a UNION ALL SELECT c FROM v WHERE v.a = t.a) AS q) AS n FROM t
        SELECT a, (SELECT count(*) FROM (SELECT c FROM u WHERE u.a = t.a EXCEPT SELECT c FROM v) AS q) AS n FROM t
        SELECT a, (SELECT max(q.r) FROM (SELECT row_number() OVER (ORDER BY c, a) AS r FROM u WHERE u.a = t.a) AS q) AS n FROM t
        SELECT a, (SELECT count(*) FROM u FULL JOIN v ON u.a = v.a AND u.c = t.b) AS n FROM t
        SELECT a, (SELECT count(*) FROM u RIGHT JOIN v ON u.a = v.a AND u.c = t.b WHERE v.c = t.a) AS n FROM t
        SELECT a, (SELECT count(v.c) FROM u LEFT JOIN (SELECT * FROM v WHERE v.c = t.b) AS v ON u.a = v.a) AS n FROM t
    """,
    "ctes": """
        WITH q AS (SELECT a, b FROM t WHERE a > 0) SELECT a FROM q
        WITH q(p, r) AS (SELECT a, b FROM t) SELECT x.p, y.r FROM q AS x JOIN q AS y ON x.p = y.r
        WITH q AS (SELECT a, count(*) AS n FROM t GROUP BY a), r AS (SELECT max(n) AS m FROM q) SELECT q.a FROM q, r WHERE q.n = r.m
        WITH q AS (SELECT 1 AS x), r AS (WITH q AS (SELECT 2 AS x) SELECT x FROM q) SELECT q.x AS p, r.x AS o FROM q, r
        WITH q AS (SELECT a FROM t) SELECT a FROM q UNION ALL SELECT a FROM q
        WITH q AS (SELECT a FROM u) SELECT a FROM t WHERE a IN (SELECT a FROM q) AND NOT EXISTS (SELECT 1 FROM q WHERE q.a > t.b)
        SELECT a FROM (WITH q AS (SELECT a FROM t) SELECT a FROM q WHERE a = 1) AS z
        WITH t AS (SELECT a + 1 AS a FROM t) SELECT a FROM t
        WITH q AS (SELECT a, sum(b) AS x FROM t GROUP BY a) SELECT a FROM q WHERE x = (SELECT max(x) FROM q)
    """,
    "windows": """
        SELECT a, row_number() OVER (PARTITION BY a ORDER BY b, s) AS r FROM t
        SELECT a, b, rank() OVER (ORDER BY b) AS r, dense_rank() OVER (ORDER BY b DESC) AS d FROM t
        SELECT a, sum(b) OVER (PARTITION BY a) AS x, count(*) OVER () AS n FROM t
        SELECT a, max(b) OVER (PARTITION BY s) AS x, min(b) OVER (PARTITION BY a, s) AS y FROM t
        SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY b, s) = 1
        SELECT a, rank() OVER (ORDER BY a) AS r FROM t QUALIFY r < 3
        SELECT x.a FROM (SELECT a, rank() OVER (PARTITION BY s ORDER BY b DESC) AS r FROM t) AS x WHERE x.r = 1
        SELECT a, sum(b) AS x, rank() OVER (ORDER BY sum(b)) AS r FROM t GROUP BY a
        SELECT a, sum(sum(b)) OVER () AS x FROM t GROUP BY a
        SELECT a, b - avg(b) OVER w AS d FROM t WINDOW w AS (PARTITION BY a)
        SELECT a, count(*) FILTER (WHERE b > 1) OVER (PARTITION BY a) AS n FROM t
        SELECT DISTINCT a, count(*) OVER (PARTITION BY a) AS n FROM t
        SELECT t.a, row_number() OVER (PARTITION BY t.a ORDER BY u.c, t.b, t.s) AS r FROM t JOIN u ON t.a = u.a
    """,
    "order and limit": """
        SELECT a, b FROM t ORDER BY a, b LIMIT 3
        SELECT a, b, s FROM t ORDER BY b DESC, a, s LIMIT 2 OFFSET 1
        SELECT a, b FROM t ORDER BY b NULLS LAST, a DESC NULLS FIRST LIMIT 3
        SELECT a AS p FROM t ORDER BY p DESC LIMIT 2
        SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n DESC, a LIMIT 2
        SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY count(*) DESC, a LIMIT 2
        SELECT a FROM t UNION ALL SELECT c FROM u ORDER BY 1 DESC LIMIT 3
        SELECT x.a FROM (SELECT a, b FROM t ORDER BY a, b LIMIT 4) AS x WHERE x.b > 0
        SELECT DISTINCT a FROM t ORDER BY a LIMIT 2
        SELECT -a AS a FROM t ORDER BY a LIMIT 2
        SELECT a, b FROM t ORDER BY 2, 1 DESC LIMIT 1 + 1
        SELECT a FROM t ORDER BY a OFFSET 2
        SELECT count(*) AS n FROM (SELECT a FROM t ORDER BY b LIMIT 3) AS x
        SELECT count(*) AS n, sum(b) AS x FROM t LIMIT 5
        SELECT count(*) AS n FROM t ORDER BY sum(b) LIMIT 5
        SELECT max(a) AS m FROM t HAVING count(*) > 2 LIMIT 1
        SELECT * FROM (SELECT max(a) AS m FROM t) AS p, (SELECT min(c) AS n FROM u) AS q LIMIT 100
        SELECT a, (SELECT max(c) FROM u LIMIT 1) AS m FROM t
        SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a LIMIT 1) AS m FROM t
        SELECT count(*) AS n FROM t LIMIT 0
        SELECT count(*) AS n FROM t OFFSET 1
    """,
    "laterals": """
        SELECT t.a, l.m FROM t, LATERAL (SELECT max(c) AS m FROM u WHERE u.a = t.a) AS l
        SELECT t.a, l.c FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a) AS l
        SELECT t.a, l.c FROM t LEFT JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) AS l ON TRUE
        SELECT t.a, l.n FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.a < t.a) AS l
        SELECT t.a, l.c FROM t, LATERAL (SELECT c FROM u WHERE u.a = t.a ORDER BY c LIMIT 1) AS l
        SELECT t.a, l.x, k.y FROM t, LATERAL (SELECT t.b + 1 AS x) AS l, LATERAL (SELECT l.x * 2 AS y) AS k
        SELECT t.a, l.c FROM t LEFT JOIN LATERAL (SELECT c FROM u WHERE u.a = t.a) AS l ON l.c > 1
        SELECT t.a, l.c FROM t JOIN LATERAL (SELECT u.c FROM u WHERE u.c > t.b) AS l ON l.c < 3
    """,
    "values": """
        SELECT * FROM (VALUES (1, 'x'), (2, NULL)) AS q(p, r)
        SELECT t.a, q.r FROM t JOIN (VALUES (1, 'one'), (2, 'two')) AS q(p, r) ON t.a = q.p
        SELECT a FROM t WHERE a IN (SELECT q.p FROM (VALUES (1), (3)) AS q(p))
        VALUES (1, 2), (3, 4)
    """,
}


def queries() -> list[str]:
    """All of them."""
    lines = [line.strip() for text in CORPUS.values() for line in text.strip().splitlines()]
    return [line for line in lines if line]
