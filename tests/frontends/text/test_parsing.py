"""Reading the text form: what each construct means, and where errors are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec
from irexec.frontends.reading import read

ADD = "model m (x: f32[2]) -> (y)\n  y = {}\n"


def validated(text: str) -> irexec.Report:
    return irexec.validate(text.encode())


def results(text: str, *inputs: Any) -> list[Any]:
    return [array.tolist() for array in irexec.compile_model(irexec.parse(text))(list(inputs)).values()]


WRITTEN = [
    ("a newest version", "y = Abs(x)", [1.0, 2.0]),
    ("a version", "y = Abs-1(x)", [1.0, 2.0]),
    ("a version in quotes", 'y = "Abs"-"opset1"(x)', [1.0, 2.0]),
    ("a use before the layer", "y = Add(x, c)\n  c = Constant f32[2] [1, 10]", [0.0, 12.0]),
    ("one value everywhere", "c = Constant f32[2] 1\n  y = Add(x, c)", [0.0, 3.0]),
    ("values in rows", "c = Constant f32[2,1] [[1], [10]]\n  y = Add(x, c)", [[0.0, 3.0], [9.0, 12.0]]),
    ("values in one row", "c = Constant f32[2,1] [1, 10]\n  y = Add(x, c)", [[0.0, 3.0], [9.0, 12.0]]),
    ("a scalar", "c = Constant f32[] 1e1\n  y = Add(x, c)", [9.0, 12.0]),
    ("bytes", 'c = Constant f32[1] hex "0000803f"\n  y = Add(x, c)', [0.0, 3.0]),
    ("a constant of a later opset", "c = Constant-16 f32[] 2\n  y = Add(x, c)", [1.0, 4.0]),
    ("infinities", "c = Constant f32[2] [inf, -inf]\n  y = Add(x, c)", [np.inf, -np.inf]),
    ("an attribute in brackets", "c = Constant f32[4] [1,2,3,4]\n  y = Reshape(c, s) special_zero=true\n"
     "  s = Constant i64[2] [2,2]", [[1.0, 2.0], [3.0, 4.0]]),
    ("a pair of attributes", "c = Constant f32[1,1,2] [1,3]\n  y = AvgPool-1(c) kernel=[2] strides=[2] pads=[0]:[0]"
     " exclude-pad=true", [[[2.0]]]),
    ("an output by number", "a = Constant i64[] 0\n  s = Split(x, a) num_splits=2\n  y = Add(s.1, s)", [1.0]),
    ("an output of a quoted name", 'a = Constant i64[] 0\n  "my s" = Split(x, a) num_splits=2\n'
     '  y = Add("my s".1, "my s")', [1.0]),
    ("a name that looks like an output", "s.1 = Abs(x)\n  s = Negative(x)\n  y = Add(s.1, x)", [0.0, 4.0]),
    ("an input that is not connected", "a = Constant f32[] 0\n  b = Constant f32[] 1\n  y = Clamp(x) min=0 max=1",
     [0.0, 1.0]),
    ("declared outputs", "y = Abs(x) -> f32[2] as (p, q)", [1.0, 2.0]),
    ("lines that continue", "y = Add(\n x,\n     x,\n)", [-2.0, 4.0]),
    ("comments", "y = Abs(x)  # the absolute (value", [1.0, 2.0]),
    ("other parts of a file", 'y = Abs(x) {rt_info {attribute name=fused_names version=0 value="a,b"}}', [1.0, 2.0]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), [case[1:] for case in WRITTEN], ids=[case[0] for case in WRITTEN])
def test_a_construct_means(lines: str, expected: Any) -> None:
    assert results(f"model m (x: f32[2]) -> (y)\n  {lines}\n", np.float32([-1, 2])) == [expected]


def test_random_values_depend_on_the_number() -> None:
    first, again, other = (
        results(f"model m () -> (c)\n  c = Constant f32[100] seed({number})\n")[0] for number in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert len(set(first)) == 100


def test_a_state_is_kept() -> None:
    text = """model m (x: f32[2]) -> (y)
  read  = ReadValue-6(x) variable_id=v variable_shape=[2] variable_type=f32
  y     = Add(read, x)
  store = Assign-6(y) variable_id=v
