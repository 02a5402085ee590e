"""Rules: which physical partition a logical tuple's rows go to.

A rule is a pure function of the tuple and, for the rule by size, of how much data the tuple has. A table keeps
every rule it ever had; each data file carries the id of the one it was written under. Nothing is ever pruned by
a rule: files say themselves which tuples they hold.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import assert_never

from coalesce.arguments import check_text, is_series, shown
from coalesce.errors import SpecError, UnsupportedFeature
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec, field_type
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import from_python, to_python

SMALL = "[#small]"
DEFAULT_BELOW = 64 * 1024 * 1024
# A tuple that has a physical partition of its own gives it up only below this share of the threshold, so that
# one hovering around the threshold does not flip with every write.
HYSTERESIS = 0.5


@dataclass(frozen=True, slots=True)
class Group:
    """A physical partition that many values share. Never equal to any value, whatever a user's strings say."""

    name: str


_SHOWN = 10  # names on a line

PhysicalKey = tuple[Value | Group, ...]


@dataclass(frozen=True, slots=True)
class KeepAll:
    """Every logical tuple has a physical partition of its own, as in Hive."""

    rule_id: int


@dataclass(frozen=True, slots=True, repr=False)
class Groups:
    """Named groups of listed values: `members[field_id][value]` is the group; other values stay alone.

    `types[field_id]` is the values' type when the rule was made; it outlives the column itself.
    """

    rule_id: int
    members: Mapping[int, Mapping[Value, str]]
    types: Mapping[int, AtomicType]

    def __repr__(self) -> str:
        names = list(dict.fromkeys(name for groups in self.members.values() for name in groups.values()))
        listed = sum(len(groups) for groups in self.members.values())
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        return f"<rule {self.rule_id}: groups {shown}; values: {listed:,}>"


@dataclass(frozen=True, slots=True)
class BySize:
    """Tuples with less than `below` bytes share: the components `field_ids` of their key become the group."""

    rule_id: int
    field_ids: tuple[int, ...]
    group: str = SMALL
    below: int = DEFAULT_BELOW


@dataclass(frozen=True, slots=True)
class UnknownRule:
    """A rule of a kind that this release does not know. Reading needs no rule; a table that has one is not written."""

    rule_id: int
    kind: str


Rule = KeepAll | Groups | BySize | UnknownRule


def route(
    rule: Rule, spec: Spec, tuple_: LogicalTuple, size: int | None = None, was_alone: bool = False
) -> PhysicalKey:
    """The physical partition of `tuple_`; `size` is its bytes where known (unknown counts as small)."""
    match rule:
        case KeepAll():
            return tuple_
        case Groups(_, members, _):
            return tuple(_grouped(members.get(f.field_id), v) for f, v in zip(spec.fields, tuple_, strict=True))
        case BySize(_, field_ids, group, _):
            if _is_large(rule, size, was_alone):
                return tuple_
            shared = _group(group)
            return tuple([shared if f.field_id in field_ids else v for f, v in zip(spec.fields, tuple_, strict=True)])
        case UnknownRule():
            raise unknown_kind(rule)
        case _:
            assert_never(rule)


def route_all(
    rule: Rule, spec: Spec, tuples: Sequence[LogicalTuple], sizes: Sequence[int], alone: Collection[LogicalTuple]
) -> list[PhysicalKey]:
    """The physical partition of each, as `route` has it; `alone` are those that were so before.

    Tuples that share have the same object for their key: a large write has a hundred thousand of them.
    """
    if not isinstance(rule, BySize):
        return [route(rule, spec, t, size) for t, size in zip(tuples, sizes, strict=True)]
    own = [i for i, f in enumerate(spec.fields) if f.field_id not in rule.field_ids]
    shared: dict[LogicalTuple, PhysicalKey] = {}
    keys: list[PhysicalKey] = []
    for tuple_, size in zip(tuples, sizes, strict=True):
        if _is_large(rule, size, tuple_ in alone):
            keys.append(tuple_)
            continue
        rest = tuple([tuple_[i] for i in own])
        key = shared.get(rest)
        if key is None:
            key = shared[rest] = route(rule, spec, tuple_, None)
        keys.append(key)
    return keys


def _is_large(rule: BySize, size: int | None, was_alone: bool) -> bool:
    threshold = rule.below * HYSTERESIS if was_alone else rule.below
    return size is not None and size >= threshold


@lru_cache(maxsize=64)
def _group(name: str) -> Group:
    """The group of this name: a large write asks for the same one a hundred thousand times."""
    return Group(name)


def unknown_kind(rule: UnknownRule) -> UnsupportedFeature:
    """Why rows cannot be written by a rule."""
    return UnsupportedFeature(
        f"this release can read the table but not write it: it has a rule of kind {rule.kind!r}; upgrade coalesce."
    )


def _grouped(groups: Mapping[Value, str] | None, value: Value) -> Value | Group:
    name = None if groups is None else groups.get(value)
    return value if name is None else Group(name)


# --- rules as users ask for them, by name ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SmallRequest:
    """`coalesce.small("app", below="64MB")`, before the table gives the rule its ids.

    `target` is how large the table's data files should become, if the request says so; it is a property of the table.
    """

    columns: tuple[str, ...]
    below: int
    group: str
    target: int | None = None


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """`coalesce.group("app", {"[#small]": ["A", "B"]})`, before the table gives the rule its ids."""

    column: str
    groups: Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class KeepRequest:
    """`coalesce.keep_all()`."""


RuleRequest = SmallRequest | GroupRequest | KeepRequest


