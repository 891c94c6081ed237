"""Refuse names that show something else than they are, or that look like another name.

People decide by names: whom they invite, with whom they sign, what they disclose. The rules are
those of Unicode's UTS 39 at its "highly restrictive" level, in a short form that needs no table of
its own. A word has letters of one script that is in everyday use, and CJK scripts may stand beside
each other and beside Latin. What is left of the look-alikes then is between whole words of Latin,
Greek and Cyrillic, between kana and ideographs, and among digits and letters: `skeletons` folds
these. The full table of UTS 39 has 6,000 more entries, nearly all of characters that no name here
may have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

NAME_PATTERN = r"^[^\W_][\w.-]{0,62}\Z"
"""Of accounts and participants: letters and digits, dots, dashes and underscores."""
LONGEST_NAME = 63
_LONGEST_TYPED = 4 * LONGEST_NAME
"""Letters may come with their marks apart; of more, the one form is not even looked for."""
MOST_MARKS = 4
"""On one letter; what has more is drawn over the lines above and below."""

_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
)
"""Letters and marks that take no ink. Unicode counts them among what can be printed."""

_SCRIPTS = frozenset(
    re.findall(
        "[A-Z]+",
        "LATIN GREEK CYRILLIC ARMENIAN HEBREW ARABIC THAANA DEVANAGARI BENGALI GURMUKHI GUJARATI "
        "ORIYA TAMIL TELUGU KANNADA MALAYALAM SINHALA THAI LAO TIBETAN MYANMAR GEORGIAN ETHIOPIC "
        "KHMER CJK HIRAGANA KATAKANA BOPOMOFO HANGUL",
    )
)
"""Those in everyday use (UAX 31, table 5), as the names of their characters begin."""
_TOGETHER = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
_ALIASES = {"IDEOGRAPHIC": "CJK", "EXTENDED": "ARABIC", "FEMININE": "LATIN", "MASCULINE": "LATIN"}
_EVERYDAY = {
    "LATIN": re.compile("[A-Za-zª-\u01bf\u01c4-\u024f\u1e00-\u1effəɓɖɗɛɣɔɲʋ]"),
    "GREEK": re.compile("[\u0370-\u03ff\u1f00-\u1fff]"),
    "CYRILLIC": re.compile("[\u0400-\u052f]"),
}
"""Of scripts with letters besides that are phonetic or historic, the others: many of those letters
look like ordinary ones."""
_COMMON = frozenset("µ\u0e33\u0eb3")
"""Micro on European keyboards, and two ordinary vowels of Thai and Lao: they have another form
(NFKC) and stay as they are."""

_LIKE = {
    **str.maketrans(  # Cyrillic
        "АВЕЅІЈКМНОРСТУХԚԜЗаеѕіјкосрухһԁԛԝьгвтмн",
        "ABESIJKMHOPCTYXQW3aesijkocpyxhdqwbrbtmh",
    ),
    **str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαιονκρυχγω", "ABEZHIKMNOPTYXaiovkpuxyw"),  # Greek
    **str.maketrans("ɛıƨƽ", "ei25"),
    **str.maketrans("カタトニハロエチーへべぺり", "力夕卜二八口工千一ヘベペリ"),
}
"""What is drawn like another character, of Latin where there is one."""
_STROKES = str.maketrans({"I": "l", "1": "l", "|": "l", "0": "O", "o": "O"})


def one_form(name: str, /) -> str:
    """A name as it is kept: letters with marks have one form (NFC), however they were typed.

    >>> one_form("ce\u0301leste") == "c\u00e9leste"
    True
    """
    # Bringing marks into order takes the square of their number, so a longer text stays as it is.
    return name if len(name) > _LONGEST_TYPED else unicodedata.normalize("NFC", name)


def checked_name(name: str, /) -> str:
    r"""Return the name of an account in its one form; a `ValueError` says why it cannot be one.

    >>> checked_name("n\u043erth")
    Traceback (most recent call last):
    ValueError: the name 'n\u043erth' mixes Cyrillic and Latin letters; write it in one script
    """
    # Two spellings of one name would be two accounts that nobody can tell apart.
    kept = one_form(name)
    if re.match(NAME_PATTERN, kept) is None:
        raise ValueError("a name has letters, digits, dots, dashes and underscores; correct it")
    check_label(kept)
    _check_scripts(kept, kept)
    return kept


def check_label(label: str, /) -> None:
    r"""Refuse a label that shows something else than it is, by a `ValueError` that says why.

    A label is the name of a run, a series, a problem or an objective; each of its words may have a
    script of its own.

    >>> check_label("delay in µs, α = 0.5, Köln → 東京タワー")
    >>> check_label("pay\u200bments")
    Traceback (most recent call last):
    ValueError: the name 'pay\u200bments' has characters that cannot be seen; leave them out
    """
    check_seen(label)
    if label != label.strip():
        raise _fault(label, "begins or ends with a blank; leave it out")
    if label.isascii():
        return
    _check_marks(label)
    if not unicodedata.is_normalized("NFC", label):
        raise _fault(label, "is not in the usual form of Unicode (NFC); type it again")
    for word in re.findall(r"\w+", label):
        _check_scripts(word, label)


def check_seen(text: str, /) -> None:
    """Refuse text with control, format and other characters that take no ink, by a `ValueError`."""
    if not text.isprintable() or not (text.isascii() or _UNSEEN.isdisjoint(text)):
        raise _fault(text, "has characters that cannot be seen; leave them out")


def _fault(name: str, what: str) -> ValueError:
    return ValueError(f"the name {ascii(name)[:70]} {what}")


def _check_marks(label: str) -> None:
    marks, carried = 0, False
    for character in label:
        if unicodedata.category(character).startswith("M"):
            marks += 1
            if not carried or marks > MOST_MARKS:
                raise _fault(label, "has marks without a letter, or too many on one; correct it")
        else:
            marks, carried = 0, character.isalnum()


def _check_scripts(word: str, name: str) -> None:
    """Refuse letters that are not in everyday use, and scripts that do not go together."""
    found = {script for character in word if (script := _script(character)) is not None}
    if "" in found:
        raise _fault(name, "has letters that are hardly ever used; write it in everyday ones")
    if len(found) > 1 and not any(found <= each for each in _TOGETHER):
        one, *_, other = sorted(each.capitalize() for each in found)
        raise _fault(name, f"mixes {one} and {other} letters; write it in one script")


@lru_cache(8192)
def _script(character: str) -> str | None:
    """The script of a letter or digit, "" if names may not have it, None if it is of any script."""
    category = unicodedata.category(character)
    if category[0] not in "LM" and category != "Nd":
        return None
    if (character.isascii() and category == "Nd") or character in _COMMON:
        return None
    described = unicodedata.name(character, "")
    script = re.split("[ -]", described, maxsplit=1)[0]
    if script == "COMBINING":
        return None
    script = _ALIASES.get(script, script)
    # Fullwidth, mathematical and the like: drawn as the letters that they stand for.
    tag = unicodedata.decomposition(character).partition(">")[0]
    stands_for_another = tag.startswith("<") and tag not in ("<super", "<sub")
    everyday = script not in _EVERYDAY or _EVERYDAY[script].match(character) is not None
    is_mark = category[0] == "M"
    if script not in _SCRIPTS or stands_for_another or not (everyday or is_mark):
        return ""
    return script


def skeletons(name: str, /) -> frozenset[str]:
    """Return what is left of a name without what people overlook; names that share one look alike.

    >>> skeletons("North") & skeletons("north") != set()
    True
    >>> skeletons("\u0441\u043e\u0440-1") & skeletons("cop-l") != set()
    True
    >>> skeletons("north") & skeletons("south")
    frozenset()
    """
    # Capitals first: a Greek Nu is drawn like an N, and its small letter like a v.
    drawn = " ".join(unicodedata.normalize("NFKC", name).translate(_LIKE).split())
    strokes = drawn.translate(_STROKES).replace("rn", "m").replace("vv", "w")
    return frozenset({drawn.casefold().translate(_LIKE), strokes})


def by_skeleton(names: Iterable[str], /) -> dict[str, str]:
    """Return names by all that is left of them, for `look_alike`."""
    return {skeleton: name for name in names for skeleton in skeletons(name)}


def look_alike(name: str, known: Mapping[str, str], /) -> str | None:
    """Return a name of `by_skeleton` that looks like this one, or is it.

    >>> look_alike("a1", by_skeleton(["b1", "al"]))
    'al'
    """
    return next((known[each] for each in sorted(skeletons(name)) if each in known), None)


def first_look_alikes(names: Iterable[str], /) -> tuple[str, str] | None:
    """Return two of these names that are the same or look alike, or None if there are none.

    >>> first_look_alikes(["north", "south", "North"])
    ('north', 'North')
    """
    seen: dict[str, str] = {}
    for name in names:
        if (other := look_alike(name, seen)) is not None:
            return other, name
        seen |= by_skeleton([name])
    return None
