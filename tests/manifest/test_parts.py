"""Reading a version after another one gives what reading it alone gives, and reads only what is new."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.errors import CorruptMetadata
from coalesce.manifest import version_document
from coalesce.manifest.document import Node, parse
from coalesce.manifest.parts import Parts
from coalesce.manifest.version_file import decode_version, encode_version
from coalesce.model.version import FieldBounds, Version
from tests.manifest.examples import EVERYTHING, document_of, signed, versions
from tests.support.examples import examples


def warm(version: Version = EVERYTHING) -> Parts:
    """Parts that know a version."""
    parts = Parts()
    decode_version(encode_version(version), version.number, parts)
    return Parts(parts)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(versions(), min_size=2, max_size=4))
def test_any_version_after_any_other_is_read_as_it_is(several: list[Version]) -> None:
    """Of the same table or of another one, with parts in common or none: no bit is different, each time."""
    parts = Parts()
    for version in [*several, *several]:
        parts = Parts(parts)
        data = encode_version(version)
        assert encode_version(decode_version(data, version.number, parts)) == data


def test_what_stood_in_the_last_version_is_the_same_object() -> None:
    """The schema and the manifests are held once for both; a manifest that is new is read."""
    first = decode_version(encode_version(EVERYTHING), 7, parts := Parts())
    (*kept, gone) = EVERYTHING.manifests
    new = replace(gone, path="_coalesce/manifests/new.parquet")
    second = decode_version(encode_version(replace(EVERYTHING, manifests=(*kept, new))), 7, Parts(parts))
    assert second.schema is first.schema
    assert all(a is b for a, b in zip(second.manifests, first.manifests[:-1], strict=False))
    assert second.manifests[-1].path == new.path


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that adds a manifest to many looks closely at one."""
    gone = EVERYTHING.manifests[-1]
    many = tuple(replace(gone, path=f"_coalesce/manifests/m{i}.parquet") for i in range(50))
    parts = warm(replace(EVERYTHING, manifests=many[:-1]))
    read: list[Node] = []
    whole = version_document._read_bounds

    def counting(node: Node, rows: int) -> FieldBounds:
        read.append(node)
        return whole(node, rows)

    monkeypatch.setattr(version_document, "_read_bounds", counting)
    decode_version(encode_version(replace(EVERYTHING, manifests=many)), 7, parts)
    assert len(read) == len(gone.bounds or ())


AWKWARD = [
    ',"schema":{"fields":',
    '},"max_column_id":',
    ',"manifests":[{"path":',
    '}],"digest":',
    '},{"path":',
    "(cut out)",
]


@pytest.mark.parametrize("text", AWKWARD)
def test_a_text_that_looks_like_the_edge_of_a_part(text: str) -> None:
    """As a property, its name, an operation or a comment it means itself."""
    fields = tuple(replace(field, comment=text) for field in EVERYTHING.schema.fields)
    schema = replace(EVERYTHING.schema, fields=fields)
    version = replace(EVERYTHING, properties={text: text, "schema": text}, operation=text, schema=schema)
    data = encode_version(version)
    for parts in (Parts(), warm(), warm(version)):
        assert encode_version(decode_version(data, 7, parts)) == data


DOCUMENTS: list[Any] = [
    {"schema": {"fields": []}, "max_column_id": 1},
    {"manifests": [{"path": 1}, {"path": {"a": "},{"}}, {"path": [{"path": 2}, {"path": 3}]}], "digest": 1},
    {"a": {"schema": {"fields": [1]}, "max_column_id": 1}, "schema": {"fields": [2]}, "max_column_id": 3},
    {"a": 1, "schema": {"fields": [1]}, "max_column_id": 1, "manifests": [{"path": 1}, {"path": 2}], "digest": 0},
    {"a": {"x": 0, "schema": {"fields": [1]}, "max_column_id": 1, "manifests": [{"path": 1}], "digest": 0}},
    {"a": 1, "schema": {"fields": [1]}, "max_column_id": 1, "b": {"x": 1, "manifests": [{"path": 1}], "digest": 0}},
    {"a": 1, "schema": {"fields": "(cut out)"}, "max_column_id": 1, "manifests": [{"path": "(cut out)"}], "digest": 0},
    {"a": 1, "manifests": [{"path": 1}], "digest": 0, "schema": {"fields": [1]}, "max_column_id": 1},
    {"a": 1, "schema": {"fields": [1]}, "max_column_id": 1, "manifests": [{"path": 1, "b": [{}]}], "digest": 0},
    {"a": 1, "schema": {"fields": [1]}, "max_column_id": 1, "manifests": [], "digest": 0},
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_any_document_is_parsed_as_it_is(document: Any, separators: tuple[str, str]) -> None:
    """Whatever lies where the parts are, deeper or in another order; also what is no version at all."""
    text = json.dumps(document, separators=separators)
    parts = Parts()
    assert parts.parse(text) == document
    assert Parts(parts).parse(text) == document


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"schema":{"fields":[1]},"max_column_id":1,"manifests":[{"path":1,"path":2}],"digest":0}',
        '{"a":1,"schema":{"fields":[NaN]},"max_column_id":1,"manifests":[{"path":1}],"digest":0}',
        '{"a":1,"schema":{"fields":[1},"max_column_id":1,"manifests":[{"path":1}],"digest":0}',
        '{"a":1,"schema":{"fields":[1]},"max_column_id":1,"manifests":[{"path":1},{"path":],"digest":0}',
        '{"a":1,"schema":{"fields":1},"schema":{"fields":[1]},"max_column_id":1,"manifests":[{"path":1}],"digest":0}',
        '{"a":1,"schema":{"fields":[1]},"max_column_id":1,"manifests":[{"path":1}],"digest":0,"manifests":[]}',
    ],
)
def test_what_is_no_document_is_none_after_another_one_either(text: str) -> None:
    """The reason is that of the whole text."""
    known = '{"a":1,"schema":{"fields":[1]},"max_column_id":1,"manifests":[{"path":1},{"path":2}],"digest":0}'
    parts = Parts()
    parts.parse(known)
    with pytest.raises(ValueError, match=r"\w") as whole:
        parse(text)
    with pytest.raises(ValueError, match=re.escape(str(whole.value))):
        Parts(parts).parse(text)


def test_one_is_not_true() -> None:
    """To Python they are equal. A file that says 1 for true is refused, whatever was read before."""
    document = document_of(EVERYTHING)
    document["schema"]["fields"][0]["required"] = int(document["schema"]["fields"][0]["required"])
    with pytest.raises(CorruptMetadata, match=r"schema\.fields\[0\]\.required: it should be true or false"):
        decode_version(signed(document), 7, warm())
