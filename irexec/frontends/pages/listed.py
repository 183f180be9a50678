"""Tensor values as the operation pages list them in comments: `values: [1, 2]`, `axis value is: 0`, `{{1.0f}}`, ..."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from irexec.core.records import record

ListedValue: TypeAlias = "int | float | bool | str | list[ListedValue]"

MAX_DEPTH = 32
MAX_DIGITS = 40


@record(frozen=True)
class Listed:
    """Values that a comment lists.

    `name` is the values' name in the comment ("axes"), `kind` their type as the comment states it ("int", "float",
    "utf-8", an element type's name) or as a suffix such as `1.0f` implies it, `note` the remark after the values.
    `balanced` is False if closing brackets are missing or surplus.
    """

    value: ListedValue
    name: str | None = None
    kind: str | None = None
    note: str = ""
    balanced: bool = True

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.value, list)


class Unfinished(Enum):
    """A comment whose list is not closed: the next comment continues it."""

    LIST = "list"


def read_values(comment: str, *, closing: bool = False) -> Listed | Unfinished | None:
    """Return the values that a comment lists; None if it is only a remark.

    A comment whose brackets are still open at its end is `Unfinished`: the text of the next comment belongs to it.
    With `closing=True` there is no next comment, and missing closing brackets are supplied.
    """
    text = _one_line(comment)
    if (empty := _EMPTY.fullmatch(text)) is not None:
        return Listed([], _name(empty["name"]))
    for lead, start in _leads(text):
        literal = _literal(text, start, after_lead=bool(lead))
        if literal is None:
            if text[start : start + 1] in ("[", "{"):
                return _with_words(text, lead, start)
            continue
        if isinstance(literal.value, list):
            return _listed_list(text, lead, literal, closing)
        if (scalar := _listed_scalar(text, lead, literal)) is not None:
            return scalar
    return None


def leaves(value: Any) -> list[Any]:
    """Return the single values in nested lists."""
    if isinstance(value, list):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def role_of(comment: str) -> str | None:
    """Return the port's name in a remark that lists no values: "indices", "`X` input data", "query: B=1, H=2"."""
    text = _one_line(comment)
    match = _QUOTED_ROLE.match(text) or _ROLE.fullmatch(text) or _ROLE_WITH_REMARK.match(text)
    return match[1] if match and match[1].lower() not in _NOT_A_ROLE else None


def _one_line(comment: str) -> str:
    """Return the comment with each run of blanks outside quotes replaced by one blank."""
    return _BLANKS.sub(lambda match: match[1] or " ", comment).strip()


# Text before values: a separator, or one of these words, introduces them.

_BLANKS = re.compile(r"(\"[^\"]*\")|\s+")
_EMPTY = re.compile(r"(?P<name>[\w ]{1,120}?) (?:is|are) (?:an |the )?empty\b[\w\s-]{,120}\.?", re.IGNORECASE)
_INTRODUCER = re.compile(r"[:=#]|\b(?:is|are|contains|list)\b|\b(?:\w+_)?values?\b(?: of\b)?", re.IGNORECASE)
_WORDS = re.compile(r"(?=.*[A-Za-z])[\w`'\"./-]+(?:,? [\w`'\"./-]+)*")
_ABOUT_VALUES = re.compile(r"(?:\b|_)values?\b", re.IGNORECASE)
_SHAPE = re.compile(r" (?:shapes?|dims?|dimensions?)$", re.IGNORECASE)
_RANGE = re.compile(r"\b(?:range|interval|between|within)$", re.IGNORECASE)
_LONGEST_LEAD = 120
_MOST_WORDS = {":": 8, "=": 3, "#": 3, "": 8}


def _leads(text: str) -> list[tuple[str, int]]:
    """Return every way to divide `text` into introductory words and possible values: (words, start of the values)."""
    found = [("", 0)]
    for match in _INTRODUCER.finditer(text[:_LONGEST_LEAD]):
        start = match.end() + (text[match.end() : match.end() + 1] == " ")
        glued = start == match.end() and match[0] not in ":=#"
        if not glued and _introduces(text[: match.end()]):
            found.append((text[: match.end()], start))
    return found


