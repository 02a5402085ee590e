"""The places the storage tests run in."""

from pathlib import Path

import pytest

from coalesce.spark.jvm.hadoop import HadoopStorage
from coalesce.storage import Storage, open_storage
from tests.s3 import S3Location, s3_location, s3_server

__all__ = ["s3_location", "s3_server", "storage"]


DIRECTORIES = ["local", pytest.param("hadoop", marks=[pytest.mark.spark, pytest.mark.shared])]  # seen by this machine


@pytest.fixture(params=["s3", *DIRECTORIES])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty storage of each kind; Hadoop's is its local file system, which is the one that needs no cluster."""
    match request.param:
        case "local":
            return open_storage(tmp_path / "warehouse/events")
        case "s3":
            place: S3Location = request.getfixturevalue("s3_location")
            return open_storage(place.location, options=place.options)
        case _:
            spark: object = request.getfixturevalue("spark")
            return HadoopStorage(f"file:{tmp_path}/warehouse/events", spark, create="rename")
