"""Parts of a version file that stood in the one before it, word for word, and need not be read again.

Nearly all of a version is in the next one too: its schema, its manifests. So they are cut out of the text, and only a
text that is new is parsed and checked. What was read from it before is then not only read once but also held once,
however many versions are.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from coalesce.manifest.document import Node, parse

T = TypeVar("T")

# Where the parts begin and end in what our writer writes; any other text is simply read as a whole.
_FIELDS: Final = (',"schema":{"fields":', '},"max_column_id":')
_MANIFESTS: Final = (',"manifests":[{"path":', '}],"digest":')
_NEXT_MANIFEST: Final = '},{"path":'
_NOTHING: Final = (None, None)
_CUT: Final = "(cut out)"


class Parts:
    """What was read from the parts of one version file; `before` has those of the file that was read last."""

    def __init__(self, before: "Parts | None" = None) -> None:
        self._before: Parts | None = None if before is None else before._alone()
        self._values: dict[str, Any] = {}  # by their text
        self._read: dict[int, tuple[Any, object]] = {}  # by the identity of the value, with the value itself

    def _alone(self) -> "Parts":
        """The same without those before, which would otherwise all be held."""
        alone = Parts()
        alone._values, alone._read = self._values, self._read
        return alone

    def parse(self, text: str) -> Any:
        """The JSON document in `text`, or a ValueError. Values whose text is known are the same objects as before."""
        try:
            document = self._assembled(text)
        except (ValueError, RecursionError, KeyError, TypeError):
            document = None  # to be told by whoever reads all of it what is wrong
        return parse(text) if document is None else document

    def _assembled(self, text: str) -> Any:
        """The document, made of its parts; None if it has none of that kind.

        A document with a short text in the place of each part is a JSON document exactly if the whole is one, and
        each part is a JSON value: then it is the whole, once each part has been put back into its place.
        """
        first, fields, rest = _between(text, *_FIELDS)
        middle, manifests, last = _between(rest, *_MANIFESTS)
        if fields is None or manifests is None or _CUT in text:
            return None
        start, end = _FIELDS
        begin, close = _MANIFESTS
        begin, close = begin.removesuffix('{"path":'), close.removeprefix("}")
        document = parse(f'{first}{start}"{_CUT}"{end}{middle}{begin}"{_CUT}"{close}{last}')
        if (document["schema"]["fields"], document["manifests"]) != (_CUT, [_CUT]):
            return None
        document["schema"]["fields"] = self._value(fields)
        document["manifests"] = [self._value(f'{{"path":{m}}}') for m in manifests.split(_NEXT_MANIFEST)]
        return document

    def _value(self, text: str) -> Any:
        before = None if self._before is None else self._before._values.get(text)
        value = self._values[text] = parse(text) if before is None else before
        return value

    def read(self, node: Node, read: Callable[[Node], T]) -> T:
        """What `read` makes of a node. It must be immutable, and depend on nothing but the node's value."""
        known = self._known(node.value)
        return self._keep(node.value, read(node) if known is None else cast(T, known))

    def read_each(self, nodes: Node, read: Callable[[Node], T]) -> tuple[T, ...]:
        """The same for each member of a list."""
        found = []
        for position, value in enumerate(nodes.members):
            known = self._known(value)
            found.append(self._keep(value, read(nodes.at(position)) if known is None else cast(T, known)))
        return tuple(found)

    def _known(self, value: Any) -> object | None:
        """What was read from this very value."""
        held, known = _NOTHING if self._before is None else self._before._read.get(id(value), _NOTHING)
        return known if held is value else None

    def _keep(self, value: Any, found: T) -> T:
        self._read[id(value)] = value, found
        return found


def _between(text: str, start: str, end: str) -> tuple[str, str | None, str]:
    """What stands before `start`, between it and `end`, and after that; None between if either is missing."""
    before, found, rest = text.partition(start)
    between, ended, after = rest.partition(end)
    return (before, between, after) if found and ended else (text, None, "")
