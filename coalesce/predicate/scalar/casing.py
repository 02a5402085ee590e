"""Small and capital letters, by Unicode's full mappings: ß is SS, and a sigma at the end of a word is another one.

Spark asks ICU, or Java if it is told to, and each knows its own version of Unicode, as Python does. The letters here
are those whose mappings have been the same in all of them for years; of a text with any other, the answer is not
certain. Which case a sigma gets depends on what stands around it, on which the three do not agree unless that is
letters and spaces.

A JVM that runs in Turkish, Azeri or Lithuanian has rules of its own for text that is not ASCII; those are not these.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from coalesce.predicate.scalar.columnar import UNSURE, Unsure

WHY: Final = "the capital and small letters of a text depend on the version of Unicode"

# Latin, combining accents, Greek, Cyrillic, Armenian, Hebrew, Arabic, Devanagari, Thai, Vietnamese and old Greek,
# signs, Chinese, Japanese and Korean, wide Latin, emoji; and what Unicode promises never to be a letter.
_SETTLED = re.compile(
    "[\0-\u019a\u019c-\u024f\u0300-\u0377\u037a-\u037f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u0481\u0483-\u052f"
    "\u0531-\u0556\u0561-\u0587\u05d0-\u05ea\u0621-\u064a\u0660-\u0669\u0905-\u0939\u0e01-\u0e3a"
    "\u1e00-\u1eff\u1f00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f5f-\u1f7d"
    "\u2010-\u2027\u20ac\u2190-\u23ff\u2500-\u27bf\u3001-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff5e"
    "\U0001f300-\U0001f64f\U0001f680-\U0001f6c5\ufe0f\u200d"
    "\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff]*"
)


def lower(text: str) -> str | Unsure:
    """The text in small letters."""
    if _SETTLED.fullmatch(text) is None or ("Σ" in text and not _plain_words(text)):
        return UNSURE
    return text.lower()


def upper(text: str) -> str | Unsure:
    """The text in capital letters."""
    return text.upper() if _SETTLED.fullmatch(text) is not None else UNSURE


def lower_of_upper(text: str) -> str | Unsure:
    """The text in small letters after capital ones: Spark's optimizer leaves the capital ones out, where it runs."""
    return _agreed(lower(text), upper(text), lower)


def upper_of_lower(text: str) -> str | Unsure:
    """The text in capital letters after small ones, likewise."""
    return _agreed(upper(text), lower(text), upper)


def _agreed(alone: str | Unsure, inner: str | Unsure, outer: Callable[[str], str | Unsure]) -> str | Unsure:
    both = outer(inner) if isinstance(inner, str) else UNSURE
    return both if both == alone else UNSURE


def _plain_words(text: str) -> bool:
    return all(character == " " or unicodedata.category(character) in ("Lu", "Ll") for character in text)
