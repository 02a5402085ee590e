"""Forty questions to eight readers after each stage of a table's life: `python -m tests.interop.readers`.

All answers must be those of ours on Arrow, or the reader must refuse the table for a reason that is listed here. Then
Delta's VACUUM and Iceberg's clean-ups are let loose on the exports, and must delete nothing; and ten predicates are
planned by each engine, to see how many files it reads. Maven fetches the jars the first time; one that cannot be had is
reported, and the program fails.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import peers
from coalesce.spark.session.attach import attach
from coalesce.spark.session.start import session
from coalesce.table.table import Table
from tests.interop import everything, reading
from tests.interop.clean_ups import let_loose, say
from tests.interop.pruning import files_read
from tests.interop.queries import QUERIES

# What a reader may refuse, by a text of its error: features of Delta that it does not know.
REFUSALS = {
    ("Polars, Delta", "after changes of columns"): "columnMapping",
    ("Polars, Delta", "after compaction"): "columnMapping",
    ("Polars, Delta", "after a wider type"): "typeWidening",
    ("delta-rs", "after a wider type"): "TypeWidening",
    ("DuckDB, Delta", "after a wider type"): "TypeWidening",
}


@dataclass
class Seen:
    """What was found."""

    agreed: int = 0
    refused: int = 0
    rows: int = 0
    wrong: list[str] = field(default_factory=list)


def names_of(table: Table) -> dict[str, str]:
    """What the columns are called that are renamed on the way."""
    renamed = "title" in table.schema.names
    return {"name": "title", "city": "town"} if renamed else {"name": "name", "city": "city"}


def spark_session(warehouse: Path) -> Any:
    """A session with both peers' jars; Delta has the session's catalog, and Iceberg one of its own."""
    delta, iceberg = peers.settings("delta", warehouse), peers.settings("iceberg", warehouse)
    both = {
        **delta,
        **iceberg,
        "spark.jars": f"{delta['spark.jars']},{iceberg['spark.jars']}",
        "spark.sql.extensions": f"{delta['spark.sql.extensions']},{iceberg['spark.sql.extensions']}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",  # so that a plan's own metrics can be looked at
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.databricks.delta.snapshotPartitions": "2",  # 50 tasks for a log of ten lines otherwise
        "spark.ui.enabled": "false",
    }
    spark = session("local[2]", **both)
    attach(spark)
    return spark


def readers(spark: Any, marked: str, purged: str) -> dict[str, Callable[[], reading.Reader]]:
    """Every reader; those of Delta that know no deletion vectors read the table whose removed rows were purged."""
    return {
        "coalesce on Spark": lambda: reading.on_spark(spark, "coalesce", marked),
        "PyIceberg": lambda: reading.pyiceberg(marked),
        "Polars, Iceberg": lambda: reading.polars_iceberg(marked),
        "DuckDB, Iceberg": lambda: reading.duckdb_iceberg(marked),
        "Spark, Iceberg's jar": lambda: reading.on_spark(spark, "iceberg", marked),
        "delta-rs": lambda: reading.delta_rs(marked),
        "DuckDB, Delta": lambda: reading.duckdb_delta(marked),
        "Spark, Delta's jar": lambda: reading.on_spark(spark, "delta", marked),
        "delta-rs, purged": lambda: reading.delta_rs(purged),
        "Polars, Delta": lambda: reading.polars_delta(purged),
    }


def compare(spark: Any, marked: Table, purged: Table, stage: str, seen: Seen) -> None:
    """All questions to all readers."""
    names = names_of(marked)
    ours = reading.coalesce_arrow(marked.location)
    expected = {query.name: reading.answer(ours(query, names)) for query in QUERIES}
    seen.rows = sum(sum(answers.values()) for answers in expected.values())
    for reader, make in readers(spark, marked.location, purged.location).items():
        began, right, refused = time.perf_counter(), 0, 0
        read: reading.Reader | None = None
        for query in QUERIES:
            try:
                read = make() if read is None else read
                found = reading.answer(read(query, names))
            except Exception as error:  # noqa: BLE001 - whatever a reader raises is its answer
                allowed = REFUSALS.get((reader.removesuffix(", purged"), stage))
                if allowed is None or allowed not in str(error):
                    seen.wrong.append(f"{stage}, {reader}, {query.name}: {str(error)[:300]}")
                refused += 1
                continue
            if found == expected[query.name]:
                right += 1
            else:
                seen.wrong.append(f"{stage}, {reader}, {query.name}: {sum(found.values())} rows")
        seen.agreed, seen.refused = seen.agreed + right, seen.refused + refused
        told = f"{right} of {len(QUERIES)} agree" + (f", {refused} refused" if refused else "")
        say(f"  {reader:22} {told:28} {time.perf_counter() - began:6.1f} s")


def main() -> int:
    """Run all of it; 1 if anything is otherwise than it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("questions", "clean-ups", "files"), help="one part of it")
    only = parser.parse_args().only
    missing = [f"{peer}: {why}" for peer in ("delta", "iceberg") if (why := peers.unavailable(peer))]
    if missing:
        sys.stderr.write("not to be had here, so nothing was compared: " + "; ".join(missing) + "\n")
        return 1
    seen = Seen()
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Path(directory)
        spark = spark_session(warehouse)
        marked, purged = everything.create(warehouse / "db" / "marked"), everything.create(warehouse / "db" / "purged")
        for stage, change in everything.STAGES.items():
            change(marked)
            change(purged)
            say(f"{stage}: {marked.export_iceberg()}, {marked.export_delta(dead_rows='mark')}")
            purged.export_delta(partitioned=False)
            if only in (None, "questions"):
                compare(spark, marked, purged, stage, seen)
        if only in (None, "clean-ups"):
            seen.wrong += let_loose(spark, marked, "lake.db.marked")
        if only in (None, "files"):
            say(files_read(spark, warehouse / "db" / "files"))
    say(f"{seen.agreed} answers agree, {seen.refused} refused for a known reason, {len(seen.wrong)} wrong")
    sys.stderr.writelines(f"{line}\n" for line in seen.wrong)
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
