"""Clean-ups of other formats, let loose on an exported table: each has to refuse, and no file may be gone."""

import sys
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from coalesce.table.table import Table

_LATER = "TIMESTAMP '2100-01-01 00:00:00'"


def say(line: str) -> None:
    """Tell it at once, to a file too."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def files_of(table: Table) -> set[Path]:
    """Every file below a table's directory."""
    return {path for path in Path(table.location).rglob("*") if path.is_file() and not path.name.endswith(".crc")}


def let_loose(spark: Any, table: Table, name: str) -> list[str]:
    """What went wrong: files that are gone, and clean-ups and writers that did not refuse."""
    place, wrong, before = table.location, [], files_of(table)
    statements = [
        f"VACUUM delta.`{place}` RETAIN 0 HOURS",
        f"VACUUM delta.`{place}` LITE RETAIN 0 HOURS",
        f"OPTIMIZE delta.`{place}`",
        f"DELETE FROM delta.`{place}` WHERE n = 3",
        f"INSERT INTO delta.`{place}` SELECT * FROM delta.`{place}`",
        f"CALL lake.system.remove_orphan_files(table => '{name.removeprefix('lake.')}', older_than => {_LATER})",
        f"CALL lake.system.expire_snapshots(table => '{name.removeprefix('lake.')}', older_than => {_LATER})",
    ]
    for statement in statements:
        try:
            spark.sql(statement).collect()
            wrong.append(f"not refused: {statement}")
            said = "was done"
        except Exception as error:  # noqa: BLE001 - whatever it raises is a refusal
            said = _reason(str(error))
        say(f"  {statement[:60]:62} {said}")
    try:
        DeltaTable(place).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True)
        wrong.append("not refused: delta-rs' vacuum")
    except Exception as error:  # noqa: BLE001 - likewise
        say(f"  {'vacuum(full=True) of delta-rs':62} {_reason(str(error))}")
    gone = before - files_of(table)
    say(f"  {len(before)} files before, {len(gone)} gone")
    return [*wrong, *(f"gone: {path}" for path in sorted(gone))]


def _reason(text: str) -> str:
    known = ("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "GC is disabled", "coalesceExport")
    return next((f"refused: {reason}" for reason in known if reason in text), f"refused: {text[:200]}")
