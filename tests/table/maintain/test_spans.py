"""Sets of versions as runs do what sets of numbers do."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coalesce.table.maintain.spans import common, each, has, in_several, merged

PAIRS = st.tuples(st.integers(0, 20), st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
SPANS = st.lists(PAIRS, max_size=5).map(merged)


@given(pairs=st.lists(PAIRS, max_size=6))
def test_merged_spans_have_the_same_versions_and_gaps_between_them(pairs: list[tuple[int, int]]) -> None:
    """However they overlap or touch."""
    found = merged(pairs)
    assert list(each(found)) == sorted({n for first, last in pairs for n in range(first, last + 1)})
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(found))


@given(sets=st.lists(SPANS, min_size=2, max_size=4))
def test_what_is_in_both_and_in_several(sets: list[tuple[tuple[int, int], ...]]) -> None:
    """As counting says."""
    numbers = [set(each(spans)) for spans in sets]
    assert set(each(common(sets[0], sets[1]))) == numbers[0] & numbers[1]
    expected = {n for n in range(40) if sum(n in one for one in numbers) > 1}
    assert set(each(in_several(sets))) == expected
    assert {n for n in range(40) if has(sets[0], n)} == numbers[0]
