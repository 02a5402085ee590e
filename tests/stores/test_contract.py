"""What every storage promises, on stores that are no test doubles of ours: the same tests, in other places."""

from tests.storage.test_contract import *  # noqa: F403 - pytest finds the tests by their names
