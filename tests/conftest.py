"""What every test may ask for. Only tests that name `spark` start a JVM, and all of them share one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

from tests.support.examples import examples
from tests.support.leftovers import State, Watch
from tests.support.markers import launched, missing_marker, needless_marker, watch_processes
from tests.support.settings import COMPILED_QUICKLY, COUNTED_BY_READING, WITHOUT_CALL_SITES, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Times on a shared machine say nothing about an example.
settings.register_profile("coalesce", deadline=None, max_examples=examples(50))
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
            **WITHOUT_CALL_SITES,
            **COMPILED_QUICKLY,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    _watching.append(Watch(running))  # before any fixture can change a setting
    yield running
    running.stop()


@pytest.fixture(scope="session")
def watch(spark: "SparkSession") -> Watch:
    """Sees what is in the shared session."""
    del spark
    return _watching[0]


_watching: list[Watch] = []  # over the shared session, as soon as there is one


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_by_a_module() -> Iterator[None]:
    """Views of a module's own fixtures are there for all of its tests, and for no others."""
    before = _watching[0].state() if _watching else None
    yield
    if _watching:
        _put_back(_watching[0], before)


@pytest.fixture(autouse=True)
def nothing_is_left_by_a_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test finds the shared session as the tests before it have found it."""
    if "spark" not in request.fixturenames:
        yield
        return
    watch: Watch = request.getfixturevalue("watch")
    before = watch.state()
    yield
    _put_back(watch, before)


@pytest.fixture
def rows_are_read(request: pytest.FixtureRequest) -> Iterator[None]:
    """For tests of reading, which may count what they have read: no count is answered from metadata."""
    if "spark" not in request.fixturenames:
        yield
        return
    with changed(request.getfixturevalue("spark"), COUNTED_BY_READING):
        yield


def _put_back(watch: Watch, before: State | None) -> None:
    left = watch.put_back(watch.first if before is None else before)
    if left is not None:
        pytest.fail(left, pytrace=False)


watch_processes()


@pytest.fixture(scope="module", autouse=True)
def markers_are_needed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of the tests of a module that are marked `spark` and do not share the session, one at least starts Spark."""
    before = len(launched)
    yield
    ran = [item for item in request.session.items if item.getparent(pytest.Module) is request.node and item in _ran]
    marked = any(_starts_its_own(item) for item in ran) and not request.session.testsfailed
    wrong = needless_marker(marked, before)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


@pytest.fixture(autouse=True)
def marker_is_there(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that starts Spark is marked `spark`."""
    before = len(launched)
    _ran.add(request.node)
    yield
    wrong = missing_marker(request.node.get_closest_marker("spark") is not None, before)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)


_ran: set[pytest.Item] = set()


def _starts_its_own(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None and item.get_closest_marker("shared") is None
