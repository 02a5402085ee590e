"""Functions that choose among their arguments: CASE, coalesce, nullif, greatest, least."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coalesce.predicate.scalar.evaluated import Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call

KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Evaluated], int], Evaluated]]] = {}
FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {}