def _introduces(lead: str) -> bool:
    separator = lead[-1] if lead[-1] in ":=#" else ""
    words = lead.removesuffix(separator).rstrip()
    # "data: data: [...]" repeats the name
    if (twice := re.fullmatch(r"(\w+) ?: (\w+)", words)) and twice[1] == twice[2]:
        words = twice[1]
    if _WORDS.fullmatch(words) is None or words.count(" ") >= _MOST_WORDS[separator]:
        return False
    about_shape = _SHAPE.search(words) is not None and _ABOUT_VALUES.search(words) is None
    return not about_shape and _RANGE.search(words) is None


# The values themselves

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_ITEM = re.compile(
    rf"(?P<number>{_NUMBER})(?P<suffix>[fF]|[uU]?[lL]{{0,2}})(?![\w.])"
    r"|(?P<special>[-+]?(?:nan|inf(?:inity)?))(?!\w)"
    r"|(?P<bool>true|false)(?!\w)"
    r"|(?P<quote>[\"'])(?P<string>(?s:.*?))(?P=quote)",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s*")
_WORD = re.compile(r"[^\s,\[\]{}]+")
_VALUES_FOLLOW = re.compile(r"(?:\b|_)values?(?: is| are)? ?[:=]?$", re.IGNORECASE)
_CLOSING = "]})"
_TEXT_OF_BYTES = re.compile(r"\butf-?8\b|\bbytes?\b", re.IGNORECASE)


class _Literal(NamedTuple):
    value: ListedValue
    end: int
    is_float: bool
    open: int = 0


def _literal(text: str, start: int, *, after_lead: bool) -> _Literal | None:
    """Return a list, several lists or scalars in a row, or one scalar, at `start`; None for any other text."""
    items: list[ListedValue] = []
    position, is_float = start, False
    while True:
        bracket = text[position : position + 1] in ("[", "{")
        part = _list(text, position) if bracket else _scalar(text, position)
        if part is None:
            break
        items.append(part.value)
        position, is_float = part.end, is_float or part.is_float
        separator = re.compile(r"\s*,\s*").match(text, position)
        same = separator is not None and _starts_like(text, separator.end(), bracket)
        if part.open or separator is None or not same:
            break
        position = separator.end()
    if not items or part is None:
        return None
    if len(items) == 1:
        return _Literal(items[0], position, is_float, part.open)
    if not after_lead and not isinstance(items[0], list) and text[position:].strip():
        return None
    return _Literal(items, position, is_float, part.open)


def _starts_like(text: str, position: int, bracket: bool) -> bool:
    if bracket:
        return text[position : position + 1] in ("[", "{") and _list(text, position) is not None
    return _scalar(text, position) is not None and not re.match(r"[\w.+-]+ [A-Za-z]", text[position:])


def _scalar(text: str, position: int) -> _Literal | None:
    match = _ITEM.match(text, position)
    if match is None:
        return None
    if match["number"] is not None:
        suffix, digits = match["suffix"].lower(), match["number"]
        if suffix == "f" or not digits.lstrip("+-").isdigit():
            return _Literal(float(digits), match.end(), True)
        return _Literal(int(digits), match.end(), False) if len(digits) <= MAX_DIGITS else None
    if match["special"] is not None:
        return _Literal(float(match["special"]), match.end(), True)
    if match["bool"] is not None:
        return _Literal(match["bool"].lower() == "true", match.end(), False)
    return _Literal(match["string"], match.end(), False)


def _with_words(text: str, lead: str, start: int) -> Listed | None:
    """Return a list of numbers and words, such as `values: [1, two]`, so that the words are reported; None for words
    alone, for a list with an ellipsis, and for a list that is not said to contain the values.
    """
    literal = _list(text, start, words=True) if _VALUES_FOLLOW.search(lead) else None
    if literal is None or literal.open:
        return None
    items = leaves(literal.value)
    if {"...", "\u2026"} & set(map(str, items)) or not any(isinstance(item, (int, float)) for item in items):
        return None
    return Listed(literal.value, _name(lead))


def _list(text: str, position: int, *, words: bool = False) -> _Literal | None:
    """Return a bracketed list; `open` counts the brackets that the text does not close. `words`: items may be words."""
    whole: list[ListedValue] = []
    stack = [whole]
    is_float, separated = False, True
    while True:
        position = _GAP.match(text, position).end()  # type: ignore[union-attr]
        character = text[position : position + 1]
        if not character:
            return _Literal(whole[0], position, is_float, len(stack) - 1)
        if character in "[{":
            if len(stack) > MAX_DEPTH:
                return None
            inner: list[ListedValue] = []
            stack[-1].append(inner)
            stack.append(inner)
            position, separated = position + 1, True
        elif character in "]}":
            stack.pop()
            position, separated = position + 1, False
            if len(stack) == 1:
                return _Literal(whole[0], position, is_float)
        elif character == ",":
            position, separated = position + 1, True
        else:
            item = _scalar(text, position) if separated or text[position - 1] == " " else None
            if item is None and words:
                word = _WORD.match(text, position)
                item = _Literal(word[0], word.end(), False) if word is not None else None
            if item is None:
                return None
            stack[-1].append(item.value)
            position, separated, is_float = item.end, False, is_float or item.is_float


# The text after the values, and the meaning of the whole comment

# A text with an operator or an index is an expression, not a list of values.
_EXPRESSION = re.compile(r"[\w\[]|\.\w|\s*[*+/=^<>]")
_REMARK = re.compile(r"[,;.(].*|[-–—] ?[^\W\d].*|[\])}]*", re.DOTALL)


def _listed_list(text: str, lead: str, literal: _Literal, closing: bool) -> Listed | Unfinished | None:
    if literal.open and not closing:
        return Unfinished.LIST
    rest = text[literal.end :].lstrip(_CLOSING)
    balanced = not literal.open and len(rest) == len(text) - literal.end
    if _EXPRESSION.match(rest) is not None:
        return None
    return Listed(literal.value, _name(lead), _kind(lead, rest, literal), rest.strip().lstrip(",; "), balanced)


def _listed_scalar(text: str, lead: str, literal: _Literal) -> Listed | None:
    rest = text[literal.end :].strip()
    is_text = isinstance(literal.value, str)
    separated = lead[-1:] in (":", "=", "#")
    if not lead:
        accepted = not rest
    elif is_text:
        accepted = separated and _EXPRESSION.match(text, literal.end) is None
    else:
        accepted = (separated or _ABOUT_VALUES.search(lead) is not None) and _REMARK.fullmatch(rest) is not None
    return Listed(literal.value, _name(lead), _kind(lead, rest, literal), rest.lstrip(",; ")) if accepted else None


# The meaning of words in the lead

_FILLER = {
    "a", "an", "the", "this", "these", "int", "integer", "float", "bool", "boolean", "string", "actual", "tensor",
}  # fmt: skip
_NAME_ENDS = re.compile(r"\b(?:values?|is|are|list|contains|with|of|in)\b|[:=#]", re.IGNORECASE)
_TYPE_WORD = re.compile(r"\b(int|integer|float|bool|boolean|string|bf16|[iuf](?:8|16|32|64)|(?:u?int|float)\d+)\b")
_KIND_OF_WORD = {"integer": "int", "boolean": "bool", "float": "float", "int": "int"}

_QUOTED_ROLE = re.compile(r"`(\w+)`")
_ROLE = re.compile(r"([A-Za-z_]\w*(?: [A-Za-z_]\w*)?)")
_ROLE_WITH_REMARK = re.compile(r"([A-Za-z_]\w*) ?:(?=\s)")
_NOT_A_ROLE = {"type", "note", "assumes", "where", "min value", "max value", "some data", "any data"}


def _name(lead: str) -> str | None:
    end = _NAME_ENDS.search(lead)
    words = (lead[: end.start()] if end else lead).replace("`", "").split()
    while words and words[0].lower() in _FILLER:
        words.pop(0)
    if len(words) > 1 and words[-1].lower() in ("input", "output"):
        words.pop()
    if re.search(r"_values?\b", lead) and not words:
        words = lead.split()[-1:]
    return " ".join(words).strip() or None if len(words) <= 3 else None


def _kind(lead: str, rest: str, literal: _Literal) -> str | None:
    if isinstance(literal.value, str) and _TEXT_OF_BYTES.search(rest):
        return "utf-8"
    if (word := _TYPE_WORD.search(lead)) is not None:
        return _KIND_OF_WORD.get(word[1], word[1])
    return "float" if literal.is_float else None
