"""Tables that earlier releases wrote are read as they were, and today's writer still writes the documented form."""

import json
import re
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.manifest.paths import version_path
from coalesce.table.table import core_of
from manifests.golden.make import TABLES, expected
from tests.checker import check_files

MANIFESTS = Path(__file__).parents[2] / "manifests"
GOLDEN = sorted(path.parent for path in (MANIFESTS / "golden").glob("v*/*/expected.json"))
VERSION_SCHEMA = json.loads((MANIFESTS / "schema" / "version.schema.json").read_text())


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_golden_tables_hold_the_rows_they_held(golden: Path) -> None:
    """Every version of every golden table, under the names it had."""
    assert expected(golden / "table") == json.loads((golden / "expected.json").read_text())


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_golden_tables_can_be_written_to(golden: Path, tmp_path: Path) -> None:
    """A table of an earlier release takes new rows, and its old ones stay."""
    for source in (golden / "table").rglob("*"):
        target = tmp_path / source.relative_to(golden / "table")
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    table = coalesce.open(tmp_path)
    before = table.count()
    table.append(table.scan().to_arrow().slice(0, 1))
    assert table.count() == before + 1


@pytest.mark.parametrize("name", TABLES)
def test_todays_writer_writes_the_documented_form(name: str, tmp_path: Path) -> None:
    """Version files fit the JSON Schema, manifests the table in FORMAT.md, and entries say what is in their files."""
    TABLES[name](tmp_path)
    table = coalesce.open(tmp_path)
    for version in table.history():
        document = json.loads((tmp_path / version_path(version.number)).read_bytes())
        jsonschema.validate(document, VERSION_SCHEMA)
        for ref in version.manifests:
            file = pq.ParquetFile(tmp_path / ref.path)
            check_manifest_form(file, [f.field_id for f in version.spec_by_id(ref.spec_id).fields], ref.spec_id)
    if name not in ("missing", "specs"):  # those have entries that say less, or specs of columns that are gone
        check_files(core_of(table).storage, table.state, table.files())


def check_manifest_form(file: pq.ParquetFile, field_ids: list[int], spec_id: int) -> None:
    """Fail unless the manifest has every column FORMAT.md demands, of its type, and none that it does not know."""
    metadata = file.metadata.metadata
    assert metadata[b"coalesce.format_version"] == b"1"
    assert metadata[b"coalesce.spec_id"] == str(spec_id).encode()
    found = {f.name: f.type for f in file.schema_arrow}
    documented = documented_columns()
    for name, type_ in documented.items():
        if "<c>" in name:
            continue
        for column in [name.replace("<f>", str(i)) for i in field_ids] if "<f>" in name else [name]:
            if column in ("dead", "ordered") and column not in found:
                continue  # there are none, or it is said of none
            stored = found.pop(column)
            if type_ in ("tuples", "dead"):
                further = ["rows"] if type_ == "tuples" else ["rows", "place", "since"]
                assert [m.name for m in stored.value_type] == [*(f"f{i}" for i in field_ids), *further]
            elif type_ != "any":
                assert str(stored) == type_
    patterns = [re.compile(re.escape(n).replace("<c>", r"\d+")) for n in documented if "<c>" in n]
    assert all(any(p.fullmatch(name) for p in patterns) for name in found), found
    for name, type_ in found.items():
        if name.startswith(("null_count_", "nan_count_")):
            assert type_ == pa.int64()


def documented_columns() -> dict[str, str]:
    """The table of columns in FORMAT.md: name and type, `any` where the type is the field's own."""
    text = (MANIFESTS / "FORMAT.md").read_text()
    section = text[text.index("an entry, at most") : text.index("\n## 9.")]
    rows = re.findall(r"^\| (`[a-z_<>cf`, ]+`) \| ([^|]+) \| [^|]+ \|$", section, re.MULTILINE)
    columns = {}
    for names, type_ in rows:
        plain = type_.partition(" (")[0].strip()
        listed = "dead" if "place" in plain else "tuples"
        kind = "any" if plain in ("*T*", "*C*") else listed if plain.startswith("list<") else plain
        for name in re.findall(r"`([^`]+)`", names):
            columns[name] = {"boolean": "bool"}.get(kind, kind)
    return columns


def test_the_document_lists_the_columns() -> None:
    """The table in FORMAT.md is found and read: this suite cannot pass by finding nothing."""
    columns = documented_columns()
    assert {"path", "rows", "bytes", "tuples", "complete", "physical_value_<f>", "lower_<c>", "nan_count_<c>"} <= set(
        columns
    )
    assert len(columns) == 17
