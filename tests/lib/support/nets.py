"""Small models as texts: layers in short form, numbered and connected."""

from __future__ import annotations

from collections.abc import Sequence

PASSING = """<net name="m" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="2" element_type="f32"/>
            <output><port id="0" precision="FP32"><dim>2</dim></port></output>
        </layer>
        <layer id="1" name="y" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>2</dim></port></input>
        </layer>
    </layers>
    <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""
"""The smallest model: its result is its input."""

KINDS = {"f32": "FP32", "f16": "FP16", "i64": "I64", "i32": "I32", "boolean": "BOOL"}


def port(number: int, shape: str, kind: str = "f32", names: str = "") -> str:
    """Return one port; `shape` as `2,3`, empty for a scalar."""
    dims = "".join(f"<dim>{d}</dim>" for d in shape.split(",") if d)
    named = f' names="{names}"' if names else ""
    return f'<port id="{number}" precision="{KINDS[kind]}"{named}>{dims}</port>'


class Net:
    """A model under construction. Each method adds one layer and returns its number; `text` is the whole file."""

    def __init__(self, name: str = "m") -> None:
        self.name = name
        self.layers: list[str] = []
        self.edges: list[str] = []
        self.outputs: list[tuple[int, str, str]] = []

    def parameter(self, name: str, shape: str, kind: str = "f32", tensor: str = "") -> int:
        data = f'<data shape="{shape.replace("-1", "?")}" element_type="{kind}"/>'
        return self._add(name, "Parameter", "opset1", data, [], [port(0, shape, kind, tensor)], (0, shape, kind))

    def layer(
        self,
        type: str,
        inputs: Sequence[int],
        shape: str,
        *,
        name: str = "",
        kind: str = "f32",
        version: str = "opset1",
        data: str = "",
        more: str = "",
        tensor: str = "",
    ) -> int:
        """Add a layer with one output. `inputs` are numbers of layers, of each its first output."""
        ports = [port(i, self.outputs[source][1], self.outputs[source][2]) for i, source in enumerate(inputs)]
        out = len(inputs)
        number = self._add(
            name or f"{type}_{len(self.layers)}",
            type,
            version,
            f"<data {data}/>" if data else "",
            ports,
            [port(out, shape, kind, tensor)],
            (out, shape, kind),
            more,
        )
        self._connect(inputs, number)
        return number

    def result(self, source: int, name: str = "") -> int:
        _, shape, kind = self.outputs[source]
        number = self._add(
            name or f"Result_{len(self.layers)}", "Result", "opset1", "", [port(0, shape, kind)], [], (0, shape, kind)
        )
        self._connect([source], number)
        return number

    def _connect(self, inputs: Sequence[int], number: int) -> None:
        for position, source in enumerate(inputs):
            start = self.outputs[source][0]
            self.edges.append(
                f'<edge from-layer="{source}" from-port="{start}" to-layer="{number}" to-port="{position}"/>'
            )

    def _add(
        self,
        name: str,
        type: str,
        version: str,
        data: str,
        inputs: list[str],
        outputs: list[str],
        output: tuple[int, str, str],
        more: str = "",
    ) -> int:
        number = len(self.layers)
        self.layers.append(
            f'<layer id="{number}" name="{name}" type="{type}" version="{version}">{data}'
            + (f"<input>{''.join(inputs)}</input>" if inputs else "")
            + (f"<output>{''.join(outputs)}</output>" if outputs else "")
            + f"{more}</layer>"
        )
        self.outputs.append(output)
        return number

    @property
    def inside(self) -> str:
        """Return the layers and edges, as a body contains them."""
        return f"<layers>\n{chr(10).join(self.layers)}\n</layers>\n<edges>{''.join(self.edges)}</edges>"

    @property
    def text(self) -> str:
        return f'<net name="{self.name}" version="11">\n{self.inside}\n</net>\n'


def two_inputs() -> Net:
    """Return a model of x and y, both [?,3]: relu(x) * y."""
    net = Net("two")
    x, y = net.parameter("x", "-1,3", tensor="first"), net.parameter("y", "-1,3")
    positive = net.layer("ReLU", [x], "-1,3", name="positive")
    net.result(
        net.layer("Multiply", [positive, y], "-1,3", name="product", data='auto_broadcast="numpy"', tensor="out")
    )
    return net


def iterating() -> Net:
    """Return a model of x [3,2]: a TensorIterator computes the absolute value of each row."""
    body = Net()
    body.result(body.layer("Abs", [body.parameter("row", "1,2")], "1,2", name="inner"), "rows")
    net = Net("iterating")
    x = net.parameter("x", "3,2")
    maps = (
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0" part_size="1" stride="1"/>'
        '<output external_port_id="1" internal_layer_id="2" axis="0" part_size="1" stride="1"/></port_map>'
    )
    net.result(net.layer("TensorIterator", [x], "3,2", name="outer", more=f"{maps}<body>{body.inside}</body>"))
    return net
