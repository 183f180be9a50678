"""Patterns, forms and vocabularies of OpenVINO Tokenizers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.ops.spec.constraints import ConstraintError
from irexec.ops.tokenizers import models, normalization, splitting
from irexec.ops.tokenizers.charsmap import form_of
from irexec.ops.tokenizers.patterns import Pattern


def strings(*texts: str) -> list[Any]:
    raw = [text.encode() for text in texts]
    borders = np.cumsum([0, *map(len, raw)]).astype(np.int32)
    return [borders[:-1].copy(), borders[1:].copy(), np.frombuffer(b"".join(raw), np.uint8).copy()]


def rows(*texts: str) -> list[Any]:
    count = np.arange(len(texts) + 1, dtype=np.int32)
    return [count[:-1].copy(), count[1:].copy(), *strings(*texts)]


def chars(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8).copy()


def refused(constraint: str, operator: Any, *inputs: Any, **attributes: Any) -> str:
    with pytest.raises(ConstraintError) as caught:
        operator(*inputs, **attributes)
    assert caught.value.constraint == constraint, caught.value
    return str(caught.value)


def test_c3_the_number_of_inputs() -> None:
    pytest.importorskip("regex")
    refused("C3", splitting.regex_split, *rows("a"), *[chars("a")] * 3)
    refused("C3", normalization.regex_normalization, *strings("a"), chars("a"))


def test_c4_a_pattern_that_cannot_be_compiled() -> None:
    pytest.importorskip("regex")
    said = refused("C4", splitting.regex_split, *rows("a"), chars("(a"))
    assert "'(a'" in said and "missing )" in said


def test_without_the_package_regex_the_operator_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    said = refused("C4", splitting.regex_split, *rows("a"), chars("a"))
    assert "pip install '.[tokenizers]'" in said
    assert models.trie_tokenizer(*rows("ab"), *strings("a", "b"), np.int32([5, 6]))[2].tolist() == [5, 6]


def test_rows_of_empty_strings_have_no_pieces() -> None:
    pytest.importorskip("regex")
    found = splitting.regex_split(*rows("", ""), chars("a"))
    assert [part.tolist() for part in found[:2]] == [[0, 0], [0, 0]]


def test_bytes_that_are_not_utf8_match_nothing() -> None:
    pytest.importorskip("regex")
    assert list(Pattern(rb"\w", "C4").matches(b"a\xff")) == []
    assert Pattern(rb"^ ", "C4").replaced(b" \xff", b"-", everywhere=True) == b"-\xff"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"[\p{Han}\s]", "a 中。b", [" ", "中", "。"]),
        (r"\x{4E2D}|\Q[a\E", "中[a]", ["中", "[a"]),
        (r"[]a]+", "b]a]", ["]a]"]),
        (r"[^]a]", "]ab", ["b"]),
        (r"\w+", "a_²‿é!", ["a_²‿é"]),
        (r"[[:punct:]]+", "a+.b¢", ["+."]),
        (r"a\z", "a", ["a"]),
    ],
)
def test_the_classes_are_those_of_pcre2(pattern: str, text: str, expected: list[str]) -> None:
    pytest.importorskip("regex")
    raw = text.encode()
    assert [raw[a:b].decode() for a, b, *_ in Pattern(pattern.encode(), "C4").matches(raw)] == expected


def test_forms_do_not_order_marks() -> None:
    assert form_of("nfc", False)("a\u0323\u0301") == "ạ\u0301"
    assert form_of("nfd", False)("a\u0301\u0323") == "a\u0301\u0323"
    assert form_of("nfkc", False)("ｇ\u0307") == "ġ"
    assert form_of("identity", True)("ÀẞİĲ") == "àßİĳ"


def test_vocabularies_of_constants_are_made_once_and_give_the_same() -> None:
    ops, opset = irexec.extension, irexec.opset15
    text = opset.parameter([-1], np.dtype("u1"), name="chars")
    row = [opset.constant(np.int32([value])) for value in (0, 1, 0, 4)]
    entries = [opset.constant(array) for array in (*strings("a", "b", "ab"), *strings("a b"))]
    made = ops.bpe_tokenizer(*row, text, *entries)
    model = irexec.Model([made.output(2)], [text], "tokens")
    compiled = irexec.compile_model(model)
    for _ in range(3):
        assert compiled([chars("abba")])[0].tolist() == [2, 1, 0]
