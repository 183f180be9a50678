"""Texts of models of any size, each with many items of one kind: layers, readers, bodies, names, errors."""

from __future__ import annotations

import re


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
    """Return one Parameter that all layers read, each with its own Result."""
    layers, edges = [parameter(0)], []
    for i in range(1, count, 2):
        layers += [layer(i, "ReLU"), layer(i + 1, "Result")]
        edges += [(0, 0, i, 0), (i, 1, i + 1, 0)]
    return net(layers, edges)


def fan_in(count: int) -> str:
    """Return one layer that reads the results of all others."""
    taken = "".join(f'<port id="{i}" precision="FP32"><dim>2</dim><dim>3</dim></port>' for i in range(count))
    made = f'<output><port id="{count}" precision="FP32"><dim>{2 * count}</dim><dim>3</dim></port></output>'
    concat = f'<layer id="{count + 1}" name="all" type="Concat" version="opset1"><data axis="0"/>'
    result = layer(count + 2, "Result").replace("<dim>2<", f"<dim>{2 * count}<")
    layers = [parameter(0), *(layer(i + 1, "ReLU") for i in range(count))]
    layers += [f"{concat}<input>{taken}</input>{made}</layer>", result]
    edges = [edge for i in range(count) for edge in ((0, 0, i + 1, 0), (i + 1, 1, count + 1, i))]
    return net(layers, [*edges, (count + 1, count, count + 2, 0)])


def oddly_written(count: int) -> str:
    """Return a chain that no converter writes: comments between layers, other quotes, references, blanks,
    namespaces.
    """
    text = chain(count).replace("<layer ", "<!-- <layer> -->\n<layer ").replace('name="n', "name = 'n&#45;")
    return text.replace('type="ReLU"', "type='ReLU'\n").replace('precision="FP32"', 'names="" precision="FP32"')


def constants(count: int) -> str:
    """Return layers that each add their own constant to the result of the previous layer."""
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
    """Return layers that lead to no Result."""
    layers = [parameter(0), layer(1, "Result"), *(layer(i, "ReLU") for i in range(2, count))]
    return net(layers, [(0, 0, 1, 0), *((0, 0, i, 0) for i in range(2, count))])


def all_wrong(count: int) -> str:
    """Return layers that each have an unknown attribute and declare a wrong shape."""
    return chain(count, out="2,4", more='<data alhpa="1"/>')


def disconnected(count: int) -> str:
    return net([parameter(0), *(layer(i, "ReLU") for i in range(1, count)), layer(count, "Result")], [])


