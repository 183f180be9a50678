"""The outcome of a comparison of two runs of a model, and its verdict as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from irexec.core.structure import CONVERT, READ_VALUE, RESULT
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Node
from irexec.ops.spec.traits import ConversionTo, Moving
from irexec.tools.compare.culprit import Culprit
from irexec.tools.compare.errors import Error, off, worst
from irexec.tools.compare.noise import GROUP, packed
from irexec.tools.compare.numbers import DEEP

NO_EFFECT = "without effect on these inputs"
"""The beginning of the notes about layers that differ, but compute the same values."""
# Maximum number of layers that are all named.
_FEW = 3


@dataclass(slots=True)
class Row:
    """One layer in both runs: the largest error of all steps, and the step where it occurred.

    `behind` lists preceding layers that the other side does not expose; they are judged with this layer. `own`
    is None if the inputs of these layers are unknown, or if the results are random. `compensated`: the layer computes
    different values, but the results agree. `limit`: the tolerance in units in the last place. `can_differ`: whether
    there are values that could differ. `module`: the module of the other side whose result the layer computes.
    `changed`: the layer itself differs in the other model, regardless of its inputs.
    `undefined`: the part of the result that the operator leaves undefined for the inputs, if it differs.
    """

    node: Node
    outer: tuple[str, ...]
    agrees: bool
    own: Error | None
    total: Error | None
    tolerance: str
    step: int = 0
    behind: Sequence[Node] = ()
    compensated: bool = False
    limit: float = 0.0
    can_differ: bool = False
    module: str = ""
    changed: bool = False
    undefined: Literal["", "some", "all"] = ""

    def __repr__(self) -> str:
        state = "agrees" if self.agrees else "differs"
        return f"<Row: {self.node.friendly_name} ({self.node.type}) {state}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the row in the form of `Compared`, which `irexec report` reads."""
        return {
            "name": self.node.friendly_name,
            "type": self.node.type,
            **({"module": self.module} if self.module else {}),
            "behind": [node.friendly_name for node in self.behind],
            "outer": list(self.outer),
            "agrees": self.agrees,
            "compensated": self.compensated,
            "own": self.own.to_dict() if self.own is not None else None,
            "total": self.total.to_dict() if self.total is not None else None,
            "tolerance": self.tolerance,
            "step": self.step,
        }


