"""FORMAT.md and the JSON Schema say what the code does: neither can drift from it unnoticed."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from coalesce.manifest.manifest_file import decode_manifest
from coalesce.manifest.paths import check_data_path, version_path
from coalesce.manifest.version_file import decode_version, encode_version
from coalesce.model.rule import Group
from coalesce.model.transforms import transform
from coalesce.model.types import PRIMITIVES
from coalesce.model.version import FORMAT_VERSION, READER_FEATURES, WRITER_FEATURES, Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import make_plan
from tests.builders import bound
from tests.manifest import independent
from tests.manifest.examples import EVERYTHING, TRANSFORMS, document_of, signed, versions
from tests.manifest.test_version_file import REQUIRED, parent_of, place
from tests.support.examples import examples

MANIFESTS = Path(__file__).parents[2] / "manifests"
EXAMPLE = MANIFESTS / "example"
FORMAT = (MANIFESTS / "FORMAT.md").read_text()
SCHEMA = json.loads((MANIFESTS / "schema" / "version.schema.json").read_text())

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


# --- the JSON Schema ---------------------------------------------------------------------------------------------


def test_the_schema_is_one() -> None:
    """Of the draft it names."""
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@settings(max_examples=examples(50))
@given(versions())
def test_every_version_fits_the_schema(version: Version) -> None:
    """Whatever the library writes."""
    VALIDATOR.validate(json.loads(encode_version(version)))


@pytest.mark.parametrize("path", REQUIRED, ids=place)
def test_the_schema_demands_what_the_reader_demands(path: tuple[str | int, ...]) -> None:
    """A member without which the reader refuses a version is one the schema requires, and of the same type."""
    for replacement in (None, {"a": "b"}):
        document = json.loads(encode_version(EVERYTHING))
        inside = parent_of(document, path)
        if replacement is None:
            del inside[path[-1]]
        elif path[-1] in ("summary", "properties"):
            continue
        else:
            inside[path[-1]] = replacement
        assert not VALIDATOR.is_valid(document)


def test_the_schema_knows_every_type() -> None:
    """A type the library gains has to be written down."""
    for name in [*PRIMITIVES, "decimal(38,10)"]:
        document: Any = json.loads(encode_version(EVERYTHING))
        document["schema"]["fields"][1]["type"] = name
        VALIDATOR.validate(document)
    document["schema"]["fields"][1]["type"] = "int128"
    assert not VALIDATOR.is_valid(document)


# --- the text ----------------------------------------------------------------------------------------------------


def test_the_text_names_every_type_transform_and_feature() -> None:
    """And nothing under these headings that the code does not have."""
    for name in PRIMITIVES:
        assert re.search(rf"`{name}`", FORMAT), name
    named = set(re.findall(r"^\| (`[a-z\[\]NW`, ]+) \|", section("6. Specs and transforms"), re.MULTILINE))
    transforms = {t for names in named for t in re.findall(r"`([^`]+)`", names)}
    assert transforms == {re.sub(r"\[\d+\]", lambda m: "[N]" if "64" in m[0] else "[W]", str(t)) for t in TRANSFORMS}
    assert all(transform(t.replace("N", "1").replace("W", "1")) for t in transforms)
    features = dict(re.findall(r"^\| `(\w+)` \| ([a-z, ]+) \|", section("10. Features"), re.MULTILINE))
    assert set(features) == READER_FEATURES | WRITER_FEATURES
    assert {name for name, who in features.items() if "reader" in who} == READER_FEATURES
    assert FORMAT.startswith(f"# The coalesce table format, version {FORMAT_VERSION}\n")


def test_the_text_names_every_member_of_a_version() -> None:
    """The table of members is that of the document, in its order."""
    listed = re.findall(r"^\| (`[^|]+`) \|", section("4. Version files"), re.MULTILINE)
    members = [name for names in listed for name in re.findall(r"`([^`]+)`", names)]
    assert members == list(json.loads(encode_version(EVERYTHING)))


def section(title: str) -> str:
    """The text under a heading."""
    start = FORMAT.index(f"\n## {title}\n")
    end = FORMAT.find("\n## ", start + 1)
    return FORMAT[start : end if end >= 0 else None]


# --- a reader made from the text ---------------------------------------------------------------------------------

GOLDEN = sorted(path.parent for path in (MANIFESTS / "golden").glob("v1/*/expected.json"))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda p: p.name)
def test_a_reader_written_from_the_text_reads_every_golden_table(golden: Path) -> None:
    """Without a line of the library: the same rows in every version, so the text says enough."""
    table = golden / "table"
    expected = json.loads((golden / "expected.json").read_text())
    assert independent.newest(table) == max(map(int, expected))
    for number, listed in expected.items():
        known = [f["name"] for f in independent.columns(independent.version(table, int(number)))]
        wanted = [{name: row[name] for name in known} for row in listed]
        found = [independent.as_text(row) for row in independent.rows(table, int(number))]
        assert sorted(found, key=repr) == sorted(wanted, key=repr)


# --- the worked example ------------------------------------------------------------------------------------------


def example() -> Version:
    """The version of the example."""
    return decode_version((EXAMPLE / version_path(1)).read_bytes(), 1)


def test_the_example_in_the_text_is_the_example() -> None:
    """Byte for byte, and a version like any other."""
    version_text, _ = re.findall(r"```json\n(.*?)```", section("15. A worked example"), re.DOTALL)
    data = (EXAMPLE / version_path(1)).read_bytes()
    assert version_text.encode() == data
    decoded = decode_version(data, 1)
    assert encode_version(decoded) == encode_version(decode_version(signed(document_of(decoded)), 1))
    VALIDATOR.validate(json.loads(data))


def test_the_example_s_manifest_is_what_the_text_says() -> None:
    """Its row, its inheritance, and which questions leave the file out."""
    _, entry_text = re.findall(r"```json\n(.*?)```", section("15. A worked example"), re.DOTALL)
    version = example()
    (ref,) = version.manifests
    data = (EXAMPLE / ref.path).read_bytes()
    (row,) = pq.read_table(EXAMPLE / ref.path).to_pylist()
    assert row == json.loads(entry_text)
    entries = decode_manifest(data, ref, version.spec)
    (file,) = entries.files()
    assert (file.first_row_id, file.added_version, file.physical_key) == (0, 1, (Group("[#small]"),))
    assert check_data_path(file.path, ref.path) == file.path
    index = ManifestIndex(entries)
    kept = {
        where: make_plan(version, bound(version, where), lambda refs: [index] * len(refs)).file_count
        for where in ("app = 'A'", "app = ''", "app IS NULL", "app = '[#small]'", "n > 12")
    }
    assert kept == {"app = 'A'": 0, "app = ''": 0, "app IS NULL": 1, "app = '[#small]'": 1, "n > 12": 0}
