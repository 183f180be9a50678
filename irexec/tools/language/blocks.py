"""The blocks of a language model: its layers grouped by the names that exporters keep of the modules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from irexec.core.structure import CONST
from irexec.model.graph.model import Model, Node
from irexec.tools.compare.errors import Error, worst
from irexec.tools.compare.result import Row
from irexec.tools.inspect.summary import stored_bytes

_STACKS = {"layers", "layer", "blocks", "block", "h"}
"""The names of lists of blocks; the next part of a module's name is the number of the block."""
_CACHE = re.compile(r"past_key_values\.(\d{1,4})\.")
_PARTS = (
    ("experts", ("expert",)),
    ("router", ("router",)),
    ("cross attention", ("encoder_attn", "cross", "encdec")),
    ("norms", ("norm", "ln_")),
    ("attention", ("attn", "attention", "past_key_values")),
    ("MLP", ("mlp", "feed_forward", "ffn", "fc1", "fc2", "dense", "moe", "activation")),
)
"""A part of a block, and texts in the names of its modules; the first one that is found counts."""
_OUTSIDE = (
    ("embedding", ("embed", "wte", "wpe", "shared")),
    ("positions and masks", ("rotary", "mask", "position")),
    ("head", ("head", "norm", "ln_f", "score")),
)
_REST = "positions and masks"


class Block(NamedTuple):
    """A part of a model: of the block with this number, or None if it belongs to no block."""

    number: int | None
    part: str

    def __str__(self) -> str:
        return self.part if self.number is None else f"block {self.number}, {self.part}".removesuffix(", ")

    @property
    def whole(self) -> Block:
        """The block without its parts."""
        return self if self.number is None else Block(self.number, "")


def block_of(name: str) -> Block | None:
    """Return the block to which a layer's name belongs; None if the name contains no module."""
    # The operator in the framework, which follows the module, is no part of its name.
    path, _, operator = (
        name.removeprefix("__module.").removeprefix("self.").replace("/prim::", "/aten::").partition("/aten::")
    )
    parts = [part for part in re.split(r"[./]", path) if part]
    for place, part in enumerate(parts[:-1]):
        if part in _STACKS and parts[place + 1].isdecimal():
            return Block(int(parts[place + 1]), _part(parts[place + 2 :]))
    if (cache := _CACHE.search(name)) is not None:
        return Block(int(cache[1]), "cross attention" if ".encoder." in name else "attention")
    if len(parts) < 2 and not operator:
        return None
    found = (title for part in reversed(parts) for title, words in _OUTSIDE if any(word in part for word in words))
    return Block(None, next(found, _REST))


def _part(modules: Sequence[str]) -> str:
    """Return the part of a block to which the modules inside it, the outermost first, belong."""
    for number, module in enumerate(modules):
        for title, words in _PARTS:
            if any(word in module.lower() for word in words):
                inner = _part(modules[number + 1 :]) if title == "MLP" else ""
                return inner if inner in ("experts", "router") else title
        if module == "gate":
            return "router"
    return "sums"


def blocks_of(model: Model) -> dict[Node, Block]:
    """Return the block of each layer: by its name, or else by the layers that read it, or that it reads. A module from
    which no block is computed belongs to the head.
    """
    found = {node: block for node in model.nodes if (block := _named(node)) is not None}
    numbered = {node for node, block in found.items() if block.number is not None}
    leading = set[Node]()
    for node in reversed(model.nodes):
        readers = {user for value in node.outputs for user in value.users}
        if not (readers.isdisjoint(leading) and readers.isdisjoint(numbered)):
            leading.add(node)
    if numbered:
        outside = found.keys() - leading - numbered
        found |= dict.fromkeys(outside, Block(None, "head"))
    for node in reversed(model.nodes):
        users = (found.get(user) for value in node.outputs for user in value.users)
        if node not in found and (block := next(filter(None, users), None)) is not None:
            found[node] = block
    for node in model.nodes:
        sources = (found.get(value.node) for value in node.inputs if value is not None)
        found.setdefault(node, next(filter(None, sources), Block(None, _REST)))
    return found


def _named(node: Node) -> Block | None:
    return block_of(str(node.attributes.get("variable_id") or node.given_name or ""))


@dataclass(slots=True)
class BlockRow:
    """One block: the number of its layers, the bytes of its weights by type, the largest errors of its layers, and the
    time that irexec's kernels took. `ratio`: the smallest signal-to-noise ratio, in dB, of weights that differ.
    """

    block: Block
    layers: int = 0
    weights: dict[str, int] = field(default_factory=dict)
    own: Error | None = None
    total: Error | None = None
    seconds: float = 0.0
    wrong: bool = False
    ratio: float = math.inf

    def to_dict(self) -> dict[str, object]:
        """Return the row for JSON."""
        return {
            "block": self.block.number,
            "part": self.block.part,
            "layers": self.layers,
            "weights": self.weights,
            "own": None if self.own is None else self.own.to_dict(),
            "total": None if self.total is None else self.total.to_dict(),
            "seconds": self.seconds,
            "wrong": self.wrong,
            "ratio": self.ratio if math.isfinite(self.ratio) else None,
        }


def rows(
    blocks: Mapping[Node, Block],
    compared: Iterable[Row],
    seconds: Mapping[Node, float],
    wrong: Iterable[Node],
    ratios: Mapping[Node, float],
) -> list[BlockRow]:
    """Return the parts of a model in its order. `wrong`: the layers that a comparison names."""
    found: dict[Block, BlockRow] = {}
    for node, block in blocks.items():
        row = found.setdefault(block, BlockRow(block))
        row.layers += node.type != CONST
        row.seconds += seconds.get(node, 0.0)
        row.ratio = min(row.ratio, ratios.get(node, math.inf))
        if node.type == CONST and (size := stored_bytes(node)):
            kind = str(node.outputs[0].element_type)
            row.weights[kind] = row.weights.get(kind, 0) + size
    for one in compared:
        if one.node in blocks:
            _add(found[blocks[one.node]], one.own, one.total)
    for node in wrong:
        if node in blocks:
            found[blocks[node]].wrong = True
    return sorted(found.values(), key=_place)


def _place(row: BlockRow) -> tuple[int, int]:
    """Return the place of a row: what precedes the blocks, the blocks, the head."""
    number, part = row.block
    order = {"embedding": -2, _REST: -1}.get(part, 1 << 30) if number is None else number
    return order, [title for title, _ in _PARTS].index(part) if number is not None and part != "sums" else -1


def merged(found: Iterable[BlockRow]) -> Iterator[BlockRow]:
    """Yield one row for each block, with the sums and the largest errors of its parts."""
    whole: dict[Block, BlockRow] = {}
    for row in found:
        sum_ = whole.setdefault(row.block.whole, BlockRow(row.block.whole))
        sum_.layers += row.layers
        sum_.seconds += row.seconds
        sum_.wrong |= row.wrong
        sum_.ratio = min(sum_.ratio, row.ratio)
        for kind, size in row.weights.items():
            sum_.weights[kind] = sum_.weights.get(kind, 0) + size
        _add(sum_, row.own, row.total)
    yield from whole.values()


def _add(row: BlockRow, own: Error | None, total: Error | None) -> None:
    row.own = worst(filter(None, (row.own, own))) if own is not None else row.own
    row.total = worst(filter(None, (row.total, total))) if total is not None else row.total
