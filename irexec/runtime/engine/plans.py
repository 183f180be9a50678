"""The plan cache of a model: a general plan for all shapes, and special plans for recently repeated shapes.

A special plan knows all extents of the inputs, or all but those that change from call to call: the cache of a language
model grows with each token, while the extents of the token stay.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import PartialShape, Stored, TensorType
from irexec.ir.weights.file import mapped_file
from irexec.model.graph.model import Model, Value
from irexec.model.inference import infer
from irexec.model.inference.opened import opened
from irexec.runtime.engine.aligned import as_taken
from irexec.runtime.engine.constants import Constants
from irexec.runtime.engine.plan import Plan, make_plan

Shapes = tuple[tuple[int, ...], ...]
"""The shapes of the inputs. -1: an extent that a plan leaves open."""

# The number of combinations of input shapes of a dynamic model that are remembered.
MAX_PLANS = 8


class Plans:
    """Creates plans on demand, from any thread. Does not change the model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        nodes = list(model.walk())
        self.has_state = any(node.has_state for node in nodes)
        self._constants = Constants(as_taken(nodes))
        self._lock = threading.Lock()
        constants = [node.held.raw if isinstance(node.held, Stored) else node.held for node in nodes]
        self._files = {id(file): file for data in constants if (file := mapped_file(data)) is not None}
        self._require_files()
        self._is_dynamic = any(value.type.shape.is_dynamic for value in model.inputs)
        self._general = make_plan(model, constants=self._constants)
        self._observed: Plan | None = None
        self._special: OrderedDict[Shapes, Plan | None] = OrderedDict()
        self.optional_inputs = model.optional_inputs
        self._opened: dict[frozenset[Value], Plans] = {}

    def opened(self, given: Iterable[Value]) -> Plans:
        """Return the plans of the same model in which these optional inputs are given by the caller. Raises IRError."""
        key = frozenset(given)
        if not key:
            return self
        with self._lock:
            if key not in self._opened:
                self._opened[key] = Plans(opened(self.model, key))
            return self._opened[key]

    @property
    def general(self) -> Plan:
        """The plan for every shape that the model accepts."""
        return self._general

    def of(self, shapes: Shapes, last: Shapes = (), *, observed: bool = False) -> Plan:
        """Return the plan for these input shapes. `last`: those of the last call of the same request.

        When a dynamic model receives the same shapes a second time, a special plan is made for these static shapes.
        When the same extents change from one call to the next a second time, one is made in which they are open. Of
        the special plans for these shapes, the one with the fewest open extents is used: the first token after any
        prompt has the plan of all tokens.
        `observed`: a plan that computes every output of every layer. Raises IRError if the weights' file was truncated.
        """
        self._require_files()
        if observed:
            with self._lock:
                if self._observed is None:
                    self._observed = make_plan(self.model, constants=self._constants, observed=True)
                return self._observed
        if not self._is_dynamic:
            return self._general
        with self._lock:
            changed = _with_open(shapes, last)
            if changed == shapes:
                self._remember(shapes)
            fitting = [
                known
                for known, plan in self._special.items()
                if known in (shapes, changed) or (plan and _covers(known, shapes))
            ]
            if not fitting:
                self._remember(shapes)
            found = min(fitting, key=_open, default=None)
            if changed is not None and (found is None or _open(changed) < _open(found)):
                self._remember(changed)
            return self._general if found is None else self._repeated(found)

    def _remember(self, shapes: Shapes) -> None:
        self._special.setdefault(shapes)
        if len(self._special) > MAX_PLANS:
            self._special.popitem(last=False)

    def _repeated(self, shapes: Shapes) -> Plan:
        """Return the special plan for shapes that are remembered."""
        plan = self._special[shapes]
        if plan is None:
            plan = self._special[shapes] = self._made_for(shapes)
        self._special.move_to_end(shapes)
        return plan

    def _require_files(self) -> None:
        """Raise IRError if a mapped file was truncated: reading the missing part would terminate the process."""
        for file in self._files.values():
            if file.size() < len(file):
                message = f"the file was truncated: {file.size()} of the {len(file)} bytes of the weights remain"
                hint = "to update a model that is in use, replace its file instead of writing into it"
                raise IRError(Findings(file=self.model.file).add("C002", message, hint=hint))

    def __len__(self) -> int:
        """Return the number of remembered combinations of shapes."""
        return len(self._special)

    def _made_for(self, shapes: Shapes) -> Plan:
        known = [
            PartialShape([extent if open < 0 else open for extent, open in zip(value.type.shape, shape, strict=True)])
            if value.type.rank is not None
            else PartialShape(shape)
            for value, shape in zip(self.model.inputs, shapes, strict=True)
        ]
        if all(shape == value.type.shape for shape, value in zip(known, self.model.inputs, strict=True)):
            return self._general
        given = [TensorType(value.element_type, shape) for value, shape in zip(self.model.inputs, known, strict=True)]
        inference = infer(self.model, given, Findings(file=self.model.file))
        # The error may be in a branch that is not taken, so fall back to the general plan, which detects it at run
        # time. The same holds for a value whose shape contradicts the one that the model promises.
        if inference.report.ok and all(
            inference[value].shape.compatible(value.type.shape) for node in self.model.nodes for value in node.outputs
        ):
            return make_plan(self.model, inference, self._constants)
        return self._general


def _with_open(shapes: Shapes, last: Shapes) -> Shapes | None:
    """Return the shapes with the extents that differ from those of the last call open; None if ranks differ."""
    if list(map(len, shapes)) != list(map(len, last)):
        return None
    return tuple(
        tuple(extent if extent == other else -1 for extent, other in zip(shape, before, strict=True))
        for shape, before in zip(shapes, last, strict=True)
    )


def _covers(known: Shapes, shapes: Shapes) -> bool:
    """Return whether shapes differ from the known ones in open extents only."""
    return all(
        len(one) == len(other) and all(a in (-1, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(known, shapes, strict=True)
    )


def _open(shapes: Shapes) -> int:
    return sum(shape.count(-1) for shape in shapes)
