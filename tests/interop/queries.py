"""Forty questions that every reader has to answer alike, in SQL that all of them understand.

They leave out what engines mean differently: whether NaN is greater than a number, and how zero's signs compare.
`{name}` and `{city}` are columns that are renamed on the way.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Query:
    """`where` is what can be pruned by, `select` what is asked of the rows; `iceberg` is PyIceberg's way to say it."""

    name: str
    where: str = ""
    select: str = "dt, app, n, amount, moment"
    rest: str = ""
    iceberg: str | None = None

    def sql(self, names: dict[str, str]) -> str:
        """The whole statement on the table `t`."""
        condition = f" WHERE {self.where}" if self.where else ""
        return f"SELECT {self.select} FROM t{condition}{self.rest}".format(**names)

    def condition(self, names: dict[str, str]) -> str:
        """What can be pruned by."""
        return self.where.format(**names)

    def pyiceberg(self, names: dict[str, str]) -> str:
        """The same in the words of PyIceberg, which writes dates as texts."""
        text = self.where if self.iceberg is None else self.iceberg
        return text.replace("DATE '", "'").replace("TIMESTAMP '", "'").format(**names)


QUERIES = [
    Query("large partition, one day", "app = 'web' AND dt = DATE '2026-05-02'"),
    Query("small partition, one day", "app = 'app-9' AND dt = DATE '2026-05-02'"),
    Query("removed partition", "app = 'app-7' AND dt = DATE '2026-05-02'"),
    Query("partition removed everywhere", "app = 'app-3'"),
    Query("small partition, all days", "app = 'app-7'"),
    Query("NULL partition", "app IS NULL"),
    Query("empty text", "app = ''"),
    Query("text of a group", "app = '[#small]'"),
    Query("text that Hive takes for NULL", "app = '__HIVE_DEFAULT_PARTITION__'"),
    Query("letters and a percent sign", "app = 'ümläut 50%'"),
    Query("a slash", "app = 'a/b'"),
    Query("no such partition", "app = 'none such'"),
    Query("IN", "app IN ('app-1', 'app-2', 'web', '', 'zzz')"),
    Query("NOT IN", "app NOT IN ('web', 'app-1')"),
    Query("range of texts", "app >= 'app-2' AND app < 'app-4'"),
    Query("one day", "dt = DATE '2026-05-01'"),
    Query("range of days", "dt > DATE '2026-05-01' AND dt <= DATE '2026-05-03'"),
    Query("day that is not there", "dt = DATE '2027-01-01'"),
    Query("range of numbers", "n >= 100 AND n <= 120"),
    Query("one number", "n = 17"),
    Query("numbers out of bounds", "n > 100000"),
    Query("decimals", "amount > 850.25", iceberg="amount > 850.25"),
    Query("NULL decimals", "amount IS NULL AND dt = DATE '2026-05-03'"),
    Query("instants", "moment < TIMESTAMP '2026-05-01 02:00:00+00:00'", select="n, moment",
          iceberg="moment < '2026-05-01T02:00:00+00:00'"),
    Query("wall clocks", "wall >= TIMESTAMP '2026-05-01 23:00:00'", select="n, wall",
          iceberg="wall >= '2026-05-01T23:00:00'"),
    Query("flags", "ok = true AND dt = DATE '2026-05-02'", select="dt, n, ok"),
    Query("NULL flags", "ok IS NULL", select="dt, n, ok"),
    Query("prefix", "{name} LIKE 'name 3%'", select="n, {name}", iceberg="{name} like 'name 3%'"),
    Query("NULL texts", "{name} IS NULL AND app = 'web'", select="n, {name}"),
    Query("floats", "ratio < -0.9", select="n, ratio"),
    Query("NULL floats", "ratio IS NULL", select="n, ratio"),
    Query("member of a struct", select="n, place.{city}, place.code",
          rest=" WHERE place.{city} = 'Ulm' AND n > 450"),
    Query("NULL structs", "place IS NULL AND dt = DATE '2026-05-01'", select="n, place"),
    Query("everything nested", "app = 'app-9'", select="dt, n, place, tags, attrs, small"),
    Query("either of two columns", "app = 'app-5' OR n = 3"),
    Query("three columns", "dt = DATE '2026-05-03' AND app = 'web' AND n < -480"),
    Query("count", select="count(*) AS c"),
    Query("sums by day", select="dt, count(*) AS c, sum(n) AS s, min(n) AS a, max(n) AS b", rest=" GROUP BY dt"),
    Query("sums by partition", select="app, count(*) AS c, sum(amount) AS s", rest=" GROUP BY app"),
    Query("distinct", select="count(DISTINCT app) AS c, min(dt) AS a, max(dt) AS b"),
]  # fmt: skip
assert len(QUERIES) == 40
