"""Constants in a `.bin`: their values, and every error of a range."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import irexec
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import BF16, BOOLEAN, F16, F32, F64, I4, I64, STRING, U8, ElementType
from irexec.ir.document import Layer
from irexec.ir.weights.file import Weights
from irexec.ir.weights.strings import write_strings
from irexec.ir.xml.source import Source

DATA = bytes(range(64))


def layer_of(text: str) -> tuple[Layer, Findings]:
    source = Source(f'<layer id="0" name="c" type="Const">\n  <data {text}/></layer>')
    elements = source.elements()
    data = dict(elements.attributes) if elements.enter() else {}
    return Layer(at=0, id="0", name="c", type="Const", data=data, data_at=1), Findings(source.locate)


def constant(weights: Weights, *arguments) -> tuple[np.ndarray | None, list[str]]:
    findings = Findings()
    value = weights.constant(*arguments, findings)
    weights.check_usage(findings)
    return None if value is None else value.array, [
        finding.code for finding in findings.report if finding.code != "C009"
    ]


CASES = [
    ('element_type="f32" shape="1" offset="0"', "C001", 2, 3),
    ('element_type="f32" shape="1" size="4"', "C001", 2, 3),
    ('element_type="f32" offset="0" size="4"', "C001", 2, 3),
    ('shape="1" offset="0" size="4"', "C001", 2, 3),
    ('element_type="f32" shape="4" offset="56" size="16"', "C002", 2, 46),
    ('element_type="f32" shape="4" offset="9223372036854775807" size="16"', "C002", 2, 46),
    ('element_type="f32" shape="4" offset="0" size="12"', "C003", 2, 55),
    ('element_type="u3" shape="9" offset="0" size="4"', "C003", 2, 54),
    ('element_type="f32" shape="1" offset="0" size="8"', "C004", 2, 55),
    ('element_type="f32" shape="1" offset="0" size="4" value="1"', "C006", 2, 65),
    ('element_type="string" shape="1" offset="0" size="64"', "C007", 2, 49),
    ('element_type="FP32" shape="1" offset="0" size="4"', "C012", 2, 23),
    ('element_type="dynamic" shape="1" offset="0" size="4"', "C012", 2, 23),
    ('element_type="f32" shape="-1" offset="0" size="4"', "C012", 2, 35),
    ('element_type="f32" shape="?" offset="0" size="4"', "C012", 2, 35),
    ('element_type="f32" shape="1,x" offset="0" size="4"', "C012", 2, 35),
    ('element_type="f32" shape="1" offset="zero" size="4"', "C012", 2, 46),
    ('element_type="f32" shape="1" offset="18446744073709551615" size="4"', "C012", 2, 46),
    ('element_type="f32" shape="1" offset="-4" size="4"', "C012", 2, 46),
    ('element_type="f32" shape="1" offset="0" size="4 "', "C012", 2, 55),
    ('element_type="f32" shape="1" offset=" 0" size="4"', "N010", 2, 46),
    ('element_type="f32" shape="4294967296,4294967296" offset="0" size="4"', "C013", 2, 35),
    ('element_type="f32" shape="0,9223372036854775807" offset="0" size="0"', "C013", 2, 35),
    ('element_type="u1" shape="' + "1," * 64 + '1" offset="0" size="1"', "C013", 2, 34),
    ('element_type="boolean" shape="1" offset="2" size="1"', "C014", 2, 50),
]


@pytest.mark.parametrize(("text", "code", "line", "column"), CASES, ids=lambda value: str(value)[:60])
def test_finding(text, code, line, column) -> None:
    layer, findings = layer_of(text)
    weights = Weights(DATA)
    weights.of_layer(layer, findings)
    weights.check_usage(findings)
    said = [found for found in findings.report if found.code != "C009"]
    assert [(found.code, found.line, found.column) for found in said] == [(code, line, column)]
    assert said[0].layer.name == "c"


def test_every_code_has_an_example() -> None:
    below = {"C008", "C009", "C010", "C011", "C015", "C016"}  # C015, C016: in tests of the text form and of lone models
    assert {code for code in CODES if code[0] == "C"} - below == {case[1] for case in CASES} - {"N010"}


def test_several_findings_together() -> None:
    layer, findings = layer_of('element_type="?" shape="a" offset="b"')
    Weights(DATA).of_layer(layer, findings)
    assert [found.code for found in findings.report] == ["C012", "C012", "C012", "C001"]
    bare = Layer(at=0, id="0", name="c", type="Const")
    Weights(DATA).of_layer(bare, findings)
    assert [(found.code, found.line) for found in findings.report][4:] == [("C001", 1)] * 4


@pytest.mark.parametrize(
    ("element_type", "shape", "offset", "size", "expected"),
    [
        (U8, (2, 2), 1, 4, [[1, 2], [3, 4]]),
        (U8, (), 5, 1, 5),
        (U8, (0, 3), 64, 0, []),
        (U8, (0,), 3, 1, []),
        (I64, (1,), 8, 8, [int.from_bytes(DATA[8:16], "little")]),
        (I4, (3,), 0x21, 2, [1, 2, 2]),
        (BOOLEAN, (2,), 0, 2, [False, True]),
    ],
)
def test_values(element_type, shape, offset, size, expected) -> None:
    value, codes = constant(Weights(DATA), element_type, shape, offset, size)
    assert codes == []
    assert value.dtype == element_type.dtype
    assert value.shape == shape
    assert value.tolist() == expected
    assert not value.flags.writeable


def test_strings() -> None:
    blob = write_strings(["a", "größe"])
    value, codes = constant(Weights(b"xx" + blob), STRING, (2, 1), 2, len(blob))
    assert codes == []
    assert value.tolist() == [["a"], ["größe"]]
    value, codes = constant(Weights(blob), STRING, (3,), 0, len(blob))
    assert (value, codes) == (None, ["C007"])


def test_a_file_is_mapped_and_not_copied(tmp_path) -> None:
    data = DATA * 512
    (tmp_path / "m.bin").write_bytes(data)
    weights = Weights.find(tmp_path / "m.xml")
    assert (weights.size, weights.file) == (len(data), str(tmp_path / "m.bin"))
    value, _ = constant(weights, F32, (4096,), 8, 4 * 4096)
    assert value.tolist() == np.frombuffer(data, "<f4", 4096, 8).tolist()
    base = value
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base.obj, mmap.mmap)


def test_small_constants_outlive_a_truncated_file(tmp_path) -> None:
    (tmp_path / "m.bin").write_bytes(DATA * 512)
    weights = Weights.find(tmp_path / "m.xml")
    value, _ = constant(weights, F32, (2,), 8, 8)
    os.truncate(tmp_path / "m.bin", 0)
    assert value.tolist() == np.frombuffer(DATA, "<f4", 2, 8).tolist()


def test_where_weights_come_from(tmp_path) -> None:
    (tmp_path / "a.b.bin").write_bytes(b"1")
    (tmp_path / "other").write_bytes(b"")
    assert Weights.find(tmp_path / "a.b.xml").size == 1
    assert Weights.find(tmp_path / "a.b.xml", tmp_path / "other").size == 0
    assert Weights.find(tmp_path / "a.b.xml", b"123").size == 3
    assert Weights.find(None).size == 0
    with pytest.raises(OSError, match="missing"):
        Weights.find(tmp_path / "a.xml", tmp_path / "missing")


def test_no_weights(tmp_path) -> None:
    weights = Weights.find(tmp_path / "m.xml")
    value, codes = constant(weights, F32, (2,), 0, 8)
    assert (value, codes) == (None, ["C010"])
    value, codes = constant(Weights.find(tmp_path / "m.xml"), F32, (0,), 0, 0)
    assert codes == []
    assert value.shape == (0,)


def test_values_that_are_not_numbers() -> None:
    values = np.array([1, np.inf, np.nan, 2], np.float32)
    findings = Findings()
    read = Weights(values.tobytes()).constant(F32, (4,), 0, 16, findings)
    assert read is not None and np.array_equal(read.array, values, equal_nan=True)
    assert [(found.code, found.message) for found in findings.report] == [
        ("C011", "2 of the constant's 4 values are NaN or infinity")
    ]


@pytest.mark.parametrize("count", [16, 20_000])
@pytest.mark.parametrize("kind", [F16, BF16, F32, F64], ids=str)
def test_one_value_of_many_that_is_not_a_number(kind: ElementType, count: int) -> None:
    values = np.random.default_rng(0).standard_normal(count).astype(kind.dtype)
    for other, codes in ((np.finfo(np.float16).max, []), (np.nan, ["C011"]), (-np.inf, ["C011"])):
        values[count // 2] = other
        findings = Findings()
        Weights(values.tobytes()).constant(kind, (count,), 0, values.nbytes, findings)
        assert [found.code for found in findings.report] == codes


@pytest.mark.parametrize("values", [[0, -np.inf, -np.inf, 0], [np.inf] * 4, [0, -np.inf, np.inf, 0]])
def test_masks_and_limits_are_meant(values: list[float]) -> None:
    findings = Findings()
    Weights(np.float32(values).tobytes()).constant(F32, (4,), 0, 16, findings)
    assert not len(findings.report)


def test_usage() -> None:
    weights, findings = Weights(DATA, file="m.bin"), Findings()
    for offset, size in ((0, 8), (0, 8), (8, 4), (20, 8), (24, 8), (13, 4)):
        weights.constant(F32, (size // 4,), offset, size, findings)
    weights.check_usage(findings)
    assert [found.code for found in findings.report] == ["C008", "C009"]
    shared, unused = findings.report
    assert "bytes 24 to 28" in shared.message
    assert "36 of 64 bytes" in unused.message
    assert unused.file == "m.bin"


def test_unused_bytes_are_not_known_after_an_error() -> None:
    weights = Weights(DATA)
    layer, findings = layer_of('element_type="f32" shape="1" offset="0"')
    weights.of_layer(layer, findings)
    weights.check_usage(findings)
    assert [found.code for found in findings.report] == ["C001"]


def test_large_unaligned_constants_leave_their_neighbours_as_they_are(tmp_path) -> None:
    values = np.arange(1 << 16, dtype=np.float32)
    path = tmp_path / "m.bin"
    path.write_bytes(b"\7" + values.tobytes() + values[::-1].tobytes())
    weights = Weights.find(None, path)
    first = constant(weights, U8, (1,), 0, 1)[0]
    shape, size = values.shape, values.nbytes
    np.testing.assert_array_equal(constant(weights, F32, shape, 1, size)[0], values)
    np.testing.assert_array_equal(constant(weights, F32, shape, 1 + size, size)[0], values[::-1])
    # Released pages are read again from the file.
    assert first.tolist() == [7]
    np.testing.assert_array_equal(constant(weights, F32, shape, 1, size)[0], values)


NUMBERS = st.one_of(st.integers(-2, 70), st.sampled_from([2**31, 2**62, 2**63 - 1]))


@given(
    st.sampled_from(sorted(ElementType.by_name)),
    st.lists(NUMBERS.filter(lambda number: number >= 0), max_size=4),
    NUMBERS,
    NUMBERS,
)
def test_no_range_escapes(name, shape, offset, size) -> None:
    data = f'element_type="{name}" shape="{",".join(map(str, shape))}" offset="{offset}" size="{size}"'
    layer, findings = layer_of(data)
    weights = Weights(DATA)
    value = weights.of_layer(layer, findings)
    weights.check_usage(findings)
    assert (value is None) <= bool(findings.report.errors)
    if value is not None:
        assert value.shape == tuple(shape)
        assert offset + size <= len(DATA)


def constants(count: int) -> str:
    """Return a model of `count` consecutive constants of 8 bytes each, on all of which the result depends."""
    layers = "".join(
        f'<layer id="{n}" name="c{n}" type="Const" version="opset1">'
        f'<data element_type="f32" shape="2" offset="{8 * n}" size="8"/>'
        '<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>'
        for n in range(count)
    )
    ports = "".join(f'<port id="{n}" precision="FP32"><dim>2</dim></port>' for n in range(count))
    edges = "".join(f'<edge from-layer="{n}" from-port="0" to-layer="90" to-port="{n}"/>' for n in range(count))
    return (
        f'<net name="m" version="11"><layers>{layers}<layer id="90" name="all" type="Concat" version="opset1">'
        f'<data axis="0"/><input>{ports}</input><output><port id="99" precision="FP32"><dim>{2 * count}</dim></port>'
        '</output></layer><layer id="91" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32">'
        f"<dim>{2 * count}</dim></port></input></layer></layers><edges>{edges}"
        '<edge from-layer="90" from-port="99" to-layer="91" to-port="0"/></edges></net>'
    )


def test_weights_that_are_missing_or_too_short_are_one_finding(tmp_path) -> None:
    (tmp_path / "m.xml").write_text(constants(10))
    (missing,) = irexec.validate(tmp_path / "m.xml")
    assert missing.code == "C010"
    assert "does not exist; 80 bytes are needed, 10 of 10 constants affected" in missing.message
    assert missing.hint == "use --weights to give another file, or --random-weights to draw them"
    (given,) = irexec.validate(tmp_path / "m.xml", weights=tmp_path / "other.bin")
    assert given.code == "C010"
    assert given.message == f"the weights cannot be read: {tmp_path / 'other.bin'}: No such file or directory"
    (tmp_path / "m.bin").write_bytes(bytes(20))
    (short,) = irexec.validate(tmp_path / "m.xml")
    assert short.code == "C002"
    assert "it has 20 bytes, but 80 are needed; 8 of 10 constants affected" in short.message
    (tmp_path / "m.bin").write_bytes(bytes(79))
    (last,) = irexec.validate(tmp_path / "m.xml")
    assert (last.code, last.layer.name) == ("C002", "c9")
