"""Logical operations on the Arrow engine."""

from hypothesis import settings

from tests.support.examples import examples
from tests.table.operations import LogicalOperations

LogicalOperations.TestCase.settings = settings(max_examples=examples(7), stateful_step_count=15)
TestLogicalOperations = LogicalOperations.TestCase
