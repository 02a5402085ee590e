"""A reader written from FORMAT.md alone: JSON, SHA-256 and Parquet, and nothing of the library it is to check.

It reads whole versions and prunes nothing. If it needs something that FORMAT.md does not say, FORMAT.md is at fault.
"""

import datetime as dt
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

ARROW = {"string": pa.string(), "int64": pa.int64(), "date": pa.date32(), "timestamp_ntz": pa.timestamp("us")}


def newest(table: Path) -> int:
    """Section 3, without the hint."""
    found = (re.fullmatch(r"(\d{20})\.json", f.name) for f in (table / "_coalesce/versions").iterdir())
    numbers = sorted(int(match[1]) for match in found if match)
    kept_from = version(table, numbers[-1]).get("retained_from", 0)
    kept = [number for number in numbers if number >= kept_from]
    assert kept == list(range(kept[0], numbers[-1] + 1))
    return numbers[-1]


def version(table: Path, number: int) -> dict[str, Any]:
    """Section 4."""
    data = (table / f"_coalesce/versions/{number:020d}.json").read_bytes()
    assert data[-85:-67] == b',"digest":"sha256:'
    assert data[-3:] == b'"}\n'
    assert hashlib.sha256(data[:-67] + b"0" * 64 + data[-3:]).hexdigest().encode() == data[-67:-3]
    document: dict[str, Any] = json.loads(data)
    assert document["format_version"] == 1
    assert document["version"] == number
    assert set(document["reader_features"]) <= {"logicalPartitions", "deadTuples"}
    return document


def entries(table: Path, document: dict[str, Any]) -> list[Row]:
    """Section 8, with versions and row ids inherited."""
    found = []
    for ref in document["manifests"]:
        data = (table / ref["path"]).read_bytes()
        assert len(data) == ref["length"]
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == ref["digest"]
        file = pq.ParquetFile(io.BytesIO(data))
        assert file.metadata.metadata[b"coalesce.spec_id"] == str(ref["spec_id"]).encode()
        next_row_id = ref["first_row_id"]
        rows = file.read().to_pylist()
        assert len(rows) == ref["files"]
        for entry in rows:
            assert not re.search(r"^$|^[/~]|\\|\0|^[A-Za-z][A-Za-z0-9+.-]*:|(^|/)(|\.|\.\.)(/|$)", entry["path"])
            assert "_coalesce" not in entry["path"].lower().split("/")
            if entry["added_version"] is None:
                entry["added_version"] = ref["added_version"]
            if entry["first_row_id"] is None:
                entry["first_row_id"] = next_row_id
                next_row_id += entry["rows"]
            found.append({**entry, "spec_id": ref["spec_id"]})
    assert len({e["path"] for e in found}) == len(found)
    return found


def columns(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns of the types that this reader knows."""
    return [f for f in document["schema"]["fields"] if str(f["type"]) in ARROW]


def rows(table: Path, number: int) -> list[Row]:
    """Section 11: columns by id, defaults for those a file lacks, types as they are now."""
    document = version(table, number)
    found: list[Row] = []
    for entry in entries(table, document):
        read = pq.ParquetFile(table / entry["path"]).read()
        dead = entry.get("dead") or []
        assert read.num_rows == entry["rows"] + sum(d["rows"] for d in dead)
        by_id = {int((f.metadata or {})[b"PARQUET:field_id"]): i for i, f in enumerate(read.schema)}
        values = {}
        for field in columns(document):
            if field["id"] in by_id:
                values[field["name"]] = read.column(by_id[field["id"]]).cast(ARROW[field["type"]]).to_pylist()
            else:
                values[field["name"]] = [field.get("default")] * read.num_rows
        gone = {_components(document, entry, d) for d in dead}
        sources = [name for name, _ in _sources(document, entry)] if gone else []
        lives = []
        for i in range(read.num_rows):
            row = {name: column[i] for name, column in values.items()}
            lives.append(not gone or tuple(row[name] for name in sources) not in gone)
            if lives[-1]:
                found.append(row)
        if entry.get("ordered"):
            assert _lives_by_counts(entry, dead) == lives
    return found


def _lives_by_counts(entry: Row, dead: list[Row]) -> list[bool]:
    """Section 8: which rows are live, by the counts of all tuples in their order."""
    told = [(t["rows"], True) for t in entry["tuples"]]
    for d in sorted(dead, key=lambda d: int(d["place"])):
        told.insert(d["place"], (d["rows"], False))
    return [live for count, live in told for _ in range(count)]


def _sources(document: dict[str, Any], entry: Row) -> list[tuple[str, str]]:
    """The columns that an entry's tuples are made of, and the member of a tuple that each is in."""
    spec = next(s for s in document["specs"] if s["spec_id"] == entry["spec_id"])
    names = {f["id"]: f["name"] for f in document["schema"]["fields"]}
    identities = [f for f in spec["fields"] if f["transform"] == "identity" and f["source_id"] in names]
    return [(names[f["source_id"]], f"f{f['field_id']}") for f in identities]


def _components(document: dict[str, Any], entry: Row, tuple_: Row) -> tuple[Any, ...]:
    types = {f["name"]: ARROW[f["type"]] for f in columns(document)}
    found = _sources(document, entry)
    return tuple(pa.scalar(tuple_[member]).cast(types[name]).as_py() for name, member in found)


def as_text(row: Row) -> dict[str, str]:
    """A row as `expected.json` has it."""
    return {name: _text(value) for name, value in row.items()}


def _text(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case dt.date():
            return value.isoformat()
        case _:
            return str(value)
