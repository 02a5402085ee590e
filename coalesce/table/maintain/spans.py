"""Sets of versions as the first and the last of each run: thousands of findings name thousands of versions each."""

from collections.abc import Iterable, Iterator

Spans = tuple[tuple[int, int], ...]  # in order, with a gap between any two


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """The versions in any of the spans."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def common(one: Spans, other: Spans) -> Spans:
    """The versions in both."""
    both = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return merged((first, last) for first, last in both if first <= last)


def in_several(all_spans: Iterable[Spans]) -> Spans:
    """The versions in two or more of them."""
    seen: Spans = ()
    twice: Spans = ()
    for spans in all_spans:
        twice = merged([*twice, *common(seen, spans)])
        seen = merged([*seen, *spans])
    return twice


def has(spans: Spans, number: int) -> bool:
    """Whether a version is among these."""
    return any(first <= number <= last for first, last in spans)


def each(spans: Spans) -> Iterator[int]:
    """The versions one by one."""
    for first, last in spans:
        yield from range(first, last + 1)
