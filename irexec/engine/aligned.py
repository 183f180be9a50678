"""Constants as the kernels take them: copies of those that do not lie aligned, and f16 that need not become f32.

A file may hold a constant at any byte, and reading leaves it there. One after the other, the copies would take most of
the time to the first result of a large model whose weights follow a single odd byte. None is made of a constant that is
read only by those who take it as it lies (`unaligned` of irexec.ops.declare.operator): products and tables, which are
nearly all of such a file. In the same way a file of half the size, with f16 weights that a Convert widens, is taken as
it is (`narrow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from irexec.graph.model import Node, Value
from irexec.ir.weights.file import let_go
from irexec.ops.compute.half import MANY
from irexec.ops.compute.parallel import parallel_for
from irexec.types import F32, Array, Stored

# All copies lie in one piece of memory, which the system provides in large pages, each at a multiple of this.
_APART = 64
# A thread takes so much at a time.
_SHARE = 1 << 22


def as_taken(nodes: Iterable[Node]) -> dict[Value, Array]:
    """The constants that kernels take otherwise than the nodes have them, by the values that they are."""
    nodes = list(nodes)
    halves = _halves(nodes)
    return halves | aligned([node for node in nodes if not node.outputs or node.outputs[0] not in halves])


def _halves(nodes: Sequence[Node]) -> dict[Value, Array]:
    """f16 constants, by the f32 that a Convert makes of each, where all who read that take f16 for it."""
    found: dict[Value, Array] = {}
    for node in nodes:
        if node.type != "Convert" or node.inputs[0] is None or node.outputs[0].type.element_type is not F32:
            continue
        source = node.inputs[0].node.constant
        if source is not None and source.dtype == np.float16 and source.size >= MANY:
            found[node.outputs[0]] = source
    for node in nodes if found else ():
        for index, value in enumerate(node.inputs):
            if value in found and not _takes(node, index, "narrow"):
                del found[value]
    return found


def aligned(nodes: Iterable[Node]) -> dict[Value, Array]:
    """Aligned copies of the constants among the nodes' own that are not and should be, by the values that they are."""
    nodes = list(nodes)
    unaligned = {
        node.outputs[0]: array
        for node in nodes
        if (array := lying_anywhere(node)) is not None and not array.flags.aligned and node.outputs
    }
    if not unaligned:
        return {}
    found = {value: unaligned[value] for node in nodes for value in _should_be(node) if value in unaligned}
    if not found:
        return found
    sizes = [-(-array.nbytes // _APART) * _APART for array in found.values()]
    memory = np.empty(sum(sizes) + _APART, np.uint8)
    start = -memory.ctypes.data % _APART
    copies: dict[Value, Array] = {}
    shares: list[tuple[Array, Array]] = []
    for (value, array), size in zip(found.items(), sizes, strict=True):
        target = memory[start : start + array.nbytes]
        start += size
        source = array.reshape(-1).view(np.uint8)
        for begin in range(0, source.size, _SHARE):
            shares.append((target[begin : begin + _SHARE], source[begin : begin + _SHARE]))
        copies[value] = target.view(array.dtype).reshape(array.shape)

    def copy(number: int) -> None:
        target, source = shares[number]
        np.copyto(target, source)
        let_go(source)

    parallel_for(len(shares), copy)
    for array in copies.values():
        array.flags.writeable = False
    return copies


def lying_anywhere(node: Node) -> Array | None:
    """The constant of a node, unless it is small and was copied from its file when it was read."""
    held = node.held
    return None if held is None or (isinstance(held, Stored) and not held.is_view) else node.constant


def _should_be(node: Node) -> Iterator[Value]:
    """What a node reads that should lie aligned."""
    for index, value in enumerate(node.inputs):
        if value is not None and not _takes(node, index, "unaligned"):
            yield value


def _takes(node: Node, index: int, how: Literal["unaligned", "narrow"]) -> bool:
    """Whether a node's operator says that it takes an input so."""
    inputs: tuple[str, ...] = getattr(node.operator, how, ())
    return bool(inputs) and node.operator is not None and node.operator.signature.input(index).name in inputs
