"""Functions of text over columns: Arrow's where they do what Spark's do, else a plain function of distinct values."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.types import Value
from coalesce.predicate.scalar import casing, text_values
from coalesce.predicate.scalar.columnar import Kernel, Unsure, by_distinct, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, spread, sure, unsure_where
from coalesce.predicate.scalar.nodes import Call


def _cased(arrow: Callable[[Datum], Datum], plain: Callable[[str], Value | Unsure]) -> Kernel:
    def kernel(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
        (text,) = arguments
        if pc.all(pc.string_is_ascii(text)).as_py() is not False:
            return sure(arrow(text))
        return by_distinct(call, arguments, count, plain, casing.WHY)

    return kernel


def _length(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.utf8_length(arguments[0]))


def _octet_length(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.binary_length(arguments[0]))


def _bit_length(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.multiply(pc.binary_length(arguments[0]), pa.scalar(8, pa.int32())))


def _substring(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    text, start, length = arguments
    if isinstance(start, pa.Scalar) and isinstance(length, pa.Scalar) and start.as_py() >= 0:
        first = max(start.as_py() - 1, 0)
        return sure(pc.utf8_slice_codeunits(text, first, first + max(length.as_py(), 0)))
    return _plain(text_values.substring)(call, arguments, count)


def _reverse(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.utf8_reverse(arguments[0]))


def _concat(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.binary_join_element_wise(*arguments, pa.scalar("", pa.string())))


def _concat_ws(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """Joined by the first, which alone makes NULL of it; other NULLs are left out."""
    separator, joined, *others = [spread(argument.values, count) for argument in arguments]
    for text in others:  # Arrow's own way to leave NULLs out loses rows of nothing else (pyarrow 26)
        joined = pc.coalesce(pc.binary_join_element_wise(joined, text, separator), joined, text)
    nothing = pa.scalar("", pa.string())
    joined = pc.if_else(pc.is_valid(separator), pc.fill_null(joined, nothing), pa.scalar(None, pa.string()))
    unsure, why = np.zeros(count, np.bool_), ""
    for argument in arguments:
        if argument.unsure is not None:
            unsure, why = unsure | argument.unsure, argument.why
    return unsure_where(joined, unsure, why)


def _replace(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    text, searched, put = arguments
    if isinstance(searched, pa.Scalar) and isinstance(put, pa.Scalar):
        pattern = searched.as_py()
        return sure(text if pattern == "" else pc.replace_substring(text, pattern, put.as_py()))
    return _plain(text_values.replace)(call, arguments, count)


def _found(arrow: Callable[[Datum, str], Datum], plain: Callable[[str, str], Value]) -> Kernel:
    def kernel(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
        text, searched = arguments
        if isinstance(searched, pa.Scalar):
            return sure(arrow(text, searched.as_py()))
        return _plain(plain)(call, arguments, count)

    return kernel


def _trimmed(arrow: Callable[[Datum, str], Datum], plain: Callable[[str, str], Value]) -> Kernel:
    def kernel(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
        text, characters = arguments
        if isinstance(characters, pa.Scalar):
            return sure(arrow(text, characters.as_py()) if characters.as_py() else text)
        return _plain(plain)(call, arguments, count)

    return kernel


def _plain(function: Callable[..., Value | Unsure]) -> Kernel:
    return partial(_by_distinct, function)


def _by_distinct(
    function: Callable[..., Value | Unsure], call: Call, arguments: Sequence[Datum], count: int
) -> Evaluated:
    return by_distinct(call, arguments, count, function, text_values.WHY)


_KERNELS: Final[Mapping[str, Kernel]] = {
    "lower": _cased(pc.ascii_lower, casing.lower),
    "upper": _cased(pc.ascii_upper, casing.upper),
    "lower of upper": _cased(pc.ascii_lower, casing.lower_of_upper),
    "upper of lower": _cased(pc.ascii_upper, casing.upper_of_lower),
    "length": _length,
    "octet_length": _octet_length,
    "bit_length": _bit_length,
    "substring": _substring,
    "right": _plain(text_values.right),
    "concat": _concat,
    "replace": _replace,
    "startswith": _found(pc.starts_with, str.startswith),
    "endswith": _found(pc.ends_with, str.endswith),
    "contains": _found(pc.match_substring, str.__contains__),
    "instr": _plain(text_values.instr),
    "locate": _plain(text_values.locate),
    "reverse": _reverse,
    "repeat": _plain(text_values.repeat),
    "lpad": _plain(text_values.lpad),
    "rpad": _plain(text_values.rpad),
    "trim": _trimmed(pc.utf8_trim, str.strip),
    "ltrim": _trimmed(pc.utf8_ltrim, str.lstrip),
    "rtrim": _trimmed(pc.utf8_rtrim, str.rstrip),
    "ascii": _plain(text_values.ascii_code),
    "split_part": _plain(text_values.split_part),
    "translate": _plain(text_values.translate),
}
CHOOSING: Final[Mapping[str, Callable[[Call, Sequence[Evaluated], int], Evaluated]]] = {"concat_ws": _concat_ws}
KERNELS: Final[Mapping[str, Kernel]] = {name: columnar(kernel) for name, kernel in _KERNELS.items()}
