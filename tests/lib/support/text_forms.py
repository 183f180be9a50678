"""Texts as OpenVINO reads them: `python tests/lib/support/text_forms.py > tests/data/text_forms.txt`.

A text is put into minimal files, one for each form. A line of the data is the text and, for each form that accepts it,
the value that OpenVINO reads. `?` is a value that OpenVINO reads but does not show, because a check behind its reader
rejects it. Of booleans only values that differ from the default are written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).parents[2] / "data" / "text_forms.txt"

PARAMETER = (
    '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="{shape}" element_type="f32"/>'
    '<output><port id="0" precision="FP32">{dims}</port></output></layer>'
)
CONSTANT = (
    '<layer id="0" name="x" type="Const" version="opset1"><data element_type="u8" shape="{shape}" offset="{offset}"'
    ' size="1"/><output><port id="0" precision="U8"><dim>1</dim></port></output></layer>'
)
SIZES = (
    '<layer id="0" name="x" type="Const" version="opset1"><data element_type="i64" shape="2" offset="64" size="16"/>'
    '<output><port id="0" precision="I64"><dim>2</dim></port></output></layer>'
)
MIDDLE = (
    '<layer id="1" name="t" type="{type}" version="{opset}"><data {attributes}/><input>{ports}</input>'
    '<output><port id="9" precision="FP32"/></output></layer>'
)
RESULT = '<layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>'
# What OpenVINO's readers say of a text; any other error comes from a check behind them.
REFUSALS = ("Cannot parse", "stoll", "is not an unsigned", "must be greater or equal to -1", "Cannot get vector")


def net(layers: str, *edges: str) -> str:
    """Return a file of layers, whose edges are `FROM:PORT TO:PORT`."""
    ends = [end.replace(":", " ").split() for end in edges]
    lines = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in ends)
    return f'<net name="n" version="11"><layers>{layers}{RESULT}</layers><edges>{lines}</edges></net>'


def parameter(shape: str = "2,3,4,4") -> str:
    dims = "".join(f"<dim>{extent}</dim>" for extent in shape.split(","))
    return PARAMETER.format(shape=shape, dims=dims)


def operator(type: str, opset: str, attributes: str, inputs: int = 1, first: str | None = None) -> str:
    """Return a file with one operator, all of whose inputs are the first layer."""
    ports = "".join(f'<port id="{number}"/>' for number in range(inputs))
    middle = MIDDLE.format(type=type, opset=opset, attributes=attributes, ports=ports)
    edges = [f"0:0 1:{number}" for number in range(inputs)]
    return net((first or parameter()) + middle, *edges, "1:9 2:0")


class Place(NamedTuple):
    """Where a text stands: a file with `{}`, and the name of the attribute whose value OpenVINO shows, if it does."""

    file: str
    attribute: str | None = None
    default: Any = None


PRIOR = 'offset="0.5" variance="0.1" max_size="" aspect_ratio="" flip="0" '
YOLO = 'anchors="" axis="1" coords="4" classes="2" end_axis="3" num="1" do_softmax="false" '


def prior(written: str, **others: str) -> str:
    """Return a file with a PriorBox: `written` has the text, `others` are its further attributes."""
    given = {"step": "1", "min_size": "1", "clip": "0"} | others
    rest = " ".join(f'{name}="{value}"' for name, value in given.items() if name != written)
    return operator("PriorBox", "opset1", f'{PRIOR}{rest} {written}="{{}}"', 2, SIZES)


PLACES = {
    "id": Place(net(CONSTANT.format(shape="1", offset="{}"), "0:0 2:0"), "data"),
    "extent": Place(net(PARAMETER.format(shape="?", dims="<dim>{}</dim>"), "0:0 2:0")),
    "i64": Place(operator("LogSoftmax", "opset5", 'axis="{}"'), "axis"),
    "f64": Place(operator("Elu", "opset1", 'alpha="{}"'), "alpha"),
    "f32": Place(prior("step"), "step"),
    "true": Place(prior("clip"), "clip", False),
    "false": Place(prior("scale_all_sizes"), "scale_all_sizes", True),
    "i64s": Place(operator("RegionYolo", "opset1", YOLO + 'mask="{}"'), "mask"),
    "f32s": Place(prior("min_size"), "min_size"),
    "sizes": Place(net(CONSTANT.format(shape="{}", offset="0"), "0:0 2:0"), "shape"),
    "shape": Place(net(PARAMETER.format(shape="{}", dims=""), "0:0 2:0"), "shape"),
}

STARTS = ("", " ", "\t", "\n", "\u00a0", "+", "-", "--", "+-", " +", "- ", "00", "_", "[", "'")
CORES = (
    "", "0", "1", "7", "12", "1.5", ".5", "1.", ".", "1e2", "1E2", "1e", "1e+", "1e-3", "e1", "inf", "nan", "infinity",
    "NaN", "INF", "Inf", "0x10", "0b1", "1_0", "1e39", "1e-39", "1e-46", "1e400", "1e-400", "3.4028235e38",
    "3.4028236e38", "16777217", "2147483647", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "18446744073709551616", "9" * 25, "0" * 25 + "1", "\u0663",
    "\uff11", "abc", "true", "TRUE", "True", "false", "FALSE", "yes", "on", "none", "?", "1..3", "..3", "1..", "3..1",
    "..", "...", "1 2", "1;2", "-1..2", "?..2", "1...3", "1.. 3", "1 ..3", "1..9223372036854775807", "05..010",
)  # fmt: skip
SHORT = (
    "0",
    "7",
    ".5",
    "1.",
    "1e2",
    "1e",
    "inf",
    "nan",
    "9223372036854775808",
    "abc",
    "?",
    "1..3",
    "..3",
    "1..",
    "...",
)
ENDS = ("", " ", "\t", "\n", "\u00a0", "x", "f", ".", "e", "%", ")", "]")
ITEMS = ("0", "-1", "1.5", "+1", "", " ", "2 ", "\t2", "\u00a02", "2x", "?", "1..2", "inf", "1e39")
JOINTS = (",", ", ", ";", ",,")


def texts() -> list[str]:
    """Return all texts, each once."""
    found = [*CORES, *map("".join, product(STARTS, SHORT)), *map("".join, product(SHORT, ENDS))]
    found += map("".join, product(STARTS, ("1", "1.5", "true"), ENDS))
    found += map("".join, product(ITEMS, JOINTS, ITEMS))
    found += [f"{start}1,2{end}" for start, end in product(("", " ", "\u00a0", "[", ","), (*ENDS, ",", ",,", ", "))]
    return list(dict.fromkeys(found))


def attribute(text: str) -> str:
    """Return a text as part of an XML document: blanks by number, which no reader changes."""
    named = {"<": "&lt;", "&": "&amp;", '"': "&quot;"}
    return "".join(f"&#{ord(c)};" if c in "\t\n\r" else named.get(c, c) for c in text)


def reader() -> Callable[[str, str], Any]:
    """Return the function (form, text) → value with the installed OpenVINO; None: its reader rejects the text."""
    import numpy as np
    import openvino as ov

    core = ov.Core()
    weights = ov.Tensor(np.concatenate([np.arange(64, dtype=np.uint8), np.array([1, 1]).view(np.uint8)]))

    def read(form: str, text: str) -> Any:
        place = PLACES[form]
        try:
            model = core.read_model(place.file.replace("{}", attribute(text)).encode(), weights)
        except RuntimeError as error:
            return None if any(refusal in str(error) for refusal in REFUSALS) else "?"
        node = next(op for op in model.get_ops() if op.friendly_name == ("t" if 'name="t"' in place.file else "x"))
        if place.attribute is None:
            return "?"
        if place.attribute == "shape":
            return str(node.output(0).partial_shape)
        return int(node.data.ravel()[0]) if place.attribute == "data" else node.get_attributes()[place.attribute]

    return read


def stored() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the texts of the data, and the values that OpenVINO reads by form."""
    for line in DATA.read_text("utf-8").splitlines():
        text, *values = line.split("\t")
        yield ast.literal_eval(text), dict(value.split("=", 1) for value in values)


if __name__ == "__main__":
    read = reader()
    for text in texts():
        answers = {form: read(form, text) for form in PLACES}
        shown = [f"{form}={value}" for form, value in answers.items() if value not in (None, PLACES[form].default)]
        print(ascii(text), *shown, sep="\t")
