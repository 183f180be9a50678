"""Random calls of the operators of OpenVINO Tokenizers, with the results of the package."""

from __future__ import annotations

import io
import itertools
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openvino as ov
import openvino.opset15 as ops
from openvino_tokenizers import _get_factory
from sentencepiece import SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto

Array = np.ndarray[Any, np.dtype[Any]]
Text = str | bytes

# RegexSplit is called with flags: without flags the package reads uninitialized memory.
PATTERNS = [r"\s+", r"\s", " ", r"\p{P}", r"[^\s\p{L}]+", r"\w+|\W", "(?i:e|a)", r"\d{1,3}", r"(?:\s+(?!\S))|\s", r"\b"]
PATTERNS += ["a*", "[[:alpha:]]+", "▁", r"^|\z", r"(\p{Lu})(\p{Ll}*)", r"\p{Han}", r"\x{41}|\Q[C\E"]
REPLACED = [
    (r"\s+", " "),
    (r"(\p{L})(\p{N})", r"\2-\1"),
    ("(a)|(b)", r"[\1]"),
    ("^", "▁"),
    ("(^)(.)", "▁$2"),
    ("e", "$$"),
]
REPLACED += [("e", "$"), ("x*", "-"), ("(?<n>o)", "${n}${n}"), (r"\p{Mn}", ""), (" ", "▁"), (" $", ""), ("^ ", "")]
REPLACED += [(r" ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't)", r"\1")]
BEHAVIOURS = ("remove", "isolate", "contiguous", "mergedwithprevious", "mergedwithnext")
BROKEN = np.frombuffer(b"a\xc3\xa9\xe2\x96\x81\xf0\x9f\x99\x82\x80\xff\xc0\xed\xa0\xf5\xe0 z", np.uint8)


class Call(NamedTuple):
    type: str
    inputs: list[Array]
    attributes: dict[str, Any]
    results: list[Array]


def _encoded(text: Text) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def chars(text: Text) -> Array:
    return np.frombuffer(_encoded(text), np.uint8).copy()


def strings(texts: Sequence[Text]) -> list[Array]:
    """Return begins, ends and bytes of the texts."""
    raw = [_encoded(text) for text in texts]
    borders = np.cumsum([0, *map(len, raw)]).astype(np.int32)
    return [borders[:-1].copy(), borders[1:].copy(), chars(b"".join(raw))]


def ragged(lengths: Sequence[int]) -> list[Array]:
    """Return the begins and ends of rows of these lengths."""
    borders = np.cumsum([0, *lengths]).astype(np.int32)
    return [borders[:-1].copy(), borders[1:].copy()]


def numbers(*values: int) -> Array:
    return np.array(values, np.int32)


def one(value: int) -> Array:
    return np.array(value, np.int32)


