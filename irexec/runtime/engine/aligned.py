"""Constants in the form that kernels need: aligned copies where necessary, and f16 weights that are not widened to f32.

A file may store a constant at any byte offset. Copying all constants would take most of the time to the first result of
a large model whose weights follow a single odd byte. Therefore constants are not copied if all their readers accept
unaligned data (`as_stored` of irexec.ops.spec.operator): matrix products and look-ups, which read most of such a
file. Likewise, f16 weights that a Convert widens are used directly by these readers, which halves their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from irexec.core.structure import CONVERT
from irexec.core.threads.parallel import parallel_for
from irexec.core.types import F32, Array, Stored
from irexec.ir.weights.file import release_pages
from irexec.model.graph.model import Node, Value
from irexec.ops.compute.half import MANY

# All copies share one allocation, which the system backs with large pages; each copy starts at a multiple of this size.
_APART = 64
# The number of bytes that a thread copies at a time.
_SHARE = 1 << 22


def as_taken(nodes: Iterable[Node]) -> dict[Value, Array]:
    """Return, by value, the constants that kernels read in a form other than that of the nodes: aligned copies, or
    f16.
    """
    nodes = list(nodes)
    halves = _halves(nodes)
    if halves:
        nodes = [node for node in nodes if not node.outputs or node.outputs[0] not in halves]
    return halves | aligned(nodes)


def _halves(nodes: Sequence[Node]) -> dict[Value, Array]:
    """Return f16 constants, by the f32 value that a Convert computes from each, if all readers of this value accept
    f16.
    """
    found: dict[Value, Array] = {}
    for node in nodes:
        if node.type != CONVERT or node.inputs[0] is None or node.outputs[0].type.element_type is not F32:
            continue
        source = node.inputs[0].node.constant
        if source is not None and source.dtype == np.float16 and source.size >= MANY:
            found[node.outputs[0]] = source
    for node in nodes if found else ():
        for index, value in enumerate(node.inputs):
            if value in found and not _takes(node, index):
                del found[value]
    return found


def aligned(nodes: Iterable[Node]) -> dict[Value, Array]:
    """Return aligned copies, by value, of unaligned constants read by kernels that need alignment."""
    nodes = list(nodes)
    unaligned = {
        node.outputs[0]: array
        for node in nodes
        if (array := stored_array(node)) is not None and not array.flags.aligned and node.outputs
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
        release_pages(source)

    parallel_for(len(shares), copy)
    for array in copies.values():
        array.flags.writeable = False
    return copies


def stored_array(node: Node) -> Array | None:
    """Return the constant of a node as stored in its file.

    None for a small constant, which was copied when it was read, and for elements of less than a byte, which are
    unpacked when they are used.
    """
    held = node.held
    if isinstance(held, Stored) and (not held.is_view or held.element_type.is_packed):
        return None
    return node.constant


def _should_be(node: Node) -> Iterator[Value]:
    """Yield the inputs of a node that should be aligned."""
    for index, value in enumerate(node.inputs):
        if value is not None and not _takes(node, index):
            yield value


def _takes(node: Node, index: int) -> bool:
    """Return whether the operator of a node declares that it takes this input as a file stores it."""
    operator = node.operator
    return operator is not None and bool(names := operator.as_stored) and operator.signature.input(index).name in names
