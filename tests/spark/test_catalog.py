"""A catalog of coalesce tables: names, namespaces, CREATE, ALTER and DROP, as users of Spark know them."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import coalesce
from coalesce.errors import InvalidArgument
from coalesce.model.rule import BySize
from coalesce.model.spec import field_text
from tests.spark.lakes import COLUMNS, Lake, attached, events
from tests.support.settings import CASE_SENSITIVE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A catalog with a namespace `db` and a table `events` in it."""
    with attached(spark, tmp_path_factory.mktemp("lake")) as found:
        found.sql("CREATE NAMESPACE lake.db")
        events(found)
        yield found


@pytest.fixture
def made(lake: Lake) -> Iterator[Lake]:
    """The same, with a namespace `made` that goes after the test with all that is in it."""
    lake.sql("CREATE NAMESPACE lake.made")
    yield lake
    lake.sql("DROP NAMESPACE IF EXISTS lake.made CASCADE")


def refused(lake: Lake, statement: str, words: str) -> None:
    """The statement fails with these words."""
    with pytest.raises(PySparkException, match=f"(?s){words}"):
        lake.sql(statement)


def fields(lake: Lake, name: str) -> list[str]:
    """What a table is partitioned by."""
    table = lake.table(name)
    return [field_text(f, table.schema) for f in table.state.spec.fields]


# --- the catalog itself ------------------------------------------------------------------------------------------


def test_a_catalog_belongs_to_its_session(lake: Lake, tmp_path: Path) -> None:
    """newSession() does not have it and can be given it; under one name a session has one warehouse."""
    other = lake.spark.newSession()
    with pytest.raises(PySparkException):
        other.table("lake.db.events").count()
    coalesce.attach(other, catalog="lake", warehouse=lake.root)
    assert other.table("lake.db.events").count() == 3
    coalesce.attach(other, catalog="lake", warehouse=f"file://{lake.root}")  # once more: harmless
    with pytest.raises(InvalidArgument, match="has a catalog lake already"):
        coalesce.attach(other, catalog="lake", warehouse=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_one_name_in_two_sessions(lake: Lake, tmp_path: Path) -> None:
    """Each has a warehouse of its own by it, also where another session is the active one."""
    other = lake.spark.newSession()
    coalesce.attach(other, catalog="lake", warehouse=tmp_path / "own")
    assert lake.spark.table("lake.db.events").count() == 3
    other.sql("CREATE TABLE lake.mine (k BIGINT)")
    assert [row.tableName for row in other.sql("SHOW TABLES IN lake").collect()] == ["mine"]
    assert lake.spark.table("lake.db.events").count() == 3


def test_two_catalogs(lake: Lake, tmp_path: Path) -> None:
    """Tables of the same name in two catalogs are two tables, also in one query."""
    coalesce.attach(lake.spark, catalog="pond", warehouse=tmp_path)
    lake.sql("CREATE NAMESPACE pond.db")
    lake.sql("CREATE TABLE pond.db.events AS SELECT 7L AS k")
    joined = "SELECT a.k, b.k FROM lake.db.events a FULL JOIN pond.db.events b ON a.k = b.k ORDER BY a.k, b.k"
    assert lake.sql(joined) == [(None, 7), (1, None), (2, None), (3, None)]
    assert lake.numbers("pond.db.events") == [7]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"catalog": "lake2"}, "a name and a warehouse"),
        ({"catalog": "a.b", "warehouse": "w"}, "cannot be the name of a catalog"),
        ({"catalog": "spark_catalog", "warehouse": "w"}, "cannot be the name of a catalog"),
        ({"catalog": "lake2", "warehouse": "s3://bucket/lake"}, "a directory on this machine"),
        ({"catalog": "lake2", "warehouse": ""}, "a directory, such as"),
        ({"catalog": "lake2", "warehouse": "{root}/db/events"}, "there is a coalesce table at"),
        ({"catalog": "lake2", "warehouse": "{root}/db/events/data"}, "there is a coalesce table at"),
        (
            {"catalog": "lake2", "warehouse": "{root}/a-file"},
            "cannot be the warehouse|NotADirectory|Not a directory|exists",
        ),
    ],
)
def test_what_cannot_be_a_catalog(lake: Lake, arguments: dict[str, str], words: str) -> None:
    """It is refused in a sentence, and no setting is left."""
    (lake.root / "a-file").touch()
    given = {name: value.replace("{root}", str(lake.root)) for name, value in arguments.items()}
    try:
        with pytest.raises((InvalidArgument, PySparkException), match=words):
            coalesce.attach(lake.spark, **given)
    finally:
        (lake.root / "a-file").unlink()
    assert lake.spark.conf.get("spark.sql.catalog.lake2", None) is None


