"""Functions of text, bound: their arguments in the types that Spark converts them to, and those left out filled in."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    FLOATING,
    INT32,
    INTEGRAL_BITS,
    STRING,
    AtomicType,
    DecimalType,
    PrimitiveType,
)
from coalesce.predicate.scalar import text_kernels
from coalesce.predicate.scalar.conversion import convert
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar

Chooser = Callable[[Sequence[Argument], str], Argument | None]

_ALL: Final = Fixed(2**31 - 1, INT32)
_ONE: Final = Fixed(1, INT32)
_NOTHING: Final = Fixed("", STRING)
_SPACE: Final = Fixed(" ", STRING)


def as_text(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that wants a text. Of bytes Spark has functions of its own, or decodes them: None."""
    if isinstance(argument, Interval) or argument.type == BINARY:
        return None
    return convert(argument, STRING, time_zone)


def as_integer(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that wants an INT."""
    if isinstance(argument, Interval):
        return None
    type_ = argument.type
    number = type_ in INTEGRAL_BITS or type_ in FLOATING or isinstance(type_, DecimalType)
    return convert(argument, INT32, time_zone) if number or type_ is None else None


def _bound(
    kernel: str,
    parameters: Sequence[PrimitiveType],
    result: AtomicType,
    arguments: Sequence[Argument],
    time_zone: str,
    left_out: Sequence[Fixed] = (),
) -> Scalar | None:
    """The call, with the last parameters from `left_out` where there is no argument for them."""
    missing = len(parameters) - len(arguments)
    if not 0 <= missing <= len(left_out):
        return None
    given = [*arguments, *left_out[len(left_out) - missing :]]
    converted = []
    for parameter, argument in zip(parameters, given, strict=True):
        one = as_text(argument, time_zone) if parameter == STRING else as_integer(argument, time_zone)
        if one is None:
            return None
        converted.append(one)
    return Call(kernel, tuple(converted), result)


def _function(
    kernel: str, parameters: Sequence[PrimitiveType], result: AtomicType, left_out: Sequence[Fixed] = ()
) -> Chooser:
    return partial(_chosen, kernel, parameters, result, left_out)


def _chosen(
    kernel: str,
    parameters: Sequence[PrimitiveType],
    result: AtomicType,
    left_out: Sequence[Fixed],
    arguments: Sequence[Argument],
    time_zone: str,
) -> Scalar | None:
    return _bound(kernel, parameters, result, arguments, time_zone, left_out)


def _measured(kernel: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """A length, of text or of bytes."""
    match arguments:
        case [argument] if not isinstance(argument, Interval) and argument.type == BINARY:
            return Call("octet_length" if kernel == "length" else kernel, (argument,), INT32)
    return _bound(kernel, (STRING,), INT32, arguments, time_zone)


def cased(kernel: str, text: Scalar) -> Scalar:
    """`lower` or `upper` of a text. Of one inside the other, Spark's optimizer computes the outer one alone."""
    match text:
        case Call("lower" | "upper" as other, inner) if other != kernel:
            return Call(f"{kernel} of {other}", inner, STRING)
    return Call(kernel, (text,), STRING)


def _cased(kernel: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    text = as_text(arguments[0], time_zone) if len(arguments) == 1 else None
    return None if text is None else cased(kernel, text)


def _left(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 2:
        return None
    return _bound("substring", (STRING, INT32, INT32), STRING, (arguments[0], _ONE, arguments[1]), time_zone)


def _concat(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _bound("concat", (STRING,) * len(arguments), STRING, arguments, time_zone) if arguments else None


def _concat_ws(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _bound("concat_ws", (STRING,) * len(arguments), STRING, arguments, time_zone) if len(arguments) > 1 else None


def _located(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """locate(what, text, from): Spark's answer to a NULL `from` is 0, so it has to be there to see."""
    match arguments:
        case [what, text, Fixed(None, _)]:
            known = None not in (as_text(what, time_zone), as_text(text, time_zone))
            return Fixed(0, INT32, folded=True) if known else None
        case [_, _, start] if not isinstance(start, Fixed):
            return None
    return _bound("locate", (STRING, STRING, INT32), INT32, arguments, time_zone, (_ONE,))


def _trimmed(kernel: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """trim(what, text), as the grammar has it: what goes comes first."""
    return _bound(kernel, (STRING, STRING), STRING, arguments[::-1], time_zone, (_SPACE,)) if arguments else None


def _split(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    match arguments:
        case [_, _, Fixed(0, _)]:
            return None  # Spark fails
    return _bound("split_part", (STRING, STRING, INT32), STRING, arguments, time_zone)


FUNCTIONS: Final[Mapping[str, Chooser]] = {
    **dict.fromkeys(("lower", "lcase"), partial(_cased, "lower")),
    **dict.fromkeys(("upper", "ucase"), partial(_cased, "upper")),
    **dict.fromkeys(("length", "len", "char_length", "character_length"), partial(_measured, "length")),
    "octet_length": partial(_measured, "octet_length"),
    "bit_length": partial(_measured, "bit_length"),
    **dict.fromkeys(("substring", "substr"), _function("substring", (STRING, INT32, INT32), STRING, (_ALL,))),
    "left": _left,
    "right": _function("right", (STRING, INT32), STRING),
    **dict.fromkeys(("concat", "||"), _concat),
    "concat_ws": _concat_ws,
    "replace": _function("replace", (STRING, STRING, STRING), STRING, (_NOTHING,)),
    **{name: _function(name, (STRING, STRING), BOOLEAN) for name in ("startswith", "endswith", "contains")},
    "instr": _function("instr", (STRING, STRING), INT32),
    **dict.fromkeys(("locate", "position"), _located),
    "reverse": _function("reverse", (STRING,), STRING),
    "repeat": _function("repeat", (STRING, INT32), STRING),
    "lpad": _function("lpad", (STRING, INT32, STRING), STRING, (_SPACE,)),
    "rpad": _function("rpad", (STRING, INT32, STRING), STRING, (_SPACE,)),
    "trim": partial(_trimmed, "trim"),
    "ltrim": partial(_trimmed, "ltrim"),
    "rtrim": partial(_trimmed, "rtrim"),
    "btrim": _function("trim", (STRING, STRING), STRING, (_SPACE,)),
    "ascii": _function("ascii", (STRING,), INT32),
    "split_part": _split,
    "translate": _function("translate", (STRING, STRING, STRING), STRING),
}
KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = text_kernels.KERNELS
CHOOSING: Final[Mapping[str, Callable[[Call, Sequence[Evaluated], int], Evaluated]]] = text_kernels.CHOOSING


def monotone(call: Call) -> tuple[int, ...] | None:
    """Which way the result goes with each argument: 1 with it, -1 against it, 0 if it has to be fixed; None if neither.

    Text is in the order of its code points, so what texts begin with is in the same order, or is the same.
    """
    match call:
        case Call("substring", (_, Fixed(0 | 1, _), Fixed(int(), _))):
            return (1, 0, 0)
        case Call("concat", (*first, _)) if all(isinstance(argument, Fixed) for argument in first):
            return (*(0 for _ in first), 1)
    return None