def nested(count: int) -> str:
    """Return nested TensorIterators with about this many layers in total."""
    text = ""
    for _ in range(count // 10):
        inner = layer(1, "ReLU") if not text else _iterator(text)
        body = [parameter(0), inner, layer(2, "Result")]
        edges = [(0, 0, 1, 0), (1, 1, 2, 0)]
        text = net(body, edges).replace('<net name="m" version="11">', "<body>").replace("</net>", "</body>")
    return text.replace("<body>", '<net name="m" version="11">', 1)[: -len("</body>")] + "</net>"


def _iterator(body: str) -> str:
    maps = '<input external_port_id="0" internal_layer_id="0"/><output external_port_id="1" internal_layer_id="2"/>'
    plain = layer(1, "TensorIterator")
    return plain.replace("</layer>", f"<port_map>{maps}</port_map>{body}</layer>")


def results(count: int) -> str:
    """Return Results that all read the same value."""
    layers = [parameter(0), layer(1, "ReLU"), *(layer(i, "Result") for i in range(2, count))]
    return net(layers, [(0, 0, 1, 0), *((1, 1, i, 0) for i in range(2, count))])


def parameters(count: int) -> str:
    """Return the sum of many Parameters."""
    half = count // 2
    layers, edges, last = [parameter(i) for i in range(half)], [], (0, 0)
    for i in range(1, half):
        number = half + i
        layers.append(layer(number, "Add", 2))
        edges += [(*last, number, 0), (i, 0, number, 1)]
        last = number, 2
    return net([*layers, layer(count, "Result")], [*edges, (*last, count, 0)])


def states(count: int) -> str:
    """Return a ReadValue and an Assign for each of many variables."""
    layers, edges = [parameter(0)], []
    for i in range(1, count, 3):
        for number, type, more in (
            (i, "ReadValue", ' variable_shape="2,3" variable_type="f32"'),
            (i + 1, "Assign", ""),
        ):
            data = f'<data variable_id="v{i}"{more}/>'
            layers.append(layer(number, type, more=data).replace("opset1", "opset6"))
        layers.append(layer(i + 2, "Result"))
        edges += [(0, 0, i, 0), (i, 1, i + 1, 0), (i, 1, i + 2, 0)]
    return net(layers, edges)


def bodies(count: int) -> str:
    """Return consecutive layers with bodies."""
    inner = net([parameter(0), layer(1, "ReLU"), layer(2, "Result")], [(0, 0, 1, 0), (1, 1, 2, 0)])
    body = inner.replace('<net name="m" version="11">', "<body>").replace("</net>", "</body>")
    last = count // 4
    layers = [_iterator(body).replace('id="1" name="n1"', f'id="{i}" name="n{i}"', 1) for i in range(1, last)]
    edges = [(i, 1 if i else 0, i + 1, 0) for i in range(last)]
    return net([parameter(0), *layers, layer(last, "Result")], edges)


def cycle(count: int) -> str:
    layers = [parameter(0), *(layer(i, "ReLU") for i in range(1, count)), layer(count, "Result")]
    return net(layers, [(i, 1, i % (count - 1) + 1, 0) for i in range(1, count)] + [(0, 0, count, 0)])


def one_name(count: int) -> str:
    return re.sub(r'name="n\d+"', 'name="same"', chain(count))


def one_id(count: int) -> str:
    return re.sub(r'<layer id="\d+" name="n', '<layer id="1" name="n', chain(count))


def one_tensor_name(count: int) -> str:
    return chain(count).replace('<output><port id="1"', '<output><port names="t" id="1"')


def unknown_types(count: int) -> str:
    return re.sub(r'name="n(\d*)(\d)" type="ReLU"', r'name="n\1\2" type="Rellu\2"', chain(count))


def unknown_attributes(count: int) -> str:
    """Return one layer with all of these attributes."""
    listed = "".join(f' attribute{i}="1"' for i in range(count))
    return chain(5).replace('type="ReLU" version="opset1">', f'type="ReLU" version="opset1"><data{listed}/>', 1)


def metadata(count: int) -> str:
    """Return one layer with many entries of rt_info."""
    entries = "".join(f'<attribute name="a{i}" version="0" value="{i}"/>' for i in range(count))
    return chain(5).replace("</layer>", f"<rt_info>{entries}</rt_info></layer>", 1)


def extents(count: int) -> str:
    """Return a port with many dims."""
    return chain(5).replace('<port id="0" precision="FP32">', f'<port id="0" precision="FP32">{"<dim>1</dim>" * count}')


def tensor_names(count: int) -> str:
    """Return a port with many names."""
    names = ",".join(f"t{i}" for i in range(count))
    return chain(5).replace('<port id="0"', f'<port names="{names}" id="0"', 1)


def long_attribute(count: int) -> str:
    """Return one attribute of many numbers."""
    listed = ",".join("1" * count)
    return chain(5).replace('shape="2,3"', f'shape="{listed}"')


def idle_ports(count: int) -> str:
    """Return a layer with many unconnected inputs."""
    text = fan_in(count)
    return text[: text.index("<edges>")] + "<edges/></net>"


def skips(count: int) -> str:
    """Return an hourglass: each layer of the second half also reads the result of one layer of the first half."""
    half = count // 2
    layers = [
        parameter(0),
        *(layer(i, "ReLU") for i in range(1, half)),
        *(layer(i, "Add", 2) for i in range(half, count)),
    ]
    edges = [(i, (i > 0) + (i >= half), i + 1, 0) for i in range(count)]
    edges += [(max(1, count - i - 1), 1, i, 1) for i in range(half, count)]
    return net([*layers, layer(count, "Result")], edges)


def delayed(count: int) -> str:
    """Return layers that each also read the result of the layer a quarter of the model before."""
    layers, edges = [parameter(0)], []
    for i in range(1, count):
        layers.append(layer(i, "Add", 2))
        edges += [(i - 1, 2 if i > 1 else 0, i, 0), (*((j, 2) if (j := i - count // 4) > 0 else (0, 0)), i, 1)]
    return net([*layers, layer(count, "Result")], [*edges, (count - 1, 2, count, 0)])


def unnamed(count: int) -> str:
    """Return a model in which no layer has a name, and all but one port lack an id."""
    return chain(count).replace(' name="n', ' nama="n').replace('<port id="1"', "<port")


def misspelt_edges(count: int) -> str:
    """Return a model in which every edge uses `from` and `to`, and occurs twice."""
    text = chain(count).replace("from-layer", "from").replace("to-layer", "to").replace("</edges>", "")
    return text.replace("</net>", text[text.index("<edge ") :].replace("</net>", "") + "</edges></net>")


def doubled_edges(count: int) -> str:
    text = chain(count)
    edges = text[text.index("<edges>") + len("<edges>") : text.index("</edges>")]
    return text.replace("</edges>", f"{edges}</edges>")