# --- namespaces --------------------------------------------------------------------------------------------------


def test_namespaces_are_directories(made: Lake) -> None:
    """CREATE, SHOW and DROP NAMESPACE; nested ones; what is not empty goes with CASCADE only."""
    made.sql("CREATE NAMESPACE lake.made.inner")
    made.sql("CREATE NAMESPACE IF NOT EXISTS lake.made.inner")
    assert (made.root / "made" / "inner").is_dir()
    assert made.sql("SHOW NAMESPACES IN lake") == [("db",), ("made",)]
    assert made.sql("SHOW NAMESPACES IN lake.made") == [("made.inner",)]
    made.sql("CREATE TABLE lake.made.inner.t AS SELECT 1L AS k")
    assert made.sql("SELECT t.k, lake.made.inner.t.k, inner.t.k FROM lake.made.inner.t") == [(1, 1, 1)]
    assert made.sql("DESCRIBE NAMESPACE lake.made")[2] == ("Location", str(made.root / "made"))
    refused(made, "DROP NAMESPACE lake.made", "SCHEMA_NOT_EMPTY")
    refused(made, "CREATE NAMESPACE lake.made", "SCHEMA_ALREADY_EXISTS")
    refused(made, "CREATE NAMESPACE lake.nothing.inner", "from the left")
    refused(made, "CREATE NAMESPACE lake.new COMMENT 'x'", "leave out COMMENT")
    refused(made, "COMMENT ON NAMESPACE lake.made IS 'x'", "is a directory")
    refused(made, "SHOW TABLES IN lake.nothing", "SCHEMA_NOT_FOUND")
    made.sql("DROP NAMESPACE lake.made CASCADE")
    assert not (made.root / "made").exists()
    refused(made, "DROP NAMESPACE lake.made", "SCHEMA_NOT_FOUND")


def test_a_drop_that_would_take_more_along_takes_nothing(made: Lake) -> None:
    """CASCADE and DROP TABLE leave everything alone if there is a file, a link or another table where none belongs."""
    made.sql("CREATE TABLE lake.made.t AS SELECT 1L AS k")
    stray = made.root / "made" / "notes.txt"
    stray.write_text("mine")
    refused(made, "DROP NAMESPACE lake.made CASCADE", "notes.txt is neither a table nor a namespace")
    stray.unlink()
    link = made.root / "made" / "link"
    link.symlink_to(made.root / "db" / "events")
    assert made.sql("SHOW TABLES IN lake.made") == [("made", "t", False)]
    refused(made, "SELECT * FROM lake.made.link", "TABLE_OR_VIEW_NOT_FOUND")
    refused(made, "DROP TABLE lake.made.link", "TABLE_OR_VIEW_NOT_FOUND")
    refused(made, "CREATE TABLE lake.made.link (k INT)", "a file or a link has that name")
    refused(made, "DROP NAMESPACE lake.made CASCADE", "link is neither")
    link.unlink()
    coalesce.create(made.root / "made" / "t" / "inside", made.table("made/t").schema)
    refused(made, "DROP TABLE lake.made.t", "another coalesce table inside of it")
    assert made.numbers("lake.made.t") == [1]
    (made.root / "made" / "t" / "inside" / "_coalesce").rename(made.root / "made" / "t" / "inside" / "gone")
    made.sql("DROP TABLE lake.made.t PURGE")
    assert made.numbers("lake.db.events") == [1, 2, 3]


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["..", ".", "x/y", "_x", ".x", "", "a\tb", "x" * 256])
def test_names_that_are_refused(lake: Lake, name: str) -> None:
    """Names that would lie elsewhere, or are hidden, are not made; and to be asked for them is no error."""
    for statement in (
        "CREATE TABLE lake.db.`{}` (k INT)",
        "CREATE NAMESPACE lake.db.`{}`",
        "CREATE TABLE lake.`{}`.t AS SELECT 1 AS k",
    ):
        refused(lake, statement.format(name), "cannot be a name in the catalog lake|SCHEMA_NOT_FOUND")
    if name:
        assert not lake.spark.catalog.tableExists(f"lake.db.`{name}`")
    assert [p.name for p in lake.root.iterdir()] == ["db"]