class Source:
    """Draws arguments, and runs the package's operators."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.draw, self.rng = random.Random(11), np.random.default_rng(5)
        self._texts, self._core, self._factory = texts, ov.Core(), _get_factory()

    def texts(self, count: int) -> list[Text]:
        return [self.draw.choice(self._texts) for _ in range(count)]

    def rows(self) -> list[Array]:
        """Return a ragged tensor of strings."""
        lengths = [self.draw.randint(1, 3) for _ in range(self.draw.randint(1, 4))]
        return ragged(lengths) + strings(self.texts(sum(lengths)))

    def tokens(self, least: int = 0) -> list[Array]:
        """Return a ragged tensor of three rows of numbers."""
        rows = [self.rng.integers(0, 9, self.draw.randint(least, 7)).astype(np.int32) for _ in range(3)]
        return [*ragged([len(row) for row in rows]), np.concatenate(rows)]

    def flags(self, count: int) -> Array:
        return self.rng.random(count) < 0.4

    def call(self, type: str, values: list[Array], constants: list[Array], **attributes: Any) -> Call:
        parameters = [ops.parameter([-1] * value.ndim, value.dtype.type) for value in values]
        inputs = [p.output(0) for p in parameters] + [ops.constant(value).output(0) for value in constants]
        node = self._factory.create(type, inputs, attributes)
        count = node.get_output_size()
        model = ov.Model([ops.result(node.output(port)) for port in range(count)], parameters)
        results = self._core.compile_model(model, "CPU")([value.copy() for value in values])
        return Call(type, [*values, *constants], attributes, [np.array(results[port]) for port in range(count)])


def calls(texts: Sequence[str]) -> Iterator[Call]:
    """Yield calls of every operator that irexec has, except RaggedTensorPack."""
    source = Source(texts)
    yield from _splits(source)
    yield from _replacements(source)
    yield from _forms(source)
    yield from _compiled_maps(source)
    for _ in range(8):
        yield from _numbers(source)
        yield from _segments(source)
        yield from _models(source)


def _splits(source: Source) -> Iterator[Call]:
    for behaviour, invert, pattern in itertools.product(BEHAVIOURS, (False, True), PATTERNS):
        rows = source.rows()
        flags = source.flags(len(rows[2])) & source.draw.choice([False, False, True])
        most = source.draw.choice([-1, -1, 1, 2])
        inputs = [*rows, flags]
        yield source.call("RegexSplit", inputs, [chars(pattern)], behaviour=behaviour, invert=invert, max_splits=most)
    for pattern in (r"(<s>|</s>)", r"\s*(\[CLS\])\s*|(<pad>)", r"<\|im_start\|>"):
        for _ in range(6):
            yield source.call("SpecialTokensSplit", source.rows(), [chars(pattern)])


def _replacements(source: Source) -> Iterator[Call]:
    for (pattern, by), everywhere in itertools.product(REPLACED, (True, False)):
        for flags in ([], [], [source.flags(4)]):
            inputs = strings(source.texts(4)) + flags
            yield source.call("RegexNormalization", inputs, [chars(pattern), chars(by)], global_replace=everywhere)
    for round in range(40):
        broken = [bytes(source.rng.choice(BROKEN, source.draw.randint(0, 12)).tolist()) for _ in range(4)]
        yield source.call("UTF8Validate", strings(broken), [], replace_mode=bool(round % 2))
    odd: list[Text] = ["<0x41>", "<0xE2>", "<s>", "abc", "<0xzz>", "<0xe2>", "<abcd>", "<a>cd>", ""]
    yield source.call("ByteFallback", strings(odd), [])


def _forms(source: Source) -> Iterator[Call]:
    for _ in range(4):
        inputs, flags = strings(source.texts(4)), [source.flags(4)]
        yield source.call("CaseFold", inputs, [], encoding="")
        yield source.call("CaseFold", inputs, [], encoding="", lower=False)
        yield source.call("CaseFold", inputs + flags, [], encoding="utf-8")
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            yield source.call("NormalizeUnicode", inputs + flags, [], normalization_form=form)
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    for values in itertools.product((False, True), repeat=3):
        attributes = dict(zip(names, values, strict=True)) | {"nmt": False}
        for form in ("nfc", "NFD", "nfkc", "nfkd"):
            inputs = [*strings([*source.texts(6), b"\xff a\x80b ", "  ", "  x  y  "]), source.flags(9)]
            fold = bool(source.draw.getrandbits(1))
            given = attributes | {"normalization_form": form, "case_fold": fold}
            yield source.call("CharsMapNormalization", inputs, [], **given)


def _compiled_maps(source: Source) -> Iterator[Call]:
    """Yield calls with maps of a few rules, which SentencePiece compiles while it trains a model."""
    rules = ["41\t61", "41 42\t7A 20 7A", "E9\t65", "9\t20", "A\t20", "42B\t20 42B 20"]
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "rules.tsv")).write_text("\n".join(rules) + "\n")
        model = io.BytesIO()
        options = {"vocab_size": 60, "hard_vocab_limit": False, "normalization_rule_tsv": str(path), "minloglevel": 2}
        lines = iter(["the quick brown fox jumps over the lazy dog"] * 9)
        SentencePieceTrainer.train(sentence_iterator=lines, model_writer=model, **options)
    proto = ModelProto()
    proto.ParseFromString(model.getvalue())
    compiled = chars(proto.normalizer_spec.precompiled_charsmap)
    names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    for values in itertools.product((False, True), repeat=3):
        inputs = strings([*source.texts(6), b"\xff a\x80b AB ", "  ", "  A  AB  yé\tы"])
        given = dict(zip(names, values, strict=True)) | {"normalization_form": "", "case_fold": False, "nmt": False}
        yield source.call("CharsMapNormalization", inputs, [compiled], **given)
        yield source.call("CharsMapNormalization", [*inputs, source.flags(9)], [compiled], **given)


def _numbers(source: Source) -> Iterator[Call]:
    rows = source.rows()
    yield source.call("BytesToChars", rows, [])
    yield source.call("BytesToChars", [*rows, source.flags(len(rows[2]))], [])
    written = source.call("BytesToChars", rows, []).results
    yield source.call("CharsToBytes", written, [])
    yield source.call("FuzeRagged", rows[:4], [])
    entries = [*strings(["a", "b", "c", "a"]), numbers(5, 6, 7, 8), one(-1)]
    yield source.call("VocabEncoder", strings([*source.texts(5), "a", "b"]), entries)
    data = source.rng.integers(-2, 7, (3, 4)).astype(np.int32)
    entries = strings(["a", "b", "ab", "▁", "é"])
    yield source.call("VocabDecoder", [data], [*entries, numbers(1)], skip_tokens=[])
    yield source.call("VocabDecoder", [data[:, : source.draw.randint(0, 2)]], entries, skip_tokens=[0, 2])
    left = [source.draw.choice("abc") for _ in range(5)]
    right = [source.draw.choice("abc") for _ in range(source.draw.choice([1, 5]))]
    yield source.call("EqualStr", strings(left) + strings(right), [])


def _segments(source: Source) -> Iterator[Call]:
    for side in ("left", "right"):
        words = [chars(side), chars("longest_first")]
        most = one(source.draw.randint(0, 6))
        yield source.call("Truncate", source.tokens(), [most, *words], m_num_inputs=1)
        for mode in ("only_first", "only_second", "longest_first"):
            both = source.tokens() + source.tokens()
            yield source.call("Truncate", both, [most, chars(side), chars(mode)], m_num_inputs=2)
        right = side == "right"
        given: dict[str, Any] = {"pad_right": right, "m_pad_max_length": False}
        yield source.call("RaggedToDense", source.tokens(), [one(5), one(-1)], **given)
        yield source.call("RaggedToDense", source.tokens(), [one(5), one(-1), np.array(not right)], **given)
    yield source.call("RaggedToDense", source.tokens(7), [one(5), one(-1)], pad_right=True, m_pad_max_length=True)
    yield source.call("CombineSegments", source.tokens() + source.tokens(), [numbers(0, 1)])
    begin = [one(0), one(2), numbers(7, 8)]
    yield source.call("CombineSegments", begin + source.tokens() + source.tokens(), [numbers(3, 0, 1)])
    yield source.call("RaggedToSparse", source.tokens()[:2], [])
    rows = np.sort(source.rng.integers(0, 4, source.draw.randint(0, 6))).astype(np.int32)
    yield source.call("RaggedToRagged", [rows], [numbers(4)])


def _models(source: Source) -> Iterator[Call]:
    words = [source.draw.choice(["abab", "ab", "ba", "a"]) for _ in range(3)]
    entries = [*strings(["a", "b", "ab", "aba"]), numbers(3, 1, 7, 5)]
    yield source.call("TrieTokenizer", ragged([1, 1, 1]) + strings(words), entries)
    entries = [*strings(["a", "the", "##x", "##e", "q", "##u", "qu", "М"]), one(99)]
    longest = source.draw.choice([3, 100])
    yield source.call("WordpieceTokenizer", source.rows(), entries, suffix_indicator="##", max_bytes_per_word=longest)
    entries = strings(["<unk>", "a", "the", "e", "q", "qu", "М", "ы", " ", "qui"])
    entries.append(source.rng.normal(-5, 2, 10).astype(np.float32))
    given: dict[str, Any] = {"byte_fallback": False, "unk_token_id": 0, "fuse_unk": True, "min_score": np.inf}
    yield source.call("UnigramTokenizer", source.rows(), entries, **given)
    entries = strings(["<unk>", "a", "b", "c", "ab", "bc", "abc", "aa", "<0x20>", "c</w>", "bc</w>"])
    for merges in (["a b", "b c", "ab c", "a a"], ["b c", "a a", "a bc"]):
        words = ["".join(source.draw.choice("abc d") for _ in range(9)) for _ in range(3)]
        given = {"suffix_indicator": "", "cache_capacity": 100, "fuse_unk": bool(source.draw.getrandbits(1))}
        text = ragged([1, 2]) + strings(words)
        fallback = bool(source.draw.getrandbits(1))
        first: dict[str, Any] = given | {"unk_token": "<unk>", "end_suffix": "", "byte_fallback": fallback}
        yield source.call("BPETokenizer", text, entries + strings(merges), **first)
        added = [*strings([*merges, "b c</w>"]), *strings(["zz"]), numbers(50)]
        second: dict[str, Any] = given | {"unk_token": "", "end_suffix": "</w>", "byte_fallback": False}
        yield source.call("BPETokenizer", text, entries + added, **second)
