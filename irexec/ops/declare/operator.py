"""The decorator that turns a function into an operator, and all properties that are derived from its signature.

A kernel's positional-only parameters are the input ports, its keyword-only parameters the attributes, its return
annotation the outputs. See docs/adding-an-operator.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from irexec.ops.declare.attributes import Attribute, AttributeFault
from irexec.ops.declare.binding import Binding, LaterBinding, kernel_binding
from irexec.ops.declare.checks import note, running
from irexec.ops.declare.constraints import Breach, Check, ConstraintError, check_call, failed_rule, require
from irexec.ops.declare.deviation import Deviation
from irexec.ops.declare.prepared import NodeTypes, PassThrough
from irexec.ops.declare.signature import (
    Elements,
    Input,
    Output,
    Signature,
    TypeFrom,
    output_types,
    port_parameters,
    read_signature,
)
from irexec.ops.declare.tolerance import Allowed, Open, Tolerance, Undefined, exact, positioned, random, rounded, summed
from irexec.threads.parallel import computing
from irexec.types import ANY, TensorType, UnknownRank

if TYPE_CHECKING:
    from pydantic import BaseModel

    from irexec.ops.declare.acceptance import Acceptor
    from irexec.ops.declare.older import OlderForm

__all__ = [
    "REGISTRY", "Breach", "Check", "ConstraintError", "Deviation", "Elements", "NodeTypes", "Open", "Operator",
    "PassThrough", "Tolerance", "TypeFrom", "Undefined", "exact", "operator", "positioned", "random", "require",
    "rounded", "summed",
]  # fmt: skip


Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
Special = Callable[..., Any] | PassThrough | None
REGISTRY: dict[tuple[str, str], Operator] = {}


class Operator:
    """One operator of one opset: its kernel, signature and shape rule, and the properties derived from them.

    A call checks the shape rule and runs the kernel, which checks only constraints that depend on values.

    An invalid declaration raises TypeError: immediately, or in irexec.ops when the declaration is first used (see
    `read_declaration`), because its modules declare many operators of which a model uses few.
    """

    def __init__(
        self,
        type: str,
        opset: str,
        kernel: Callable[..., Any],
        *,
        shapes: Rule | None = None,
        inplace: str | tuple[str, ...] = (),
        view: str | tuple[str, ...] = (),
        reshapes: bool = False,
        unaligned: str | tuple[str, ...] = (),
        narrow: str | tuple[str, ...] = (),
        tolerance: Tolerance = exact,
        values: Literal["kernel", "elementwise"] | None = None,
        has_bodies: bool = False,
        has_state: bool = False,
    ) -> None:
        self.type, self.opset, self.kernel = type, opset, kernel
        self.is_own = not (kernel.__module__ or "").startswith("irexec.ops.")  # __module__ may be None after exec().
        self._bindings: list[LaterBinding] = []
        self.rule: Rule | None = None
        self.inplace = (inplace,) if isinstance(inplace, str) else inplace
        self.view = (view,) if isinstance(view, str) else view
        self.reshapes = reshapes
        self.unaligned = (unaligned,) if isinstance(unaligned, str) else unaligned
        self.narrow = (narrow,) if isinstance(narrow, str) else narrow
        self.tolerance = tolerance
        self.values = values
        self.has_bodies, self.has_state = has_bodies, has_state
        self.specializer: Callable[[NodeTypes], Special] | None = None
        self.generators: dict[str, Callable[..., Any]] = {}
        self.opener: Callable[..., Open | None] | None = None
        self.undefined: Callable[..., Undefined] | None = None
        self.allowed = Allowed()
        self.deviation: tuple[tuple[str, ...], Callable[..., Deviation | None]] | None = None
        self.worker: Callable[..., int] | None = None
        self.older_rule: Callable[[OlderForm, Sequence[TensorType | None]], None] | None = None
        self.make_node: Callable[[dict[str, Any], int], Any] | None = None
        """Creates a node from attributes and a number of inputs, if the operator's nodes have their own class."""
        self.__doc__, self.__name__, self.__module__ = kernel.__doc__, kernel.__name__, kernel.__module__
        if self.is_own:
            self.read_declaration()
        if shapes is not None:
            self.shapes(shapes)

    @cached_property
    def signature(self) -> Signature:
        """The ports and attributes, as declared by the kernel."""
        signature = read_signature(self.kernel)
        for name in {*self.inplace, *self.view, *self.unaligned, *self.narrow} - {i.name for i in signature.inputs}:
            raise TypeError(f"{self}: {name!r} is not an input")
        return signature

    def read_declaration(self) -> None:
        """Read all declarations made so far. Raises TypeError, with the reason, for an invalid declaration."""
        assert self.signature
        for binding in self._bindings:
            binding.read()

    # Decorators for declarations after the kernel. The functions request attributes and groups by parameter name.

    def shapes(self, rule: R) -> R:
        """Declare the shape rule: `rule(check, *input types, *, attributes)` → shape(s) or TensorType(s)."""
        self._rule_binding = self.binding(rule, "shape rule", before=1)
        self.rule = rule
        return rule

    def specialize(self, function: Callable[..., Special]) -> Callable[..., Special]:
        """Declare a faster kernel with the same results for one node: `f(node types, *, attributes)` → kernel or None.

        None: there is no faster kernel for these types. The kernel takes `out` if the operator's kernel does, unless it
        is wrapped in PassThrough. If the operator returns views and takes no `out`, equal layers share the kernel.
        """
        binding = self.binding(function, "specializer", ports=1)
        self.specializer = lambda types: function(types, **binding(types.attributes))
        return function

    def draw(self, *ports: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare a generator of random values for these ports: `f(rng, port, types, *, attributes)` → array or None.

        `types` maps input names to static TensorTypes; those of inputs already drawn have a `.value`.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            binding = self.binding(function, "generator of random values", ports=3)
            for port in ports:
                self.generators[port] = lambda rng, port, types, attributes: function(
                    rng, port, types, **binding(attributes)
                )
            return function

        return declare

    def open(self, function: Callable[..., Open | None]) -> Callable[..., Open | None]:
        """Declare the parts of a result that the page leaves open: `f(*inputs, *, attributes)` → Open or None."""
        binding = self.binding(function, "opener")
        self.opener = lambda *inputs, **attributes: function(*inputs, **binding(attributes))
        return function

    def undefined_for(self, function: Callable[..., Undefined]) -> Callable[..., Undefined]:
        """Declare the parts of the result that the page leaves undefined: `f(*inputs, *, attributes)` → Undefined."""
        binding = self.binding(function, "rule of undefined results")
        self.undefined = lambda *inputs, **attributes: function(*inputs, **binding(attributes))
        return function

    def deviates(self, *ports: str) -> Callable[[Callable[..., Deviation | None]], Callable[..., Deviation | None]]:
        """Declare deviations, given the types of `ports`: `f(*input types, *, attributes)` → Deviation or None."""

        def declare(function: Callable[..., Deviation | None]) -> Callable[..., Deviation | None]:
            binding = self.binding(function, "deviation")
            self.deviation = ports, lambda inputs, given: function(*self._padded(inputs), **binding(given))
            return function

        return declare

    def work(self, function: Callable[..., int]) -> Callable[..., int]:
        """Declare the cost of a call beyond its inputs and outputs: `f(output types, *input types, *, attributes)`.

        The cost is a number of elements, including scratch memory. It is unknown if `f` requests an unknown extent.
        """
        binding = self.binding(function, "work", before=1)
        self.worker = lambda outputs, *inputs, attributes: function(outputs, *inputs, **binding(attributes))
        return function

    def older(self, rule: R) -> R:
        """Declare the form in the previous version: `rule(form, *input types, *, attributes)`, see `OlderForm`."""
        binding = self.binding(rule, "rule of the older form", before=1)

        def older_rule(form: OlderForm, inputs: Sequence[TensorType | None]) -> None:
            rule(form, *self._padded(inputs), **binding(form.attributes))

        self.older_rule = older_rule
        return rule

    def binding(
        self, function: Callable[..., Any], role: str, *, before: int = 0, ports: int | None = None
    ) -> LaterBinding:
        """Return the binding of a function with `ports` positional arguments, or `before` others and the inputs."""
        binding = LaterBinding(self, function, role, before, ports)
        self._bindings.append(binding)
        if self.is_own:
            binding.read()
        return binding

    # Derived properties.

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
        """Return the kernel's keyword arguments for `attributes`, flat by Python name, collected into its groups."""
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

    @property
    def is_run_by_engine(self) -> bool:
        """True if a call needs more than its inputs: the variables of a request, or the plans of bodies."""
        return self.has_bodies or self.has_state

    @property
    def versioned_name(self) -> str:
        """The name as printed in the operation pages: `ScatterNDUpdate-15`."""
        return f"{self.type}-{self.opset.removeprefix('opset')}"

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of a layer: its `attributes`, and `inputs`, the element types of its ports."""
        from irexec.ops.declare.layer_model import layer_model

        return layer_model(f"{self.type}_{self.opset}", self.signature, self.attributes, self.__doc__)

    @cached_property
    def accept(self) -> Acceptor:
        """The acceptor of layers: `accept(attributes, inputs)`; either may be None if it is unknown."""
        from irexec.ops.declare.acceptance import Acceptor

        return Acceptor(self.signature, self.attributes)

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
                    shapes = self.rule(check, *self._padded(inputs), **self._rule_binding(attributes))
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

    def _padded(self, inputs: Sequence[TensorType | None]) -> Sequence[TensorType | None]:
        """Return one type for each port, with None for omitted trailing ports."""
        left_out = 0 if self.signature.is_variadic else len(self.signature.inputs) - len(inputs)
        return [*inputs, *[None] * left_out] if left_out else inputs

    def __str__(self) -> str:
        return self.versioned_name

    def __repr__(self) -> str:
        return f"<Operator {self.versioned_name}>"


def operator(
    type: str,
    opset: str,
    *,
    shapes: Rule | None = None,
    inplace: str | tuple[str, ...] = (),
    view: str | tuple[str, ...] = (),
    reshapes: bool = False,
    unaligned: str | tuple[str, ...] = (),
    narrow: str | tuple[str, ...] = (),
    tolerance: Tolerance = exact,
    values: Literal["kernel", "elementwise"] | None = None,
    has_bodies: bool = False,
    has_state: bool = False,
    doc: str | None = None,
) -> Callable[[Callable[..., Any]], Operator]:
    """Turn a kernel into an operator and register it under (type, opset).

    `shapes`: a shared shape rule (or declare a rule with `@op.shapes`). `inplace`: inputs whose buffer may be passed as
    `out=`. `view`: inputs whose memory a result may share; a callable that takes `out=` never shares memory, even
    without `out`. `reshapes`: the result is the first input with all of its elements in the same order. `unaligned`:
    inputs that need not be aligned. All kernels are correct for unaligned inputs; this kernel is also as fast as with
    an aligned copy. `narrow`: f32 inputs for which an f16 constant of the file may be passed without conversion.
    `tolerance`: the difference that a comparison allows. `values`: how inference propagates known shape values:
    "kernel" runs the kernel on object arrays of int and Dimension (data movement), "elementwise" likewise for
    arithmetic. `has_bodies`: layers of the operator contain models, which the engine runs. `has_state`: the operator
    reads or assigns a variable, which the engine keeps.

    `doc`: the description, if one function creates the kernels of a family.

    Raises TypeError, with the reason, if the signature does not declare an operator.
    """

    def declare(kernel: Callable[..., Any]) -> Operator:
        if doc is not None:
            kernel.__doc__, kernel.__name__, kernel.__qualname__ = doc, type, type
        made = Operator(
            type,
            opset,
            kernel,
            shapes=shapes,
            inplace=inplace,
            view=view,
            reshapes=reshapes,
            unaligned=unaligned,
            narrow=narrow,
            tolerance=tolerance,
            values=values,
            has_bodies=has_bodies,
            has_state=has_state,
        )
        # Standard operators are imported when a model needs them, so a user's operator may be registered first.
        if made.is_own or (type, opset) not in REGISTRY:
            REGISTRY[type, opset] = made
        return made

    return declare


ANY_ELEMENTS = Elements("T", ANY)