def test_names_may_be_odd(made: Lake) -> None:
    """Blanks, dots, quotes, percent signs and letters of any script: a directory of just that name."""
    name = "a b.c`d ü%41#?:*'"
    quoted = "lake.made.`" + name.replace("`", "``") + "`"
    made.sql(f"CREATE TABLE {quoted} (`my col` STRING, `a.b` BIGINT) PARTITIONED BY (`my col`)")
    made.sql(f"INSERT INTO {quoted} VALUES ('x', 1), ('y', 2)")
    made.sql(f"INSERT OVERWRITE {quoted} PARTITION (`my col` = 'x') SELECT 3L")
    assert made.sql(f"SELECT * FROM {quoted} ORDER BY `a.b`") == [("y", 2), ("x", 3)]
    assert made.sql(f"SELECT `my col`, rows FROM {quoted}.partitions ORDER BY 1") == [("x", 1), ("y", 1)]
    call = "made.`" + name.replace("`", "``") + "`"
    assert made.sql(f'CALL lake.system.check("{call}")') == []
    assert (made.root / "made" / name / "_coalesce").is_dir()
    made.sql(f"DROP TABLE {quoted}")
    assert not (made.root / "made" / name).exists()


def test_names_are_case_sensitive(made: Lake) -> None:
    """As directories are, whatever the session says of columns."""
    made.sql("CREATE TABLE lake.made.Events AS SELECT 5L AS k")
    made.sql("CREATE TABLE lake.made.events AS SELECT 6L AS k")
    for setting in ("true", "false"):
        with changed(made.spark, {CASE_SENSITIVE: setting}):
            assert made.numbers("lake.made.Events") == [5]
            assert made.numbers("lake.made.events") == [6]
            joined = "SELECT a.k, b.k FROM lake.made.Events a CROSS JOIN lake.made.events b"
            assert made.sql(joined) == [(5, 6)]
            refused(made, "SELECT * FROM lake.made.EVENTS", "TABLE_OR_VIEW_NOT_FOUND")


def test_a_table_without_a_namespace(lake: Lake) -> None:
    """It lies in the warehouse itself."""
    lake.sql("CREATE TABLE lake.top AS SELECT 1L AS k")
    try:
        assert lake.sql("SELECT lake.top.k, top.k FROM lake.top") == [(1, 1)]
        assert lake.sql("SHOW TABLES IN lake") == [("", "top", False)]
        assert lake.sql("SELECT rows FROM lake.top.files") == [(1,)]
    finally:
        lake.sql("DROP TABLE lake.top")


def test_tables_and_namespaces_share_their_names(made: Lake) -> None:
    """A name is a table or a namespace, never both: so `lake.db.events.files` means one thing."""
    made.sql("CREATE NAMESPACE lake.made.x")
    made.sql("CREATE TABLE lake.made.x.files AS SELECT 8L AS k")
    refused(made, "CREATE TABLE lake.made.x (k INT)", "there is a namespace lake.made.x already")
    refused(made, "CREATE TABLE lake.made.x AS SELECT 1 AS k", "there is a namespace lake.made.x already")
    refused(made, "CREATE NAMESPACE lake.db.events", "there is a table of the name")
    refused(made, "CREATE TABLE lake.db.events.files (k INT)", "ALREADY_EXISTS")
    assert made.numbers("lake.made.x.files") == [8]