@dataclass(slots=True)
class Comparison:
    """Two runs of one model. `layers`: those that were judged, of `count` in all. `results` contains the errors of the
    results when no layer was exposed. `suspect`: the first layer that is wrong by itself, even if the results do not
    show it.

    `hidden`: the results differ by more than rounding explains, but not when layers are exposed. `results_agree` is
    False if the results differ and no layer's own error explains it; `where` names the layers between which it appears.
    `precision`: the type in which the other runtime computes, if it reports one; `about`: its other properties. `file`:
    the file of the model. `failure`: the error with which the other side ended. `empty`: no result has a value that
    could differ. `exact`: both sides are run by irexec. `notes`: sentences about amplified rounding, parts that the
    inputs did not exercise, and differences without an effect. `plain`: the other side's results per step, when no
    layer was exposed. `proof`: the experiments that show that the named layers make the difference. `cause`: what the
    other side is known to do differently, shown by an experiment. `random`: layers with random or undefined values, on
    which differing results depend. `unpaired`: sentences about results that only one of two models has. `not_used`:
    the layers whose values the other side exposes, but does not compute with, each with layers that show this.
    """

    other: str
    precision: str = ""
    file: str | None = None
    layers: list[Row] = field(default_factory=list)
    results: list[tuple[str, Error]] = field(default_factory=list)
    culprit: Culprit | None = None
    suspect: Culprit | None = None
    hidden: bool = False
    results_agree: bool = True
    count: int = 0
    about: dict[str, str] = field(default_factory=dict)
    failure: str | None = None
    empty: bool = False
    exact: bool = False
    where: str = ""
    notes: list[str] = field(default_factory=list)
    plain: list[list[Array]] = field(default_factory=list, repr=False)
    random: list[str] = field(default_factory=list)
    layout: str = ""
    proof: str = ""
    cause: str = ""
    unpaired: list[str] = field(default_factory=list)
    not_used: dict[Node, list[Node]] = field(default_factory=dict)

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row of plain values for each of `layers`: `pandas.DataFrame(rows)` is a table. `own_ulp`, `own`: the error
        of the layer by itself, in units in the last place and relative to typical values; `total`: with all others.
        """
        return [
            {
                "layer": row.node.friendly_name,
                "type": row.node.type,
                "agrees": row.agrees,
                "own_ulp": None if row.own is None else float(row.own.ulp),
                "own": None if row.own is None else float(row.own.relative),
                "total": None if row.total is None else float(row.total.relative),
                "tolerance": row.tolerance,
                "step": row.step,
            }
            for row in self.layers
        ]

    @property
    def unseen(self) -> int:
        """The number of layers that could not be judged, neither alone nor together with their readers."""
        return self.count - len(
            {node for row in self.layers if row.own is not None for node in (row.node, *row.behind)}
        )

    @property
    def _only_results(self) -> bool:
        """Whether the other side exposes no values but results, of more layers than those that compute the results."""
        seen = [row.node for row in self.layers if row.own is not None]
        users = ({user.type for value in node.outputs for user in value.users} for node in seen)
        return 0 < len(seen) < self.count and all(RESULT in types for types in users)

    @property
    def same(self) -> bool:
        """Whether the results are equal, bit for bit."""
        return self.failure is None and not self.empty and not any(error for _, error in self.results)

    @property
    def agrees(self) -> bool:
        """Whether the results agree, or differ no more than rounding explains."""
        return self.common_agree and not self.unpaired

    @property
    def common_agree(self) -> bool:
        """Whether the results that both sides have agree."""
        if self.failure is not None or self.empty:
            return False
        return self.same or (self.culprit is None and self.results_agree)

    @property
    def _is_accumulated(self) -> bool:
        """Whether the results agree, and every layer is within its tolerance, though not without any error."""
        off = any(row.own or row.own is None for row in self.layers) or not self.layers
        return self.agrees and off and not self.random and not self.others

    @property
    def others(self) -> list[str]:
        """The layers whose values differ from irexec's, although the results agree."""
        if not self.common_agree:
            return []
        # A layer that reads another value and computes equal values only follows another layer.
        rows = [row for row in self.layers if not row.agrees and (row.total or row.changed or not self.exact)]
        names = [row.node.friendly_name for row in rows if row.node not in self.misleading]
        if self.suspect is not None and self.suspect.outer:
            names += [f"{node.friendly_name} in {' / '.join(self.suspect.outer)}" for node in self.suspect.nodes]
        return names

    @property
    def misleading(self) -> set[Node]:
        """The layers whose own errors say nothing: the other side does not compute with the values that it exposes."""
        return {*self.not_used, *(node for shown in self.not_used.values() for node in shown)}

    @property
    def verdict(self) -> str:
        """The outcome of the comparison, in one line."""
        if not self.unpaired:
            return self._about_common
        more = f" (and {plural(len(self.unpaired) - 1, 'other')})" if len(self.unpaired) > 1 else ""
        both = self._about_common, f"{self.unpaired[0]}{more}"
        return "; ".join(both if self.culprit is not None else both[::-1])

    @property
    def _about_common(self) -> str:
        """The outcome for the results that both sides have."""
        unseen = f" ({self.unseen} of {plural(self.count, 'layer')} not observed)" if self.unseen else ""
        if self.empty:
            return f"nothing was compared with {self.other}: no result has a value other than NaN, on either side"
        if self.common_agree:
            return self._agreement(unseen)
        if self.culprit is not None:
            return self._first_wrong(self.culprit)
        if self.failure is not None:
            return f"{self.other} fails: {self.failure}; all layers before agree"
        if self.hidden:
            return "the results differ, but not when layers are observed; no part of the model differs by itself"
        error = worst(error for _, error in self.results)
        name = next(name for name, known in self.results if known is error)
        text = f"unexplained difference: {name} is {off(error)}, which the errors of the layers do not explain"
        return text + (f"; {self.where}" if self.where else unseen)

    def _agreement(self, unseen: str) -> str:
        seen = self.count - self.unseen
        which = "observed " if self.unseen else ""
        agree = f"the one {which}layer agrees" if seen == 1 else f"all {seen} {which}layers agree"
        agree = agree if seen else "the results agree"
        if self._only_results:
            agree, unseen = "the results agree", " (the other layers were not observed)"
        if any(note.startswith(NO_EFFECT) for note in self.notes):
            unseen += " on these inputs, although the models differ"
        others = self.others
        if self.not_used and not others:
            names = few([node.friendly_name for node in self.not_used])
            agree = "the same results as" if self.same else "the same results, but for rounding, as"
            values = "a value" if len(self.not_used) == 1 else "values"
            return (
                f"{agree} {self.other}, which exposes {values} of {names} that it does not compute with: the layers "
                "that read them have the right values, and so have the results if nothing is observed"
            )
        if others:
            same = "the same results as" if self.same else "the same results, but for rounding, as"
            verb = "layer computes" if len(others) == 1 else "layers compute"
            what = f"{verb} different values"
            if not self.exact and not self.same:
                what = f"{'layer exceeds its' if len(others) == 1 else 'layers exceed their'} tolerance"
            return f"{same} {self.other}; {len(others)} {what}: {few(others)}"
        largest = worst(error for _, error in self.results)
        if self.random and largest:
            undefined = [row.node.friendly_name for row in self.layers if row.undefined == "all"]
            cause = f"the random values of {few(self.random)} make the results differ"
            if undefined:
                cause = f"the results differ, because {few(undefined)} has no defined result for its inputs"
            return f"{agree} with {self.other}, but {cause}: {off(largest)}{unseen}"
        if self.precision in LOWER and largest:
            return f"{agree} with {self.other}, within the rounding of {self.precision}: {off(largest)}{unseen}"
        if self.exact and largest:
            return f"the same results, but for rounding, as {self.other}: {off(largest)}{unseen}"
        return f"{agree} with {self.other}{unseen}"

    def _first_wrong(self, culprit: Culprit) -> str:
        layers = plural(len(culprit.origins or culprit.nodes), "node" if culprit.origins else "layer").split()[-1]
        text = f"first wrong {layers}: {culprit.described}: {culprit.numbers}"
        if culprit.changes:
            text = f"first wrong {layers}: {culprit.described}: {culprit.numbers}; " if culprit.own else ""
            text = text or f"first wrong {layers}: {culprit.described}: "
            text += ", ".join(culprit.changes[:_FEW])
        if self.precision in LOWER:
            text += f"; the other side computes in {self.precision}"
        if self.failure is not None:
            text += f"; {self.other} then fails: {self.failure}"
        return f"{text}; only if the layers between them are not observed" if self.hidden else text

    @property
    def hints(self) -> list[str]:
        """Possible causes of the verdict, and suggested next steps."""
        errors = [error for _, error in self.results]
        found = [self.layout] if self.layout else []
        suspected = [row.node for row in self.layers] if self.culprit is None else self.culprit.nodes
        if self.other.startswith("OpenVINO") and CACHE not in self.other and not self.agrees:
            kept = self.about.get(CACHE, "")
            if kept != "f32" and any(map(_reads_a_state, suspected)):
                how = f"keeps the caches of attention in {kept}" if kept else "may keep the caches of attention in u8"
                found.append(f"OpenVINO {how}; --config {CACHE}=f32 keeps them in f32")
        return found + list(hints(self.other, self.precision, self.culprit, errors, self.file, self._is_accumulated))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in the form of `Comparison`, which `irexec report` reads, with more fields."""
        inner = self.culprit is not None and bool(self.culprit.outer)
        return {
            "kind": "compare",
            "reference": "irexec",
            "other": self.other,
            "precision": self.precision,
            "about": self.about,
            "verdict": self.verdict,
            "proof": self.proof,
            "cause": self.cause,
            "hints": self.hints,
            "notes": self.notes,
            "agrees": self.agrees,
            "same": self.same,
            "failure": self.failure,
            "hidden": self.hidden,
            "unseen": self.unseen,
            "culprit": self.culprit.to_dict() if self.culprit is not None else None,
            "results": [{"name": name, "total": error.to_dict()} for name, error in self.results],
            "layers": [
                *(row.to_dict() for row in self.layers),
                *(self.culprit.rows() if inner and self.culprit else []),
            ],
        }


def few(names: Sequence[str]) -> str:
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {plural(more, 'other')}" if more > 0 else "")


LOWER = ("f16", "bf16")
"""The types other than f32 in which devices compute models in f32."""
CACHE = "KV_CACHE_PRECISION"
"""The property of OpenVINO for the type in which the caches of attention are kept."""
"""The relative error of results from which an explanation is given."""


def hints(
    other: str,
    precision: str,
    culprit: Culprit | None,
    results: Sequence[Error],
    file: str | None,
    accumulated: bool,
) -> Iterator[str]:
    """Yield hints about a comparison.

    `other`: the name of the other side, with its settings. `results`: the errors of the model's results. `file`: the
    file of the model. `accumulated`: whether rounding of the layers makes the results differ.
    """
    if precision in LOWER:
        yield (
            f"the device or the settings chose {precision}, which hides smaller errors; --config "
            "INFERENCE_PRECISION_HINT=f32 compares in f32"
        )
    if culprit is None:
        if accumulated and precision not in LOWER and any(error.relative > DEEP for error in results):
            yield "each layer is within its tolerance; the difference in the results is accumulated rounding"
        return
    if other.startswith("OpenVINO") and GROUP not in other and any(map(packed, culprit.nodes)):
        yield (
            f"OpenVINO may quantize activations that are multiplied with low-bit weights; --config {GROUP}=0 "
            "disables this"
        )
    if other.startswith("PyTorch") and any(map(_halved, culprit.nodes)):
        yield "the model has weights in f16; ovc and save_model keep f32 with compress_to_fp16=False"
    if any(text.endswith("rounded to f16") for text in culprit.changes):
        yield "ovc and save_model compress weights to f16 by default; compress_to_fp16=False keeps f32"
    if other.lower().endswith((".xml", ".onnx", ".irt")) and file is not None:
        yield f"irexec diff {file} {other} lists the differences between the files"


def _reads_a_state(node: Node) -> bool:
    """Return whether a layer reads a variable, directly or through layers that only move its values, as a cache
    of attention is reordered by beams, extended and repeated for groups.
    """
    seen = [node]
    for layer in seen:
        if layer is node or Moving in layer.traits or ConversionTo in layer.traits:
            seen += [v.node for v in layer.inputs if v is not None and v.node not in seen]
    return any(layer.type == READ_VALUE for layer in seen)


def _halved(node: Node) -> bool:
    """Return whether a layer reads a constant in f16 that is converted to another type."""
    sources = [value.node for value in node.inputs if value is not None]
    sources += [value.node for source in sources for value in source.inputs if value is not None]
    return any(
        s.type == CONVERT and s.inputs[0] is not None and s.inputs[0].element_type.name == "f16" for s in sources
    )