"""
    request = irexec.compile_model(irexec.parse(text)).create_infer_request()
    found = [request.infer([np.float32([1, 2])])["y"].tolist() for _ in range(3)]
    assert found == [[2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]


def test_bodies_run() -> None:
    text = """model m (c: boolean[], x: f32[2], n: i64[]) -> (y, sum)
  go  = Constant boolean[] true
  y   = If-8(c, x)
    then (a: f32[2]) -> (b)
      b = Negative(a)
    in 1 -> a
    out b -> 0
    else (a: f32[2]) -> (a)
    in 1 -> a
    out a -> 0
  sum = Loop-5(n, go, x)
    body (total: f32[2], step: i64[]) -> (next, go)
      float = Convert(step) destination_type=f32
      next  = Add(total, float)
      go    = Constant boolean[] true
    in 2 -> total
    in -> step purpose=current_iteration
    out next -> 0
    out go -> purpose=execution_condition
    back next -> total
"""
    x = np.float32([1, 2])
    assert results(text, np.array(True), x, np.int64(3)) == [[-1.0, -2.0], [4.0, 5.0]]
    assert results(text, np.array(False), x, np.int64(0)) == [[1.0, 2.0], [1.0, 2.0]]


NAMED = [
    ("x: f32[2]", "y", {"x"}, {"y"}),
    ("x: f32[2] as a", "y as b", {"a"}, {"b"}),
    ('x: f32[2] as (a, "b c")', "y as (c, \"d,e\")", {"a", "b c"}, {"c", "d,e"}),
    ("x: f32[2] as ()", "y as ()", set(), set()),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "outputs", "names", "results_"), NAMED)
def test_tensors_have_names(inputs: str, outputs: str, names: set[str], results_: set[str]) -> None:
    model = irexec.parse(f"model m ({inputs}) -> ({outputs})\n  y = Abs(x)\n")
    assert model.inputs[0].names == names
    assert model.outputs[0].names == results_


WRONG = [
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x\n", "X013", 2, 10),
    ("model m (x: f32[2]) -> (y)\n  z = Abs(x\n  y = Abs(z)\n", "X013", 2, 10),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x))\n", "X013", 2, 13),
    ("model m (x: f32[2]) -> (y)\n  y = Abs x\n", "X013", 2, 11),
    ("model m (x: f32[2]) -> (y)\n  y Abs(x)\n", "X013", 2, 5),
    ("model m (x: f32) -> (y)\n  y = Abs(x)\n", "X013", 1, 13),
    ("model m x: f32[2]\n  y = Abs(x)\n", "X013", 1, 9),
    ("model m (x: f32[2]) -> (y)\ny = Abs(x)\n", "X013", 2, 1),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x)\n    z = Abs(y)\n", "X013", 3, 5),
    ('model m (x: f32[2]) -> (y)\n  y = Abs("x)\n', "X013", 2, 11),
    ('model m (x: f32[2]) -> (y)\n  y = Abs("\\q")\n', "X013", 2, 11),
    ("model m (x: f32[2]) -> (y)\n  y = <Abs>(x)\n", "X013", 2, 7),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x) 1<=2\n", "X013", 2, 15),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x) {output port=3 {}}\n", "X013", 2, 27),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(X1)\n", "X014", 2, 11),
    ("model m (x: f32[2]) -> (y.z)\n  y = Abs(x)\n", "X014", 1, 25),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x)\n  y = Abs(x)\n", "X015", 3, 3),
    ("model m (x: f32[2]) -> (x)\n  x = Abs(x)\n", "X015", 2, 3),
    ("model m () -> (c)\n  c = Constant i64[2] [1,2,3]\n", "C015", 2, 23),
    ("model m () -> (c)\n  c = Constant i64[2,2] [[1,2],[3]]\n", "C015", 2, 25),
    ("model m () -> (c)\n  c = Constant i64[2,2] [[1],[2],[3],[4]]\n", "C015", 2, 25),
    ("model m () -> (c)\n  c = Constant u8[2] [1,256]\n", "C015", 2, 25),
    ("model m () -> (c)\n  c = Constant i8[] 1.5\n", "C015", 2, 21),
    ("model m () -> (c)\n  c = Constant f32[] x\n", "C015", 2, 22),
    ("model m () -> (c)\n  c = Constant boolean[] 2\n", "C015", 2, 26),
    ('model m () -> (c)\n  c = Constant f32[] hex "00"\n', "C015", 2, 22),
    ("model m () -> (c)\n  c = Constant f32[9999999,9999999] 0\n", "C015", 2, 37),
    ("model m () -> (c)\n  c = Constant f33[2] [1, 2]\n", "C012", 2, 16),
    ("model m () -> (c)\n  c = Constant f32[2] @0\n", "C010", 2, 23),
    ("model m (x: f32[2]) -> (y)\n  y = Abss(x)\n", "L004", 2, 7),
    ("model m (x: f32[2]) -> (y)\n  y = Abs-x(x)\n", "L005", 2, 11),
    ("model m (x: f32[2]) -> (y)\n  y = SoftMax(x) axes=0\n", "D001", 2, 18),
    ("model m (x: f32[2]) -> (y)\n  y = SoftMax(x) axis=0 axis=1\n", "X003", 2, 30),
    ("model m (x: f32[2]) -> (y)\n  y = SoftMax(x) axis=5\n", "O001", 2, 23),
    ("model m (x: f32[2]) -> (y)\n  y = Add(x, _)\n", "E004", 2, 3),
    ("model m (x: f32[2]) -> (y)\n  y = Add(x, y)\n", "E005", 2, 14),
    ("model m (x: f32[2]) -> (y: f32[3])\n  y = Abs(x)\n", "E008", 1, 25),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x) -> i64[2]\n", "P004", 2, 17),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x) -> f32[3]\n", "P005", 2, 20),
    ("model m (x: f32[2,z]) -> (y)\n  y = Abs(x)\n", "S006", 1, 16),
    ("model m (x: f32[2]) -> (y)\n  y = Abs(x)\n\x0c", "X007", 3, 1),
    ("# nothing\n", "X008", 1, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column"), WRONG)
def test_an_error_has_its_place(text: str, code: str, line: int, column: int) -> None:
    reading = read(text.encode(), file="m.irt", mode="strict")
    places = [(f.code, f.place.line, f.place.column) for f in reading.report]
    assert (code, line, column) in places


def test_all_errors_are_reported_at_once() -> None:
    report = validated("model m (x: f32[2]) -> (y)\n  a = Abs(x\n  b = Abs[x]\n  y = Abs(x)\n")
    assert [(f.code, f.place.line) for f in report] == [("X013", 2), ("X013", 3)]


def test_a_hint_names_what_may_be_meant() -> None:
    (finding,) = validated(ADD.format("Add(x, xx)"))
    assert finding.hint == "did you mean x?"


@pytest.mark.parametrize(
    "text",
    [
        "model " + "m" * 100_000 + " (x: f32[2]) -> (y)\n",
        "model m (" + "x" * 100_000 + ": f32[2]) -> (y)\n",
        "model m (x: f32[2]) -> (y)\n  y = Abs(" + "(" * 100_000 + "\n",
        "model m (x: f32[2]) -> (y)\n  y = Constant f32[1] " + "[" * 100_000 + "\n",
        "model m (x: f32[2]) -> (x)\n  rt_info " + "{a " * 100_000 + "\n",
        "model m (x: f32[2]) -> (x)\n"
        + "".join(f"{' ' * n}a = If(x)\n {' ' * n}then () -> ()\n" for n in range(2, 300)),
        'model m (x: f32[2]) -> (x)\n  "' + "\\" * 100_001 + "\n",
        "model m (x: f32[2]) -> (x)\n  y = Add(" + ", " * 100_000 + "\n",
        "model m (x: f32[2]) -> (x)\n  " + "a-" * 100_000 + " = Add(x, y)\n",
        "model m (x: f32[" + "9" * 100_000 + "]) -> (x)\n",
        "model m () -> (x)\n  x = Constant i64[1] " + "9" * 100_000 + "\n",
        "model m () -> (x)\n  x = Constant f32[] @" + "9" * 100_000 + "\n",
        "model m () -> (x)\n  x = Constant f32[" + "9999999999," * 50 + "1] 0\n",
        "model m () -> (x)\n  x = Constant f32[4000000000,0] 0\n  y = Constant string[9999999999] \"a\"\n",
        "model m (x: f32[2]) -> (x.99999999999999999999999)\n",
        "#" * 100_000 + "\nmodel",
    ],
    ids=range(16),
)  # fmt: skip
def test_hostile_texts_are_findings(text: str) -> None:
    """Within the limits of time and memory, and without a traceback."""
    assert not irexec.validate(text.encode()).ok


def test_a_shape_without_elements_is_a_constant() -> None:
    assert (
        irexec.parse("model m () -> (x)\n  x = Constant f32[4000000000,0] []\n").outputs[0].element_type.name == "f32"
    )