def test_many_tables(made: Lake) -> None:
    """Two hundred tables in a namespace are listed by their directories; none is opened for it."""
    made.sql("CREATE TABLE lake.made.t0 AS SELECT 1L AS k")
    for number in range(1, 200):
        (made.root / "made" / f"t{number}" / "_coalesce").mkdir(parents=True)
    assert len(made.sql("SHOW TABLES IN lake.made")) == 200
    assert made.sql("SHOW TABLES IN lake.made LIKE 't19*'")[0] == ("made", "t19", False)
    refused(made, "SELECT * FROM lake.made.t7", "TABLE_OR_VIEW_NOT_FOUND")  # a directory in which nothing was made


# --- CREATE, ALTER, DROP TABLE -----------------------------------------------------------------------------------


def test_create_table_keeps_what_it_is_told(made: Lake) -> None:
    """Columns, comments, transforms, properties, a rule; and SHOW CREATE TABLE says it again."""
    made.sql(
        "CREATE TABLE lake.made.t (ts TIMESTAMP NOT NULL COMMENT 'when', id BIGINT, s STRING) USING coalesce "
        "PARTITIONED BY (days(ts), bucket(16, id), truncate(2, s)) COMMENT 'all of them' "
        "OPTIONS (smallColumns 'id_bucket', smallBelow '1MB') TBLPROPERTIES ('write.layout' = 'known', 'team' = 'x')"
    )
    table = made.table("made/t")
    assert fields(made, "made/t") == ["day(ts)", "bucket(16, id)", "truncate(2, s)"]
    assert [f.required for f in table.schema] == [True, False, False]
    assert isinstance(table.state.rule, BySize)
    assert dict(table.state.properties) == {"write.layout": "known", "team": "x", "comment": "all of them"}
    ((statement,),) = made.sql("SHOW CREATE TABLE lake.made.t")
    for part in ("'when'", "PARTITIONED BY (day(ts), bucket(16, id), truncate(2, s))", "'all of them'", "'team' = 'x'"):
        assert part in statement
    described = made.sql("DESCRIBE EXTENDED lake.made.t")
    assert ("ts", "timestamp", "when") in described
    assert ("Part 0", "day(ts)", "") in described
    assert ("Provider", "coalesce", "") in described
    made.sql("DROP TABLE lake.made.t")
    made.sql(statement)
    assert fields(made, "made/t") == ["day(ts)", "bucket(16, id)", "truncate(2, s)"]


REFUSED = {
    "CREATE TABLE lake.made.x (k INT) USING parquet": "are coalesce tables: leave out USING parquet",
    "CREATE TABLE lake.made.x USING parquet AS SELECT 1 AS k": "are coalesce tables: leave out USING parquet",
    "CREATE TABLE lake.made.x (k INT) USING coalesce LOCATION '/nowhere'": "leave out LOCATION",
    "CREATE TABLE lake.made.x (k INT) OPTIONS (version '3')": "smallColumns, smallBelow, targetFileSize",
    "CREATE TABLE lake.made.x (k INT) TBLPROPERTIES ('write.nonsense' = '1')": "no property 'write.nonsense'",
    "CREATE TABLE lake.made.x (k CHAR(3))": "declare it as STRING",
    "CREATE TABLE lake.made.x (k INT DEFAULT 3)": "column default value",
    "CREATE TABLE lake.made.x (k INT) CLUSTER BY (k)": r"PARTITIONED BY \(bucket",
    "CREATE TABLE lake.nothing.x (k INT)": "SCHEMA_NOT_FOUND",
    "CREATE TABLE lake.nothing.x AS SELECT 1 AS k": "SCHEMA_NOT_FOUND",
    "CREATE TABLE lake.made.x AS SELECT 1 / 0 AS k": "DIVIDE_BY_ZERO",
    "CREATE TABLE lake.db.events (k INT)": "ALREADY_EXISTS",
    "CREATE TABLE lake.db.events AS SELECT 1 AS k": "ALREADY_EXISTS",
    "REPLACE TABLE lake.made.x (k INT)": "NOT_FOUND",
    "ALTER TABLE lake.db.events RENAME TO lake.db.other": "CREATE TABLE … AS SELECT",
    "ALTER TABLE lake.db.events SET LOCATION '/nowhere'": "it lies in its warehouse",
    "ALTER TABLE lake.db.events ADD COLUMN z INT NOT NULL": "without a default",
    "ALTER TABLE lake.db.events ADD COLUMN z INT DEFAULT 3": "leave DEFAULT out",
    "ALTER TABLE lake.db.events ALTER COLUMN k TYPE STRING": "possible are wider integers",
    "ALTER TABLE lake.db.events ALTER COLUMN k DROP NOT NULL": "said when it is made",
    "ALTER TABLE lake.db.events DROP COLUMN app": "evolve",
    "ALTER TABLE lake.db.events SET TBLPROPERTIES ('write.nonsense' = '1')": "no property 'write.nonsense'",
    "ALTER TABLE lake.db.events CLUSTER BY (k)": r"system\.evolve",
    "ALTER TABLE lake.db.events ADD PARTITION (dt = '2026-05-01', app = 'A')": "what its rows say",
    "ALTER TABLE lake.db.events DROP PARTITION (dt = '2026-05-01', app = 'A')": "DELETE FROM",
    "TRUNCATE TABLE lake.db.events PARTITION (dt = '2026-05-01', app = 'A')": "DELETE FROM",
    "MSCK REPAIR TABLE lake.db.events": "what its rows say",
    "SHOW PARTITIONS lake.db.events": r"SELECT \* FROM lake.db.events.partitions",
    "ANALYZE TABLE lake.db.events COMPUTE STATISTICS": "has its statistics already",
    "LOAD DATA INPATH '/nowhere' INTO TABLE lake.db.events": "spark.read",
    "DROP TABLE lake.db.nothing": "NOT_FOUND",
}


