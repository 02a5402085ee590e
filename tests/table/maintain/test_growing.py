"""A logical partition that grows gets a physical one of its own, and gives it up when it has shrunk; nothing flaps."""

import random
from itertools import pairwise

import pyarrow as pa

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.model.rule import Group
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.stores import MemoryStorage

SCHEMA = pa.schema([("app", pa.string()), ("day", pa.int64()), ("text", pa.string())])
WIDE = 1000  # bytes that a row takes: so many, and of no pattern, that the sizes of files are known in advance


def table_of_apps(below: int) -> Table:
    """Partitioned by app; a day's rows are appended, and the table is compacted every night."""
    rule = coalesce.small("app", below=below)
    target = {"write.target-file-bytes": str(4 * below)}
    return create_table(
        MemoryStorage(), Engines(ArrowEngine()), SCHEMA, partition_by=["app"], rule=rule, properties=target
    )


def rows(app: str, day: int, count: int, chosen: random.Random) -> pa.Table:
    """Rows of an app."""
    texts = [chosen.randbytes(WIDE).hex() for _ in range(count)]
    return pa.table({"app": [app] * count, "day": [day] * count, "text": texts}, schema=SCHEMA)


def where_it_lies(table: Table, app: str) -> str:
    """`alone`, `shared`, or `both`."""
    keys = {f.physical_key for f in table.files(f"app = '{app}'")}
    kinds = {"shared" if key and isinstance(key[0], Group) else "alone" for key in keys}
    return kinds.pop() if len(kinds) == 1 else "both"


def test_an_app_that_grows_for_ten_days_and_shrinks_again() -> None:
    """Its physical partition over time: shared, alone, and shared again; each change once, and all answers exact."""
    below = 30_000
    table = table_of_apps(below)
    chosen = random.Random(7)
    expected: dict[str, int] = {}

    def check() -> str:
        for app, count in expected.items():
            assert table.count(f"app = '{app}'") == count
            assert table.scan(f"app = '{app}'").to_arrow().num_rows == count
        assert table.compact().files_before == 0, "a second run does nothing"
        check_files(core_of(table).storage, table.state, table.files())
        return where_it_lies(table, "grows")

    over_time = []
    for day in range(10):
        for app, count in (("steady-a", 2), ("steady-b", 1), ("grows", day)):
            if count:
                table.append(rows(app, day, count, chosen))
                expected[app] = expected.get(app, 0) + count
        table.compact()
        over_time.append(check() if day else "shared")
    for day in range(9, 0, -1):
        table.delete(f"app = 'grows' AND day = {day}")
        expected["grows"] -= day
        table.compact()
        if expected["grows"]:
            over_time.append(check())
    assert over_time[0] == "shared"
    assert over_time[9] == "alone"
    assert over_time[-1] == "shared"
    assert "both" not in over_time, over_time
    changes = sum(a != b for a, b in pairwise(over_time))
    assert changes == 2, over_time


def test_an_app_at_the_limit_stays_where_it_is() -> None:
    """A little more and a little less, every night: once it has a partition of its own it keeps it."""
    table = table_of_apps(20_000)
    chosen = random.Random(8)
    table.append(rows("other", 0, 3, chosen))
    table.append(rows("edge", 0, 22, chosen))
    table.compact()
    assert where_it_lies(table, "edge") == "alone"
    for night in range(1, 6):
        table.delete(f"app = 'edge' AND day = {night - 1}")
        table.append(rows("edge", night, 17 if night % 2 else 23, chosen))
        table.compact()
        assert where_it_lies(table, "edge") == "alone", night


def test_rows_that_take_less_than_their_neighbours() -> None:
    """By the file that it shares an app is large, by its own it is small: it moves once, and not back every night."""
    table = table_of_apps(120_000)
    chosen = random.Random(9)
    for day in range(3):
        alike = pa.table({"app": ["alike"] * 3000, "day": [0] * 3000, "text": ["same"] * 3000}, schema=SCHEMA)
        texts = [chosen.randbytes(30).hex() for _ in range(2000)]
        other = pa.table({"app": ["b", "c"] * 1000, "day": [day] * 2000, "text": texts}, schema=SCHEMA)
        table.append(pa.concat_tables([alike, other]))
    table.compact()
    assert where_it_lies(table, "alike") == "alone"
    assert table.compact().files_before == 0
    check_files(core_of(table).storage, table.state, table.files())
