"""The cost of reading, validating, compiling and running grows with the size of a model: counted, not timed.

A set that is built anew for every layer, or a list that is searched for every finding, shows in what is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support.work import MOST, Work

import irexec
from irexec.mend.mend import examine

SIZE = 100


def net(layers: list[str], edges: list[tuple[int, int, int, int]]) -> str:
    joined = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges)
    return f'<net name="m" version="11"><layers>{"".join(layers)}</layers><edges>{joined}</edges></net>'


def parameter(id: int, shape: str = "2,3") -> str:
    dims = "".join(f"<dim>{d}</dim>" for d in shape.split(","))
    data = f'<data shape="{shape}" element_type="f32"/>'
    port = f'<output><port id="0" precision="FP32">{dims}</port></output>'
    return f'<layer id="{id}" name="x{id}" type="Parameter" version="opset1">{data}{port}</layer>'


def layer(id: int, type: str, inputs: int = 1, *, out: str = "2,3", more: str = "") -> str:
    dims = "<dim>2</dim><dim>3</dim>"
    ports = "".join(f'<port id="{i}" precision="FP32">{dims}</port>' for i in range(inputs))
    made = "".join(f"<dim>{d}</dim>" for d in out.split(","))
    output = f'<output><port id="{inputs}" precision="FP32">{made}</port></output>' if type != "Result" else ""
    return f'<layer id="{id}" name="n{id}" type="{type}" version="opset1">{more}<input>{ports}</input>{output}</layer>'


def chain(count: int, *, out: str = "2,3", more: str = "") -> str:
    layers = [parameter(0), *(layer(i, "ReLU", out=out, more=more) for i in range(1, count)), layer(count, "Result")]
    return net(layers, [(i, 1 if i else 0, i + 1, 0) for i in range(count)])


def fan_out(count: int) -> str:
    """One Parameter that all layers read, each with a Result of its own."""
    layers, edges = [parameter(0)], []
    for i in range(1, count, 2):
        layers += [layer(i, "ReLU"), layer(i + 1, "Result")]
        edges += [(0, 0, i, 0), (i, 1, i + 1, 0)]
    return net(layers, edges)


def fan_in(count: int) -> str:
    """One layer that takes the results of all others."""
    taken = "".join(f'<port id="{i}" precision="FP32"><dim>2</dim><dim>3</dim></port>' for i in range(count))
    made = f'<output><port id="{count}" precision="FP32"><dim>{2 * count}</dim><dim>3</dim></port></output>'
    concat = f'<layer id="{count + 1}" name="all" type="Concat" version="opset1"><data axis="0"/>'
    result = layer(count + 2, "Result").replace("<dim>2<", f"<dim>{2 * count}<")
    layers = [parameter(0), *(layer(i + 1, "ReLU") for i in range(count))]
    layers += [f"{concat}<input>{taken}</input>{made}</layer>", result]
    edges = [edge for i in range(count) for edge in ((0, 0, i + 1, 0), (i + 1, 1, count + 1, i))]
    return net(layers, [*edges, (count + 1, count, count + 2, 0)])


def oddly_written(count: int) -> str:
    """A chain as no converter writes it: comments between the layers, other quotes, references, blanks, namespaces."""
    text = chain(count).replace("<layer ", "<!-- <layer> -->\n<layer ").replace('name="n', "name = 'n&#45;")
    return text.replace('type="ReLU"', "type='ReLU'\n").replace('precision="FP32"', 'names="" precision="FP32"')


def constants(count: int) -> str:
    """Each layer adds a constant of its own to the result of the one before."""
    layers, edges, last = [parameter(0)], [], (0, 0)
    dims = "<dim>2</dim><dim>3</dim>"
    made = f'<output><port id="0" precision="FP32">{dims}</port></output>'
    for i in range(1, count, 2):
        data = f'<data element_type="f32" shape="2,3" offset="{12 * (i - 1)}" size="24"/>'
        layers.append(f'<layer id="{i}" name="c{i}" type="Const" version="opset1">{data}{made}</layer>')
        layers.append(layer(i + 1, "Add", 2))
        edges += [(*last, i + 1, 0), (i, 0, i + 1, 1)]
        last = i + 1, 2
    return net([*layers, layer(count + 1, "Result")], [*edges, (*last, count + 1, 0)])


def unreachable(count: int) -> str:
    """Layers that lead to no Result."""
    layers = [parameter(0), layer(1, "Result"), *(layer(i, "ReLU") for i in range(2, count))]
    return net(layers, [(0, 0, 1, 0), *((0, 0, i, 0) for i in range(2, count))])


def all_wrong(count: int) -> str:
    """Every layer has an attribute that does not exist and declares a wrong shape."""
    return chain(count, out="2,4", more='<data alhpa="1"/>')


def disconnected(count: int) -> str:
    return net([parameter(0), *(layer(i, "ReLU") for i in range(1, count)), layer(count, "Result")], [])


def nested(count: int) -> str:
    """TensorIterators in TensorIterators, so deep that they have about so many layers in all."""
    text = ""
    for _ in range(count // 20):
        inner = layer(1, "ReLU") if not text else _iterator(text)
        body = [parameter(0), inner, layer(2, "Result")]
        edges = [(0, 0, 1, 0), (1, 1, 2, 0)]
        text = net(body, edges).replace('<net name="m" version="11">', "<body>").replace("</net>", "</body>")
    return text.replace("<body>", '<net name="m" version="11">', 1)[: -len("</body>")] + "</net>"


def _iterator(body: str) -> str:
    maps = '<input external_port_id="0" internal_layer_id="0"/><output external_port_id="1" internal_layer_id="2"/>'
    plain = layer(1, "TensorIterator")
    return plain.replace("</layer>", f"<port_map>{maps}</port_map>{body}</layer>")


@pytest.mark.parametrize("build", [chain, fan_out, fan_in, oddly_written, unreachable, all_wrong, disconnected, nested])
def test_validating(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Work(monkeypatch).growth(lambda size: partial(irexec.validate, build(size).encode()), SIZE) < MOST


def test_validating_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], object]:
        return partial(irexec.validate, constants(size).encode(), weights=bytes(12 * size))

    assert task(SIZE)().ok
    assert Work(monkeypatch).growth(task, SIZE) < MOST


def unnamed(count: int) -> str:
    """No layer has a name, and all but one port lack an id."""
    return chain(count).replace(' name="n', ' nama="n').replace('<port id="1"', "<port")


def misspelt_edges(count: int) -> str:
    """Every edge says from and to, and each is there twice."""
    text = chain(count).replace("from-layer", "from").replace("to-layer", "to").replace("</edges>", "")
    return text.replace("</net>", text[text.index("<edge ") :].replace("</net>", "") + "</edges></net>")


def doubled_edges(count: int) -> str:
    text = chain(count)
    edges = text[text.index("<edges>") + len("<edges>") : text.index("</edges>")]
    return text.replace("</edges>", f"{edges}</edges>")


@pytest.mark.parametrize("build", [all_wrong, disconnected, unnamed, misspelt_edges, doubled_edges])
def test_finding_fixes(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert Work(monkeypatch).growth(lambda size: partial(examine, build(size).encode()), SIZE) < MOST


@pytest.mark.parametrize("build", [chain, fan_out, fan_in, nested])
def test_compiling_and_running(build: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones((2, 3), np.float32)

    def task(size: int) -> Callable[[], object]:
        model = irexec.read_model(build(size).encode())
        return lambda: irexec.compile_model(model)([x])

    assert Work(monkeypatch).growth(task, SIZE) < MOST
