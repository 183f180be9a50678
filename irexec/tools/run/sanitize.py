"""A listener that reports suspicious but legal values, at the layer where each first occurs.

NaN and infinities from finite inputs, results that depend on an undefined order, indices that wrap or are clamped,
integer overflow, conversions that change values, divisions by zero, and variables read before they are assigned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import Report
from irexec.core.structure import ASSIGN, PARAMETER, READ_VALUE
from irexec.core.types import Array, ElementType
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference.breaches import in_terms_of_file, place_of
from irexec.model.inference.propagate import as_list
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.errors import findings_for
from irexec.tools.run.suspicions import SUSPICIONS, Suspicion


class Sanitizer:
    """Records suspicious values of the layers of a run, each kind once per layer."""

    def __init__(self, model: Model) -> None:
        self._findings = findings_for(model)
        self._reported: set[tuple[Node, str]] = set()
        self._odd: dict[Value, bool] = {}
        self._written: set[str] = set()
        self._pending: list[tuple[bool, list[tuple[Suspicion, Any]]]] = []
        self._calls: dict[Node, int] = {}
        self._read = {value for node in model.walk() for value in node.inputs}
        self._look_at_constants(model)

    @property
    def report(self) -> Report:
        """The findings so far, in file order."""
        return self._findings.report.sorted()

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        """Check the inputs now, because the result may overwrite them."""
        self._calls[node] = self._calls.get(node, 0) + 1
        if node.type == ASSIGN:
            self._written.add(str(node.attributes["variable_id"]))
        elif node.type == READ_VALUE and not node.inputs and str(node.attributes["variable_id"]) not in self._written:
            self._say(
                node,
                "A008",
                f"the variable {node.attributes['variable_id']!r} is read before it is assigned, so its value is zero",
            )
        odd = any(
            self._is_odd(v, a) for v, a in zip(node.inputs, inputs, strict=True) if v is not None and a is not None
        )
        asked = []
        for suspicion in (s for trait in node.traits for s in SUSPICIONS.get(trait, ())):
            if suspicion.output is not None and node.outputs[suspicion.output] not in self._read:
                continue
            known = suspicion.before(node, inputs)
            if known is not None:
                asked.append((suspicion, known))
        self._pending.append((odd, asked))

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        odd, asked = self._pending.pop()
        for suspicion, known in asked if outputs else ():
            message = suspicion.after(node, known, outputs)
            if message is not None:
                self._say(node, suspicion.code, message, suspicion.port)
        for value, array in zip(node.outputs, outputs, strict=False):
            nan, infinite = _not_finite(array)
            self._odd[value] = bool(nan or infinite)
            if odd or node.bodies:
                continue
            if nan:
                self._say(node, "A001", f"{nan} of {array.size} values are NaN although the inputs are finite")
            if infinite:
                self._say(
                    node, "A002", f"{infinite} of {array.size} values are infinite although the inputs are finite"
                )

    def _look_at_constants(self, model: Model) -> None:
        """Run layers that depend only on constants, because plans run them without a listener."""
        constant = constant_nodes(model)
        known: dict[Value, Array] = {}
        left = Counter(value for node in constant for value in node.inputs)
        for node in model.nodes:
            for body in node.bodies:
                self._look_at_constants(body.model)
            if node.constant is not None:
                known[node.outputs[0]] = node.constant
            elif node in constant and node.operator is not None:
                if any(value is not None and value not in known for value in node.inputs):
                    continue
                inputs = [None if value is None else known[value] for value in node.inputs]
                self.before(node, inputs)
                try:
                    outputs = [
                        np.asarray(made) for made in as_list(node.operator.compute(*inputs, **node.all_attributes))
                    ]
                except Exception:  # Errors of a kernel are reported when the plan is created.
                    outputs = []
                self.after(node, inputs, outputs, 0.0)
                known |= dict(zip(node.outputs, outputs, strict=False))
                left.subtract(node.inputs)
                for value in {value for value in node.inputs if value is not None and not left[value]}:
                    del known[value]

    def _is_odd(self, value: Value, array: Array) -> bool:
        """Return whether a value contains NaN or infinity. Answers for results of layers were recorded earlier."""
        if value not in self._odd or value.node.type == PARAMETER:
            self._odd[value] = any(_not_finite(array))
        return self._odd[value]

    def _say(self, node: Node, code: str, message: str, port: str | None = None) -> None:
        if (node, code) in self._reported:
            return
        self._reported.add((node, code))
        calls = self._calls[node]
        when = f" (in call {calls})" if calls > 1 else ""
        where = {"at": place_of(node, port, None), "layer": node.ref, "port": port}
        found: dict[str, Any] = {"message": message + when} | where
        self._findings.add(code, **found | in_terms_of_file(node, message + when, port, None))


def sanitize(model: Model, inputs: Sequence[Array]) -> Report:
    """Report suspicious values in one run of a model. Raises IRError if it cannot be run."""
    sanitizer = Sanitizer(model)
    CompiledModel(model).create_infer_request([sanitizer]).infer(list(inputs))
    return sanitizer.report


def _not_finite(array: Array) -> tuple[int, int]:
    """Return how many elements are NaN, and how many infinite."""
    if not array.size or array.dtype.kind in "TUObiu" or not ElementType.of(array.dtype).is_real:
        return 0, 0
    wide = array if array.dtype.kind == "f" else array.astype(np.float32)
    finite = int(np.count_nonzero(np.isfinite(wide)))
    if finite == array.size:
        return 0, 0
    nan = int(np.count_nonzero(np.isnan(wide)))
    return nan, array.size - finite - nan
