"""Constants that do not lie aligned in the weights, copied to where kernels can use them: on all threads, at once.

A file may hold a constant at any byte, and reading leaves it there. One after the other, the copies would take most of
the time to the first result of a large model whose weights follow a single odd byte. None is made of a constant that is
read only by those who take it as it lies (`unaligned` of irexec.ops.declare.operator): products and tables, which are
nearly all of such a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from irexec.graph.model import Node, Value
from irexec.ir.weights.file import let_go
from irexec.ops.compute.parallel import parallel_for
from irexec.types import Array

# All copies lie in one piece of memory, which the system provides in large pages, each at a multiple of this.
_APART = 64
# A thread takes so much at a time.
_SHARE = 1 << 22


def aligned(nodes: Iterable[Node]) -> dict[Value, Array]:
    """Aligned copies of the constants among the nodes' own that are not and should be, by the values that they are."""
    nodes = list(nodes)
    unaligned = {
        node.outputs[0]: node.constant
        for node in nodes
        if node.constant is not None and not node.constant.flags.aligned and node.outputs
    }
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


def _should_be(node: Node) -> Iterator[Value]:
    """What a node reads that should lie aligned."""
    operator = node.operator
    for index, value in enumerate(node.inputs):
        taken = (
            operator is not None and operator.unaligned and operator.signature.input(index).name in operator.unaligned
        )
        if value is not None and not taken:
            yield value
