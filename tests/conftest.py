"""What every test may ask for. Only tests that name `spark` start a JVM, and all of them share one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Times on a shared machine say nothing about an example.
settings.register_profile("coalesce", deadline=None)
settings.load_profile("coalesce")
# For `make mutants`: that an example fails is all there is to know, the least one would take many runs to find.
settings.register_profile("mutants", deadline=None, phases=(Phase.explicit, Phase.generate))


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that asks for `spark`."""
    for item in items:
        if isinstance(item, pytest.Function) and "spark" in item.fixturenames:
            item.add_marker("spark")
            item.add_marker("shared")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one Spark session of the test run: two cores, few shuffle tasks, UTC."""
    from coalesce.spark.session.start import session

    running = session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": 4,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield running
    running.stop()
