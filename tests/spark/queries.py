"""Random SQL over the table of `events.py`: `{t}` stands for the table, `{d}` for a small dimension of days."""

import random

_APPS = ["A", "a", "B", "", "[#small]", "__HIVE_DEFAULT_PARTITION__", "10", "9", "été", "x%y", "p/q=r", "none"]


def query(seed: int) -> str:
    """Query number `seed`. What it returns does not depend on the order of rows."""
    return _Writer(random.Random(seed)).query()


def condition(seed: int) -> str:
    """Condition number `seed`."""
    return _Writer(random.Random(seed)).where()


def fingerprint(number: int, table: str) -> str:
    """One row that says which query, how many rows, and two hashes over all of them in any order."""
    text = query(number).replace("{t}", table).replace("{d}", "days")
    return (
        f"SELECT {number} AS q, '{table}' AS t, count(*) AS c, bit_xor(xxhash64(struct(*))) AS x,"
        f" sum(CAST(xxhash64(struct(*)) AS DECIMAL(38, 0))) AS y FROM ({text})"
    )


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        shapes = [
            self._plain, self._plain, self._aggregate, self._having, self._self_join, self._outer_join, self._dimension,
            self._exists, self._in_subquery, self._not_in_subquery, self._scalar, self._correlated, self._cte,
            self._set_operation, self._window, self._top, self._lateral, self._rollup, self._derived, self._case_group,
        ]  # fmt: skip
        return self.rng.choice(shapes)()

    # --- conditions ---------------------------------------------------------------------------------------------

    def where(self, prefix: str = "", depth: int = 2) -> str:
        if depth == 0 or self.rng.random() < 0.3:
            return self._leaf(prefix)
        kind = self.rng.random()
        if kind < 0.15:
            return f"NOT ({self.where(prefix, depth - 1)})"
        word = "AND" if kind < 0.6 else "OR"
        return f"({self.where(prefix, depth - 1)} {word} {self.where(prefix, depth - 1)})"

    def _leaf(self, p: str) -> str:
        return self.rng.choice(
            [self._app, self._app, self._app_function, self._dt, self._dt_function, self._r, self._other]
        )(p)

    def _day(self) -> str:
        return f"2026-05-{self.rng.randint(1, 10):02d}"

    def _text(self) -> str:
        return "'" + self.rng.choice(_APPS) + "'"

    def _app(self, p: str) -> str:
        a, b = self._text(), self._text()
        return self.rng.choice(
            [
                f"{p}app = {a}", f"{p}app <> {a}", f"{p}app > {a}", f"{p}app <= {a}", f"{p}app <=> {a}",
                f"{p}app IS NULL",
                f"{p}app IN ({a}, {b})", f"{p}app NOT IN ({a}, {b})", f"{p}app IN ({a}, NULL)",
                f"{p}app NOT IN ({a}, NULL)",
                f"{p}app BETWEEN {a} AND {b}", f"{p}app LIKE 'a%'", f"{p}app LIKE '%\\\\%%'", f"{p}app LIKE '[#%'",
                f"{p}app LIKE '_'", f"{p}app <=> NULL", f"startswith({p}app, {a})", f"{p}app = {p}s", f"{a} < {p}app",
            ]
        )  # fmt: skip

    def _app_function(self, p: str) -> str:
        return self.rng.choice(
            [
                f"lower({p}app) = 'a'", f"length({p}app) > 1", f"substring({p}app, 1, 1) IN ('A', '1')",
                f"{p}app RLIKE '^[0-9]+$'", f"coalesce({p}app, '?') = '?'", f"concat({p}app, 'x') = 'Ax'",
                f"try_cast({p}app AS INT) > 9", f"upper({p}app) = {p}app", f"if({p}app = 'A', 1, 0) = 1",
                f"CASE WHEN {p}app = 'A' THEN {p}dt > DATE '{self._day()}' ELSE {p}k > 200 END",
                f"CASE {p}app WHEN 'B' THEN true WHEN '' THEN NULL ELSE {p}r = 1 END", f"ascii({p}app) % 2 = 0",
                f"array_contains(array('A', 'B'), {p}app)", f"nvl({p}app, 'A') = 'A'", f"trim({p}app) = ''",
                f"{p}app || cast({p}r AS STRING) = 'A1'", f"md5({p}app) LIKE '7%'",
            ]
        )  # fmt: skip

    def _dt(self, p: str) -> str:
        day, other = self._day(), self._day()
        return self.rng.choice(
            [
                f"{p}dt = DATE '{day}'", f"{p}dt > '{day}'", f"{p}dt BETWEEN DATE '{day}' AND DATE '{other}'",
                f"{p}dt IN (DATE '{day}', DATE '{other}')", f"{p}dt <> DATE '{day}'", f"{p}dt IS NULL",
                f"{p}dt NOT IN (DATE '{day}', NULL)", f"{p}dt <= TIMESTAMP '{day} 12:00:00'", f"{p}dt <=> DATE '{day}'",
                f"{p}dt >= DATE '{day}' - INTERVAL 2 DAYS",
                f"({p}dt, {p}app) IN ((DATE '{day}', 'A'), (DATE '{other}', 'B'))",
                f"(({p}dt = DATE '{day}' AND {p}app = 'A') OR ({p}dt = DATE '{other}' AND {p}app = 'B'))",
            ]
        )  # fmt: skip

    def _dt_function(self, p: str) -> str:
        return self.rng.choice(
            [
                f"dayofmonth({p}dt) % 3 = 0", f"date_format({p}dt, 'yyyy-MM-dd') = '{self._day()}'",
                f"year({p}dt) = 2026",
                f"date_add({p}dt, 1) = DATE '{self._day()}'", f"cast({p}dt AS STRING) LIKE '2026-05-0%'",
                f"dayofweek({p}dt) = 2", f"datediff({p}dt, DATE '2026-05-01') > 3", f"last_day({p}dt) = {p}dt",
                f"trunc({p}dt, 'MM') = DATE '2026-05-01'", f"unix_date({p}dt) % 2 = 0",
            ]
        )  # fmt: skip

    def _r(self, p: str) -> str:
        return self.rng.choice(
            [
                f"{p}r = 1", f"{p}r > 1.5", f"{p}r IN (1, 3)", f"{p}r % 2 = 0", f"cast({p}r AS STRING) = '2'",
                f"{p}r <=> NULL", f"{p}r BETWEEN 1 AND 2", f"{p}r * 2 = 4L", f"abs({p}r - 2) < 2",
                f"{p}r NOT IN (0, NULL)",
                f"{p}r = 2.0D", f"{p}r < 9999999999",
            ]
        )  # fmt: skip

    def _other(self, p: str) -> str:
        n = self.rng.randint(0, 460)
        return self.rng.choice(
            [
                f"{p}k > {n}", f"{p}k = {n}", f"{p}k BETWEEN {n} AND {n + 50}", f"{p}v > 0", f"isnan({p}v)",
                f"{p}v = 0.0D",
                f"{p}v IS NULL", f"{p}s LIKE 's1%'", f"{p}ts >= TIMESTAMP '{self._day()} 06:00:00'",
                f"{p}amount > 50.25",
                f"{p}info.a = 2", f"size({p}tags) > 1", f"{p}info IS NULL", f"hour({p}ts) = 3", f"{p}k % 7 = 3", "true",
                f"{p}amount = {n % 100}", f"{p}v <> 1.5D", f"{p}info.b = 'b1'", f"{p}s IS NOT NULL",
            ]
        )  # fmt: skip

    # --- shapes -------------------------------------------------------------------------------------------------

    def _columns(self) -> str:
        return self.rng.choice(["k, dt, app", "k, v, s", "*", "app", "dt, r", "k, info.b AS b", "count(*) AS c"])

    def _plain(self) -> str:
        return f"SELECT {self._columns()} FROM {{t}} WHERE {self.where()}"

    def _aggregate(self) -> str:
        key = self.rng.choice(["app", "dt", "r", "dt, app", "lower(app)", "month(dt)"])
        return (
            f"SELECT {key} AS key, count(*) AS c, sum(k) AS total, max(dt) AS last, count(DISTINCT app) AS apps "
            f"FROM {{t}} WHERE {self.where()} GROUP BY {key}"
        ).replace("dt, app AS key", "dt, app")

    def _having(self) -> str:
        return (
            f"SELECT app, count(*) AS c FROM {{t}} WHERE {self.where()} GROUP BY app "
            f"HAVING count(*) > {self.rng.randint(0, 5)}"
        )

    def _self_join(self) -> str:
        return (
            "SELECT a.k, b.k AS other FROM {t} a JOIN {t} b ON a.dt = b.dt AND a.app = b.app AND a.r = b.r "
            f"WHERE {self.where('a.', 1)} AND {self.where('b.', 1)}"
        )

    def _outer_join(self) -> str:
        kind = self.rng.choice(["LEFT", "RIGHT", "FULL"])
        return (
            f"SELECT a.k, b.k AS other FROM (SELECT * FROM {{t}} WHERE {self.where('', 1)}) a {kind} JOIN "
            f"(SELECT * FROM {{t}} WHERE {self.where('', 1)}) b ON a.k = b.k AND {self.where('b.', 1)} "
            f"WHERE {self.where('a.', 1)}"
        )

    def _dimension(self) -> str:
        kind = self.rng.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        extra = "" if "SEMI" in kind or "ANTI" in kind else f" AND d.week = {self.rng.randint(1, 2)}"
        return (
            f"SELECT t.k FROM {{t}} t {kind} {{d}} d ON t.dt = d.day AND d.name LIKE '%{self.rng.randint(1, 8)}' "
            f"WHERE {self.where('t.', 1)}{extra}"
        )

    def _exists(self) -> str:
        word = self.rng.choice(["EXISTS", "NOT EXISTS"])
        return (
            f"SELECT k FROM {{t}} t WHERE {self.where('t.', 1)} AND {word} "
            f"(SELECT 1 FROM {{d}} d WHERE d.day = t.dt AND d.week = {self.rng.randint(1, 2)})"
        )

    def _in_subquery(self) -> str:
        inner = f"SELECT app FROM {{t}} WHERE {self.where('', 1)}"
        return f"SELECT k FROM {{t}} WHERE app IN ({inner}) AND {self.where('', 1)}"

    def _not_in_subquery(self) -> str:
        not_null = self.rng.choice(["", " AND dt IS NOT NULL"])
        return f"SELECT k FROM {{t}} WHERE dt NOT IN (SELECT dt FROM {{t}} WHERE {self.where('', 1)}{not_null})"

    def _scalar(self) -> str:
        return (
            f"SELECT k FROM {{t}} WHERE dt = (SELECT max(dt) FROM {{t}} WHERE {self.where('', 1)}) "
            f"OR k = (SELECT min(k) FROM {{t}} WHERE {self.where('', 1)})"
        )

    def _correlated(self) -> str:
        return (
            f"SELECT a.k FROM {{t}} a WHERE {self.where('a.', 1)} AND a.k >= "
            "(SELECT avg(b.k) FROM {t} b WHERE b.app = a.app AND b.dt = a.dt)"
        )

    def _cte(self) -> str:
        return (
            f"WITH c AS (SELECT * FROM {{t}} WHERE {self.where()}) SELECT x.k, y.c FROM c x JOIN "
            f"(SELECT app, count(*) AS c FROM c WHERE {self.where('', 1)} GROUP BY app) y ON x.app <=> y.app"
        )

    def _set_operation(self) -> str:
        word = self.rng.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"])
        one, other = (f"SELECT dt, app, k FROM {{t}} WHERE {self.where()}" for _ in range(2))
        return f"{one} {word} {other}"

    def _window(self) -> str:
        key = self.rng.choice(["app", "dt", "dt, app"])
        return (
            f"SELECT k, n, total FROM (SELECT *, row_number() OVER (PARTITION BY {key} ORDER BY k DESC) AS n, "
            f"sum(k) OVER (PARTITION BY {key} ORDER BY k) AS total FROM (SELECT * FROM {{t}} WHERE {self.where()})) "
            f"WHERE n <= {self.rng.randint(1, 3)}"
        )

    def _top(self) -> str:
        return f"SELECT k, app, dt FROM {{t}} WHERE {self.where()} ORDER BY k DESC LIMIT {self.rng.randint(1, 20)}"

    def _lateral(self) -> str:
        return f"SELECT k, tag FROM {{t}} LATERAL VIEW explode(tags) e AS tag WHERE {self.where()} AND tag <> 't0'"

    def _rollup(self) -> str:
        return f"SELECT dt, app, count(*) AS c FROM {{t}} WHERE {self.where()} GROUP BY ROLLUP (dt, app)"

    def _derived(self) -> str:
        return (
            "SELECT day, count(*) AS c FROM (SELECT dt AS day, app AS name, k AS number FROM {t} "
            f"WHERE {self.where('', 1)}) WHERE day > DATE '{self._day()}' OR name = {self._text()} GROUP BY day"
        )

    def _case_group(self) -> str:
        return (
            "SELECT CASE WHEN app < 'B' THEN 'low' WHEN app IS NULL THEN 'none' ELSE 'high' END AS part, "
            f"sum(amount) AS a FROM {{t}} WHERE {self.where()} GROUP BY 1"
        )