def small(
    *columns: str, below: int | str = DEFAULT_BELOW, target: int | str | None = None, group: str = SMALL
) -> SmallRequest:
    """A rule for `create` and `set_rule`: let small logical partitions share files.

    * `columns`: the partition fields on which they share; the others still divide the files.
    * `below`: how many bytes are small: `64 * 2**20`, or `"64MB"`.
    * `target`: how large files become; the property `write.target-file-bytes` unless said.
    * `group`: the name of the physical partition that they share, which stands in paths.

    Raises `SpecError` for what is not a size or a name.

    >>> [(p.values["app"], p.files) for p in table.partitions("dt = DATE '2026-05-17'")]
    [('tiny', 1), ('web', 1)]
    >>> len(table.files("dt = DATE '2026-05-17'"))
    1
    >>> table.set_rule(coalesce.small("app", below="16MB", target="64MB")).operation
    'set_rule'
    """
    if not columns:
        raise SpecError('small() needs the partition field that may be shared, such as small("app").')
    names = tuple(check_text(column, "a partition field of small()") for column in columns)
    return SmallRequest(
        names, parse_bytes(below), check_group(group), None if target is None else parse_bytes(target, least=1)
    )


def group(column: str, groups: Mapping[str, Sequence[object]]) -> GroupRequest:
    """A rule for `create` and `set_rule`: let exactly these values of a partition field share files.

    * `column`: the partition field.
    * `groups`: for the name of each group the values in it; other values have files of their own.

    Raises `SpecError` for what is not a list of values, or values that do not fit the field.

    >>> table.set_rule(coalesce.group("app", {"[#tools]": ["tiny", "other"]})).operation
    'set_rule'
    """
    return GroupRequest(check_text(column, "the partition field of group()"), _check_groups(groups))


def check_group(name: object) -> str:
    """The name of a group, which stands in paths."""
    if not check_text(name, "the name of a group"):
        raise SpecError(f"the name of a group is empty; the usual one is {SMALL!r}.")
    return check_text(name, "the name of a group")


def _check_groups(groups: object) -> dict[str, tuple[object, ...]]:
    if not isinstance(groups, Mapping) or not all(_is_list(values) for values in groups.values()):
        raise SpecError('group() takes a list of values for each name, such as group("app", {"[#small]": ["A", "B"]}).')
    return {check_group(name): tuple(values) for name, values in groups.items()}


def _is_list(values: object) -> bool:
    return is_series(values) or isinstance(values, Set)


def keep_all() -> KeepRequest:
    """A rule for `create` and `set_rule`: every logical partition has files of its own, as in Hive.

    >>> table.set_rule(coalesce.keep_all()).operation
    'set_rule'
    """
    return KeepRequest()


def resolve(request: RuleRequest, rule_id: int, spec: Spec, schema: Schema) -> Rule:
    """The rule a request means for a table with this spec and schema."""
    _check_request(request)
    match request:
        case KeepRequest():
            return KeepAll(rule_id)
        case SmallRequest(columns, below, group_, _):
            return BySize(rule_id, tuple(dict.fromkeys(spec.field(c).field_id for c in columns)), group_, below)
        case GroupRequest(column, groups):
            field = spec.field(column)
            type_ = field_type(field, schema)
            members: dict[Value, str] = {}
            for name, values in groups.items():
                for value in (None if v is None else from_python(type_, v) for v in values):
                    if value in members:
                        raise SpecError(f"value {value!r} of {column!r} is in two groups: {members[value]}, {name}.")
                    members[value] = name
            return Groups(rule_id, {field.field_id: members}, {field.field_id: type_})
        case _:
            assert_never(request)


def request_of(rule: Rule, spec: Spec) -> RuleRequest:
    """The request that `resolve` would make this rule of: for another table like the one that has it."""
    names = {f.field_id: f.name for f in spec.fields}
    match rule:
        case BySize() if columns := tuple(names[id_] for id_ in rule.field_ids if id_ in names):
            return SmallRequest(columns, rule.below, rule.group)
        case Groups() if kept := [id_ for id_ in rule.members if id_ in names]:
            named: dict[str, list[object]] = {}
            for value, name in rule.members[kept[0]].items():
                named.setdefault(name, []).append(to_python(rule.types[kept[0]], value))
            return GroupRequest(names[kept[0]], named)
        case KeepAll() | BySize() | Groups():
            return KeepRequest()
        case UnknownRule():
            raise unknown_kind(rule)
        case _:
            assert_never(rule)


def _check_request(request: object) -> None:
    if not isinstance(request, RuleRequest):
        raise SpecError(
            f'{shown(request)} is not a rule; write coalesce.small("app"), coalesce.group(…) or keep_all().'
        )


_MOST_BYTES = 2**63 - 1  # what a version file can hold
_UNITS = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def parse_bytes(text: int | str, *, least: int = 0) -> int:
    """A number of bytes from `67108864` or `"64MB"` (units of 1024)."""
    size = _size(text)
    if size is None or not 0 <= size <= _MOST_BYTES:
        raise SpecError(f'{shown(text)} is not a size; write a number of bytes or "64MB".')
    if size < least:
        raise SpecError(f'{shown(text)} is too small a size; write {least} or more, or "64MB".')
    return size


def _size(given: object) -> int | None:
    if isinstance(given, bool) or not isinstance(given, Integral | str):
        return None
    if not isinstance(given, str):
        return int(given)
    stripped = given.strip().upper()
    number = stripped.rstrip("KMGTB")
    try:
        return int(float(number) * _UNITS[stripped[len(number) :]])
    except (ValueError, KeyError, OverflowError):
        return None
