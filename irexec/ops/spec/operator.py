"""The decorator that turns a function into an operator, and all properties that are derived from its signature.

A kernel's positional-only parameters are the input ports, its keyword-only parameters the attributes, its return
annotation the outputs. See docs/adding-an-operator.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from irexec.core.threads.parallel import computing
from irexec.core.types import TensorType, UnknownRank
from irexec.ops.spec.attributes import Attribute, AttributeFault
from irexec.ops.spec.binding import Binding, kernel_binding
from irexec.ops.spec.checks import note, running
from irexec.ops.spec.constraints import Breach, Check, ConstraintError, check_call, require
from irexec.ops.spec.declaration import Declaration, Options, Special
from irexec.ops.spec.oracle import Oracle, Tolerance, exact, positioned, random, rounded, summed, transformed
from irexec.ops.spec.prepared import NodeTypes, PassThrough
from irexec.ops.spec.signature import (
    Elements,
    Input,
    Output,
    TypeFrom,
    output_types,
    port_parameters,
)
from irexec.ops.spec.traits import DeclaredTrait

if TYPE_CHECKING:
    from pydantic import BaseModel

    from irexec.ops.spec.acceptance import Acceptor

__all__ = [
    "REGISTRY", "Breach", "Check", "ConstraintError", "Elements", "NodeTypes", "Operator",
    "PassThrough", "Special", "Tolerance", "TypeFrom", "exact", "operator", "positioned", "random",
    "require", "rounded", "summed", "transformed",
]  # fmt: skip


REGISTRY: dict[tuple[str, str], Operator] = {}


class Operator(Declaration):
    """One operator of one opset: its declarations, and the properties derived from them.

    A call checks the shape rule and runs the kernel, which checks only constraints that depend on values.
    """

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        """Return the results for these arrays and attributes; attributes are given by their Python names.

        Raises ConstraintError if arrays or attributes break a constraint and TypeError if an element type does not fit.
        A call with missing inputs or attributes raises the TypeError of a Python function.
        """
        check_call(self, inputs, attributes)
        return self.compute(*inputs, **attributes)

    def compute(self, *inputs: Any, **attributes: Any) -> Any:
        """Return the results of a call whose inputs and attributes are known to satisfy the shape rule."""
        with computing():
            return self.kernel(*inputs, **self.bind(attributes))

    def bind(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the kernel's keyword arguments for `attributes` (by Python name), with groups of attributes as
        objects.
        """
        return self._kernel_binding(attributes)

    @cached_property
    def _kernel_binding(self) -> Binding:
        return kernel_binding(self.signature.groups)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """The complete signature, with a parameter for every attribute."""
        kernel = inspect.signature(self.kernel)
        given = port_parameters(kernel, self.inputs)
        keywords = [
            inspect.Parameter(
                a.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if a.required else a.default,
                annotation=a.annotation,
            )
            for a in self.attributes
        ]
        return kernel.replace(parameters=[*given, *keywords])

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Output, ...]:
        return self.signature.outputs

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return self.signature.attributes

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of a layer: its `attributes`, and `inputs`, the element types of its ports."""
        from irexec.ops.spec.layer_model import layer_model

        return layer_model(f"{self.type}_{self.opset}", self.signature, self.attributes, self.__doc__)

    @cached_property
    def accept(self) -> Acceptor:
        """The acceptor of layers: `accept(attributes, inputs)`; either may be None if it is unknown."""
        from irexec.ops.spec.acceptance import Acceptor

        return Acceptor(self.signature, self.attributes)

    @cached_property
    def oracle(self) -> Oracle:
        """What tests and debugging know of the operator."""
        return Oracle(self, self._tolerance)

    def parse_attributes(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[AttributeFault]]:
        """Return the attributes by Python name, and their faults. `given` maps names in a file to texts or values."""
        accepted = self.accept(given)
        return accepted.attributes, accepted.faults

    def infer(
        self, inputs: Sequence[TensorType | None], attributes: dict[str, Any], breaches: list[Breach] | None = None
    ) -> list[TensorType]:
        """Return the output types for input types; breaches of the signature or of the rule are added to `breaches`."""
        found: list[Breach] = [] if breaches is None else breaches
        accepted = self.accept(inputs=inputs)
        found += accepted.breaches

        def check(constraint: str, condition: bool | None, message: str, **details: Any) -> bool:
            if condition is None:
                return True
            note(constraint, bool(condition))
            if condition:
                return True
            # For a wrong element type, the rule only determines the shapes.
            if is_typed:
                found.append(Breach("O001", message, constraint, **details))
            return False

        shapes: Any = None
        is_typed = not (found and any(breach.code == "O002" for breach in found))
        if self.rule is not None:
            try:
                with running(self):
                    shapes = self.rule(check, *self.padded(inputs), **self._rule_binding(attributes))
            except UnknownRank:
                pass
            except Exception as error:
                # After a breach the rule worked on rejected types; without a breach the rule itself is wrong.
                if not found:
                    found.append(failed_rule(self, error))
        return output_types(self.signature.outputs, shapes, accepted.elements, attributes)

    def is_complete(self, inputs: Sequence[TensorType | None], attributes: dict[str, Any]) -> bool:
        """Return True if no attribute and no input is missing, and there are no surplus inputs."""
        signature, count = self.signature, len(inputs)
        if count < signature.min_inputs or (signature.max_inputs is not None and count > signature.max_inputs):
            return False
        return attributes.keys() >= signature.attribute_names and not (None in inputs and signature.missing(inputs))


def operator(
    type: str, opset: str, *traits: DeclaredTrait, doc: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., Any]], Operator]:
    """Turn a kernel into an operator and register it under (type, opset).

    `traits`: facts about the operator, see `irexec/ops/spec/traits.py`. `doc`: the description, if one function creates
    the kernels of a family. The other options are those of `Options`.

    Raises TypeError, with the reason, if the signature does not declare an operator.
    """

    def declare(kernel: Callable[..., Any]) -> Operator:
        if doc is not None:
            kernel.__doc__, kernel.__name__, kernel.__qualname__ = doc, type, type
        made = Operator(type, opset, kernel, *traits, **options)
        # Standard operators are imported when a model needs them, so a user's operator may be registered first.
        if made.is_own or (type, opset) not in REGISTRY:
            REGISTRY[type, opset] = made
        return made

    return declare


def failed_rule(operator: Operator, error: Exception) -> Breach:
    """Return the finding for a shape rule that raised an exception, which is a defect: rules report with `check`."""
    return Breach("O007", f"the shape rule of {operator} failed: {type(error).__name__}: {error}")
