"""Exports of a table in an object store."""

import pyarrow as pa
from deltalake import DeltaTable
from pyiceberg.table import StaticTable

import coalesce
from tests.interop.export.tables import SCHEMA, ours, rows
from tests.s3 import S3Location


def test_exports_lie_in_the_bucket(s3_location: S3Location) -> None:
    """Both are committed by create-if-absent there, brought up to date, and read by other libraries' own clients."""
    place = s3_location.location
    table = coalesce.create(
        place,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        properties={"remove.by": "mark", "export.auto": "iceberg,delta"},
        storage_options=s3_location.options,
    )
    table.append(rows(1))
    table.append(rows(2))
    table.delete("app = 'app-1'")
    found = StaticTable.from_metadata(
        place,
        {
            "s3.endpoint": s3_location.server.url,
            "s3.access-key-id": "a",
            "s3.secret-access-key": "b",
            "s3.region": "us-east-1",
        },
    )
    assert sorted(found.scan().to_arrow()["n"].to_pylist()) == ours(table)
    options = {
        "AWS_ENDPOINT_URL": s3_location.server.url,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
    }
    theirs: pa.Table = DeltaTable(place, storage_options=options).to_pyarrow_table()
    assert sorted(theirs["n"].to_pylist()) == ours(table)