def test_what_is_refused_touches_nothing(made: Lake) -> None:
    """Everything that the catalog does not do says what to write instead, and leaves nothing behind."""
    before = {(str(p), p.stat().st_mtime_ns) for p in made.root.rglob("*") if p.is_file()}
    for statement, words in REFUSED.items():
        refused(made, statement, words)
    assert {(str(p), p.stat().st_mtime_ns) for p in made.root.rglob("*") if p.is_file()} == before
    assert made.sql("SHOW TABLES IN lake.made") == []
    assert made.sql("SHOW NAMESPACES IN lake.made") == []
    made.sql("DROP TABLE IF EXISTS lake.db.nothing")
    made.sql("CREATE TABLE IF NOT EXISTS lake.db.events (z INT)")
    assert made.numbers("lake.db.events") == [1, 2, 3]


def test_alter_table_is_one_commit(made: Lake) -> None:
    """Columns are added, at a place too, renamed, dropped, moved, widened and commented; properties set and unset."""
    made.sql("CREATE TABLE lake.made.t (a INT, s STRUCT<x: INT>) TBLPROPERTIES ('team' = 'x')")
    made.sql("INSERT INTO lake.made.t VALUES (1, named_struct('x', 2))")
    made.sql("ALTER TABLE lake.made.t ADD COLUMNS (b STRING COMMENT 'bee' FIRST, c DATE AFTER a, s.y INT)")
    assert made.table("made/t").version == 2
    made.sql("ALTER TABLE lake.made.t RENAME COLUMN c TO d")
    made.sql("ALTER TABLE lake.made.t DROP COLUMNS (s.x)")
    made.sql("ALTER TABLE lake.made.t ALTER COLUMN a TYPE BIGINT")
    made.sql("ALTER TABLE lake.made.t ALTER COLUMN a FIRST")
    made.sql("ALTER TABLE lake.made.t ALTER COLUMN d COMMENT 'dee'")
    made.sql("ALTER TABLE lake.made.t SET TBLPROPERTIES ('team' = 'y', 'more' = 'z')")
    made.sql("ALTER TABLE lake.made.t UNSET TBLPROPERTIES ('team')")
    made.sql("COMMENT ON TABLE lake.made.t IS 'said'")
    assert made.sql("SHOW TBLPROPERTIES lake.made.t") == [("more", "z")]
    described = made.sql("DESCRIBE lake.made.t")
    assert described == [
        ("a", "bigint", None), ("b", "string", "bee"), ("d", "date", "dee"), ("s", "struct<y:int>", None)
    ]  # fmt: skip
    assert made.sql("SELECT a, b, d, s.y FROM lake.made.t") == [(1, None, None, None)]
    assert made.table("made/t").version == 10
    refused(made, "ALTER TABLE lake.made.t ADD COLUMNS (e INT, f INT NOT NULL)", "without a default")
    assert made.table("made/t").schema.names == ("a", "b", "d", "s")


