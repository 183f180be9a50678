"""Cases of graphs that are grown from the rules of their operators.

    graph.grown/f32/r5/layers=ReduceSum-1.3,Add-1.17,ReLU-1.2/inner=read/sequence/seed7

A name lists an operator and a number for each layer. One input of a layer is an existing value; its attributes
and other inputs are drawn from the number. If a layer is removed from a name, the others stay the same if they fit.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

import numpy as np

from irexec.api.opsets.nodes import constant_node, make_node, parameter_node
from irexec.core.diagnostics import IRError
from irexec.core.records import replace
from irexec.core.types import ElementType, PartialShape
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.conformance.case import Case, operator_named
from irexec.tools.conformance.changes import pick
from irexec.tools.conformance.growing import FORMS, Constant, Growth, Ref, choose
from irexec.tools.conformance.names import RECIPE, GraphName, UnreadableName
from irexec.tools.conformance.values import draw_values
from irexec.tools.shapes.probe import Prober

NAME = "graph.grown"
_TYPES = ("f32", "f32", "f32", "f32", "f32", "f32", "f16", "bf16", "i32", "u8", "i8")
_KINDS = ("static", "static", "dynamic", "sequence")
_WORDS = (
    ("inner=read", 0.2), ("twice", 0.1), ("requests", 0.03), ("cache", 0.03), ("one-thread", 0.04), ("default", 0.04),
)  # fmt: skip
"""The words of names, each with its share of the cases."""
_LAYER = re.compile(r"(\w+-\d+)\.(\d+)")
_ATTEMPTS, _EXTENTS = 10, (1, 2, 3, 5, 7, 8, 9, 16, 17)
Shapes = list[tuple[int, ...]]


def draw_grown(seed: int, index: int) -> Case | None:
    """Return the case number `index` for a seed; None if no layer could be added."""
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, zlib.crc32(NAME.encode()), index, attempt])
        own, base = int(rng.integers(10_000)), str(rng.choice(_TYPES))
        growth = Growth(own, ElementType.by_name[base])
        growth.begin()
        form, names, length = str(rng.choice(list(FORMS))), [], int(rng.integers(2, 7))
        for operator in choose(rng, form, 24):
            number = int(rng.integers(100))
            if growth.add(operator, number):
                names.append(f"{operator}.{number}")
            if len(names) >= length:
                break
        if len(names) < 2:
            continue
        words = [word for word, share in _WORDS if rng.random() < share]
        words = [word for word in words if word != "default" or base == "f32"]
        for kind in dict.fromkeys([str(rng.choice(_KINDS)), "static"]):
            name = GraphName(NAME, growth.base, {"layers": ",".join(names)}, tuple(words), kind, own)
            try:
                return grown_case(str(name))
            except (IRError, UnreadableName, ValueError, TypeError, IndexError):
                continue
    return None


def grown_case(text: str) -> Case:
    """Return the case of a name. Raises UnreadableName, and IRError if irexec does not accept the graph."""
    name = GraphName.parse(text)
    if "layers" not in name.choices:
        raise UnreadableName(f"{text!r}: expected {NAME}/TYPE/{RECIPE}/layers=OPERATOR.NUMBER,.../SHAPES/seedN")
    growth = Growth(name.seed, name.base)
    growth.begin()
    for item in layers_of(name):
        match = _LAYER.fullmatch(item)
        if match is None:
            raise UnreadableName(f"{item!r} in {text!r} is not a layer, expected OPERATOR-VERSION.NUMBER")
        if not growth.add(operator_named(match[1]), int(match[2])):
            raise UnreadableName(f"{item!r} in {text!r} does not accept any of the values before it")
    return _case(text, name, growth)


def layers_of(name: GraphName) -> list[str]:
    """Return the layers of a name."""
    return name.choices["layers"].split(",")


def _case(text: str, name: GraphName, growth: Growth) -> Case:
    rng = np.random.default_rng([growth.seed, 5])
    first = [array.shape for array, _ in growth.given]
    inputs = [[array for array, _ in growth.given]]
    shapes: list[PartialShape] = [PartialShape(list(shape)) for shape in first]
    if name.kind == "dynamic":
        shapes = _opened(rng, first)
    elif name.kind == "sequence":
        second = _other_shapes(rng, growth, first)
        inputs.append([draw_values(rng, k, s, "plain") for (_, k), s in zip(growth.given, second, strict=True)])
        opened = _opened(rng, first)
        shapes = [_joined(*three) for three in zip(first, second, opened, strict=True)]
    model = _model(growth, shapes, name.reads_inner)
    facts = {"type": growth.base.name, "layers": " ".join(str(layer.operator) for layer in growth.layers)}
    facts |= dict.fromkeys(name.flags, "yes") | ({"inner": "read"} if name.reads_inner else {})
    return Case(text, model, inputs, name.calls, name.flags, NAME, name.kind, facts)


def _opened(rng: np.random.Generator, shapes: Shapes) -> list[PartialShape]:
    """Return shapes with some or all dimensions dynamic."""
    share = float(pick(rng, (0.4, 0.7, 1.0)))
    found = []
    for shape in shapes:
        bounded = rng.random() < 0.2
        dims = [n if rng.random() >= share else f"{min(n, 1)}..{n + 2}" if bounded else -1 for n in shape]
        found.append(PartialShape.parse(",".join("?" if d == -1 else str(d) for d in dims)))
    return found


def _joined(first: tuple[int, ...], second: tuple[int, ...], opened: PartialShape) -> PartialShape:
    """Return a shape that both calls satisfy: dimensions are dynamic if the calls differ in them, or if they are
    dynamic in `opened`.
    """
    return PartialShape([-1 if a != b or not d.is_static else a for a, b, d in zip(first, second, opened, strict=True)])


def _other_shapes(rng: np.random.Generator, growth: Growth, first: Shapes) -> Shapes:
    """Return shapes for a second call that all layers accept. Raises UnreadableName if no such shapes are found."""
    opened = [PartialShape([-1] * len(shape)) for shape in first]
    prober = Prober(_model(growth, opened, False), opened)
    extents = sorted({n for shape in first for n in shape})
    trials = [(old, new) for old in extents for new in _EXTENTS if old != new]
    for at in rng.permutation(len(trials))[:8]:
        old, new = trials[int(at)]
        place = int(rng.integers(max(1, max(map(len, first)))))
        for everywhere in (False, True):
            second = [
                tuple(new if n == old and (everywhere or i == place) else n for i, n in enumerate(shape))
                for shape in first
            ]
            if second != first and prober.accepts(tuple(n for shape in second for n in shape)):
                return second
    raise UnreadableName("the layers accept no other input shapes")


def _model(growth: Growth, shapes: list[PartialShape], read_inner: bool) -> Model:
    """Return the graph. Raises IRError if a layer does not accept these shapes."""
    given = [
        parameter_node(Node, shape, kind.name, name=f"x{index}")
        for index, (shape, (_, kind)) in enumerate(zip(shapes, growth.given, strict=True))
    ]
    nodes: list[Node] = []

    def value(item: Ref | Constant | None, name: str) -> Value | None:
        if item is None:
            return None
        if isinstance(item, Constant):
            return constant_node(Node, item.array, element_type=item.kind, name=name).outputs[0]
        return given[item.output].outputs[0] if item.layer < 0 else nodes[item.layer].outputs[item.output]

    for number, layer in enumerate(growth.layers):
        values = [value(item, f"c{number}_{place}") for place, item in enumerate(layer.inputs)]
        nodes.append(make_node(Node, layer.operator, values, layer.attributes, name=f"n{number}"))
    ends = [nodes[ref.layer].outputs[ref.output] for ref in growth.unread()]
    if read_inner:
        inside = [node.outputs[0] for node in nodes if node.outputs[0] not in ends]
        ends += inside[: 1 + growth.seed % 2]
    results = [make_node(Node, operator_named("Result-1"), [v], {}, name=f"out{i}") for i, v in enumerate(ends)]
    return Model(results, given, "grown")


def without_layers(name: GraphName) -> Iterator[GraphName]:
    """Yield names with one layer less."""
    layers = layers_of(name)
    for place in reversed(range(len(layers) if len(layers) > 1 else 0)):
        fewer = ",".join(layers[:place] + layers[place + 1 :])
        yield replace(name, choices=name.choices | {"layers": fewer})
