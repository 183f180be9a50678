"""Observations about a model's layers: the JSON objects that commands print, and reading them.

Four objects are distinguished by their `kind`:

- `"model"`, the output of `irexec run --trace --format json`: `file` is the model, `trace` a list of layers in the
  order in which they started. A layer has `id`, `name`, `type`, `depth` (the number of bodies around it; the enclosing
  layer is the last one before it with a smaller depth), `calls`, `seconds`, and `outputs`, each with `element_type`,
  `shape`, `min`, `max`, `nan`, `inf` and `histogram` (`edges`, one more than `counts`).
- `"compare"`, two runs of one model: `reference` and `other` name the sides, `verdict` is one line of text, `layers` is
  a list of `Compared`.
- `"diff"`, two models: `a` and `b` are the files, `changes` is a list of `Change`.
- `"sensitivity"`, the effect of leaving out quantizers: `other` is the quantized model or a precision, `single` lists
  the share of the loss that excluding each layer recovers, `curve` the share for more and more layers, `layers` the
  suggested layers, and `rows` the quantizers.

Other keys are ignored.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator

from irexec.ir.beside import Unreadable, read_json, shaped
from irexec.tools.inspect.facts import Layer
from irexec.tools.inspect.together import Together

Number = Annotated[float, BeforeValidator(float)]
"""A number; infinities are strings."""


class Histogram(BaseModel):
    """The number of finite values between neighbouring edges."""

    edges: list[float]
    counts: list[int]


class TracedOutput(BaseModel):
    """Statistics of one output; min and max cover finite values only."""

    element_type: str
    shape: list[int] = []
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    nan: int = 0
    inf: int = 0
    histogram: Histogram | None = None


class Traced(BaseModel):
    """One layer that ran, with all its calls. `seconds` is None if only its values are known."""

    id: str = ""
    name: str
    type: str
    depth: int = 0
    calls: int = 1
    seconds: float | None = None
    outputs: list[TracedOutput] = []


class Trace(BaseModel):
    """A run with `--trace`."""

    kind: Literal["model"]
    file: str | None = None
    trace: list[Traced]


class Error(BaseModel):
    """The largest difference between two tensors: in units in the last place, relative, and absolute."""

    ulp: float | None = None
    relative: float | None = None
    absolute: float | None = None


class Compared(BaseModel):
    """One layer in both runs. `outer` names the layers whose bodies contain it, outermost first.

    `own` is the error for the reference's inputs, `total` the error that includes errors of preceding layers.
    `agrees`: its own error is within its tolerance, which `tolerance` describes in words.
    """

    name: str
    type: str
    outer: list[str] = []
    agrees: bool
    own: Error | None = None
    total: Error | None = None
    tolerance: str = ""


class Distribution(BaseModel):
    """A step in which both sides continue a text: the divergence of their distributions, and the token that each side
    prefers, as its number, text, and probability on both sides.
    """

    divergence: Number
    ours: tuple[int, str, float, float]
    theirs: tuple[int, str, float, float]


class Comparison(BaseModel):
    """Two runs, layer by layer. `lines` and `steps`: the texts that both sides continued, if they are compared."""

    kind: Literal["compare"]
    reference: str = "irexec"
    other: str = ""
    verdict: str = ""
    layers: list[Compared]
    lines: list[str] = []
    steps: list[Distribution] = []


class Change(BaseModel):
    """One difference between two models. `a` and `b` name the layer in each model, None if it has no such layer.

    `change` is one word: added, removed, replaced, renamed, opset, connection, attribute, shape, type, constant,
    folded, compressed, rt_info; `text` describes it. Both names are None for a change of many layers, whose names are
    the pairs of `members`.
    """

    change: str
    a: str | None = None
    b: str | None = None
    outer: list[str] = []
    text: str = ""
    members: list[tuple[str | None, str | None]] = []


class Changes(BaseModel):
    """Two models, aligned."""

    kind: Literal["diff"]
    a: str
    b: str
    changes: list[Change]


class Counted(BaseModel):
    """One step of a device: the layers that it computes, its time, the name of its code, and the type of its values."""

    names: list[str]
    seconds: float
    primitive: str = ""
    precision: str = ""


class Counters(BaseModel):
    """The times that a runtime measured on a device."""

    kind: Literal["counters"]
    file: str = ""
    layers: list[Counted]


class Excluded(BaseModel):
    """The effect of excluding layers: the recovered share of the loss, and the metric."""

    layers: list[str]
    recovered: Number
    metric: Number


class Quantized(BaseModel):
    """A quantizer, with the layers that read it, and the signal-to-noise ratio of its values in dB."""

    name: str
    layers: list[str]
    snr: Number = math.inf
    clipped: float = 0.0


class Sensitivities(BaseModel):
    """The output of `irexec sensitivity`."""

    kind: Literal["sensitivity"]
    file: str = ""
    other: str = ""
    metric: str = "snr"
    target: str = ""
    single: list[Excluded]
    curve: list[Excluded] = []
    layers: list[str] = []
    rows: list[Quantized] = []


Observed = Trace | Comparison | Changes | Counters | Sensitivities


def read_observed(text: str | bytes) -> Observed:
    """Return one of the four objects from its JSON. Raises Unreadable for any other text."""
    found = read_json(text)
    kinds: dict[Any, type[Observed]] = {"model": Trace, "compare": Comparison, "diff": Changes}
    kinds["sensitivity"] = Sensitivities
    name = found.get("kind") if isinstance(found, dict) else None
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Unreadable(
            "the file is not the output of `run --trace`, `compare`, `diff` or `sensitivity` with --format json"
        )
    if kind is Trace and "trace" not in found:
        raise Unreadable("the file contains no trace; create one with `irexec run --trace --format json`")
    made: Observed = shaped(kind, found)
    return made


class Places:
    """Finds the layers of one of the models by the names that observations use."""

    def __init__(self, shown: Together, number: int = 0) -> None:
        self._layers = shown.layers
        self._by_path: dict[tuple[tuple[str, ...], str], int] = {}
        self._by_name: dict[str, int] = {}
        for layer in shown.layers_of(number):
            self._by_path.setdefault((self._outer(layer), layer.name), layer.index)
            self._by_name.setdefault(layer.name, layer.index)

    def _outer(self, layer: Layer) -> tuple[str, ...]:
        names: list[str] = []
        while layer.parent is not None:
            layer = self._layers[layer.parent]
            names.insert(0, layer.name)
        return tuple(names)

    def find(self, name: str, outer: list[str]) -> int | None:
        """Return the layer with this name in these bodies, or else in other bodies."""
        found = self._by_path.get((tuple(outer), name))
        return self._by_name.get(name) if found is None else found
