"""What is kept in memory stays within its bound, also where it grows while it is held."""

from dataclasses import dataclass

from coalesce.recent import Recent


@dataclass
class Thing:
    """Something that takes memory, more or less of it as time goes by."""

    size: int


def make_recent(capacity: int) -> Recent[str, Thing]:
    """Things by name, up to so many bytes."""
    return Recent(capacity, lambda thing: thing.size)


def test_what_was_used_longest_ago_goes_first() -> None:
    """Used means asked for, not put."""
    kept: Recent[str, int] = Recent(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert [name in kept for name in "abc"] == [True, False, True]
    assert (len(kept), kept.total) == (2, 2)


def test_what_is_said_of_keys_goes() -> None:
    """And takes its weight along."""
    kept = make_recent(100)
    for name in ("table one", "table two", "other"):
        kept.put(name, Thing(10))
    kept.forget_where(lambda name: name.startswith("table"))
    assert (len(kept), kept.total, "other" in kept) == (1, 10, True)


def test_what_grows_is_noticed_though_nobody_asks_for_it() -> None:
    """A plan holds an index and asks more and more of it; the next things that are used here find that out."""
    kept = make_recent(100)
    grows = Thing(10)
    kept.put("grows", grows)
    kept.put("other", Thing(10))
    grows.size = 95
    for _ in range(3):
        kept.get("other")
    assert "grows" not in kept
    assert kept.total == 10


def test_what_shrinks_makes_room() -> None:
    """The weight of a thing is what it weighs now."""
    kept = make_recent(100)
    thing = Thing(90)
    kept.put("a", thing)
    thing.size = 10
    for _ in range(3):
        kept.get("a")
    kept.put("b", Thing(80))
    assert (len(kept), kept.total) == (2, 90)


def test_one_thing_stays_however_large() -> None:
    """It is being used."""
    kept = make_recent(1)
    kept.put("a", Thing(10))
    kept.put("b", Thing(20))
    assert (len(kept), kept.total) == (1, 20)


def test_what_is_forgotten_weighs_nothing() -> None:
    """Whether it was held or not, and what is put in its place counts once."""
    kept = make_recent(100)
    kept.put("a", Thing(10))
    kept.put("a", Thing(30))
    kept.put("b", Thing(20))
    assert kept.total == 50
    kept.forget(["a", "c"])
    assert (len(kept), kept.total, kept.get("a")) == (1, 20, None)
    kept.clear()
    assert (len(kept), kept.total) == (0, 0)


def test_keys_weigh_too() -> None:
    """Where they are told to: a key may be larger than what is held under it."""
    held: Recent[str, int] = Recent(100, lambda _: 1, len)
    for letter in "abcd":
        held.put(letter * 40, 0)
    assert len(held) == 2
    assert held.total == 82