def test_replace_table_keeps_the_history(made: Lake) -> None:
    """CREATE OR REPLACE begins again in one commit, also from its own rows; older versions are still there."""
    made.sql("CREATE OR REPLACE TABLE lake.made.t PARTITIONED BY (k) AS SELECT 1L AS k UNION ALL SELECT 2L")
    made.sql("CREATE OR REPLACE TABLE lake.made.t PARTITIONED BY (bucket(4, n)) AS SELECT k + 10 AS n FROM lake.made.t")
    assert made.sql("SELECT n FROM lake.made.t ORDER BY n") == [(11,), (12,)]
    assert fields(made, "made/t") == ["bucket(4, n)"]
    made.sql("REPLACE TABLE lake.made.t (z STRING)")
    assert made.sql("SELECT z FROM lake.made.t") == []
    counted = "SELECT version, operation, rows_added, rows_removed FROM lake.made.t.history ORDER BY version"
    assert made.sql(counted) == [
        (0, "create", None, None),
        (1, "append", 2, 0),
        (2, "replace", 2, 2),
        (3, "replace", 0, 2),
    ]
    assert made.numbers("lake.made.t VERSION AS OF 1") == [1, 2]
    refused(made, "CREATE OR REPLACE TABLE lake.made.t AS SELECT 1 / 0 AS k", "DIVIDE_BY_ZERO")
    assert made.table("made/t").version == 3


def test_a_dropped_table_is_gone_at_once(made: Lake) -> None:
    """Its directory goes; a frame that was made of it fails, a name that is used again is another table."""
    events(made, "made.t")
    frame = made.spark.table("lake.made.t")
    assert frame.where("k > 1").count() == 2  # that it was asked before changes nothing
    made.sql("DROP TABLE lake.made.t")
    assert list((made.root / "made").iterdir()) == []
    for old in (frame, frame.where("k > 1"), frame.where("app = 'A'")):
        with pytest.raises(PySparkException, match=r"TableNotFound: .*made/t"):
            old.collect()
    refused(made, "SELECT * FROM lake.made.t", "TABLE_OR_VIEW_NOT_FOUND")
    made.sql("CREATE TABLE lake.made.t AS SELECT 9L AS k")
    assert made.numbers("lake.made.t") == [9]
    with pytest.raises(PySparkException, match=r"VersionNotFound: .*made/t"):
        frame.where("k > 1").collect()


def test_the_catalog_of_python(lake: Lake) -> None:
    """spark.catalog and spark.table know the tables; USE makes names short."""
    catalog = lake.spark.catalog
    assert [(t.name, t.catalog, t.namespace) for t in catalog.listTables("lake.db")] == [("events", "lake", ["db"])]
    assert catalog.tableExists("lake.db.events")
    assert [c.name for c in catalog.listColumns("lake.db.events")] == ["dt", "app", "k"]
    assert lake.spark.table("lake.db.events").count() == 3
    lake.sql("USE lake.db")
    try:
        assert lake.numbers("events") == [1, 2, 3]
        assert lake.sql("SELECT count(*) FROM lake.db.events.files") == [(3,)]
    finally:
        lake.sql("USE spark_catalog.default")


def test_columns_are_what_they_were_declared(lake: Lake) -> None:
    """A frame keeps its columns when the table's change between two of its queries."""
    lake.sql(f"CREATE TABLE lake.db.kept ({COLUMNS})")
    lake.sql("INSERT INTO lake.db.kept VALUES (DATE '2026-05-01', 'A', 1)")
    frame = lake.spark.table("lake.db.kept")
    assert frame.count() == 1
    lake.sql("ALTER TABLE lake.db.kept RENAME COLUMN app TO program")
    lake.sql("INSERT INTO lake.db.kept VALUES (DATE '2026-05-01', 'B', 2)")
    assert [row.app for row in frame.collect()] == ["A"]
    assert lake.spark.table("lake.db.kept").columns == ["dt", "program", "k"]
    lake.sql("DROP TABLE lake.db.kept")
