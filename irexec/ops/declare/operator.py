"""The decorator that makes an operator of a function, and everything that is derived from its signature.

A kernel's positional-only parameters are the input ports, its keyword-only parameters the attributes, its return
annotation the outputs. See docs/adding-an-operator.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from irexec.ops.declare.attributes import Attribute, AttributeFault, Declared, read_plainly
from irexec.ops.declare.binding import Binding, binding_of, kernel_binding
from irexec.ops.declare.checks import note, running
from irexec.ops.declare.constraints import Breach, Check, ConstraintError, require
from irexec.ops.declare.output_types import bind_types, output_types
from irexec.ops.declare.signature import Elements, Input, Output, Signature, TypeFrom, read_signature
from irexec.ops.declare.tolerance import Open, Tolerance, exact, positioned, random, rounded, summed
from irexec.records import NamedTuple, field, record
from irexec.types import ANY, Array, TensorType, UnknownRank

if TYPE_CHECKING:
    import inspect

    from pydantic import BaseModel

__all__ = [
    "REGISTRY",
    "Breach",
    "Check",
    "ConstraintError",
    "Elements",
    "HandsOn",
    "NodeTypes",
    "Open",
    "Operator",
    "Tolerance",
    "TypeFrom",
    "exact",
    "operator",
    "positioned",
    "random",
    "require",
    "rounded",
    "summed",
]


@record(frozen=True, eq=False)
class NodeTypes:
    """What `specialize` is given: the static types of one node, its constants, its attributes.

    `used` tells which outputs anything reads; None when that is not known.
    """

    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    used: tuple[bool, ...] | None = None


class HandsOn(NamedTuple):
    """A specialised kernel whose result is its input or a view of it, where the operator's kernel would take `out`."""

    call: Callable[..., Any]


Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
Special = Callable[..., Any] | HandsOn | None
REGISTRY: dict[tuple[str, str], Operator] = {}
# Tests set this: a rule that fails otherwise than by `check` is a fault of the rule, which users get as a finding.
RULES_MUST_NOT_FAIL = False


class Operator:
    """One operator of one opset: kernel, signature, shape rule, and what follows from them. Calls run the kernel.

    A declaration that makes no sense fails when it is made, with TypeError. Only those of irexec itself are read when
    they are first needed (see `read_declaration`): a module declares many, of which a model has few.
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
    ) -> None:
        self.type, self.opset, self.kernel = type, opset, kernel
        self.is_own = not (kernel.__module__ or "").startswith("irexec.ops.")  # None: made by exec().
        self._bindings: list[_LaterBinding] = []
        self.rule: Rule | None = None
        self.inplace = (inplace,) if isinstance(inplace, str) else inplace
        self.view = (view,) if isinstance(view, str) else view
        self.reshapes = reshapes
        self.unaligned = (unaligned,) if isinstance(unaligned, str) else unaligned
        self.narrow = (narrow,) if isinstance(narrow, str) else narrow
        self.tolerance = tolerance
        self.values = values
        self.specializer: Callable[[NodeTypes], Special] | None = None
        self.generators: dict[str, Callable[..., Any]] = {}
        self.opener: Callable[..., Open | None] | None = None
        self.worker: Callable[..., int] | None = None
        self.make_node: Callable[[dict[str, Any], int], Any] | None = None
        """Makes a node of attributes and a number of inputs, where the operator's nodes are of a class of their own."""
        self.__doc__ = kernel.__doc__
        self.__name__ = kernel.__name__
        self.__module__ = kernel.__module__
        if self.is_own:
            self.read_declaration()
        if shapes is not None:
            self.shapes(shapes)

    @cached_property
    def signature(self) -> Signature:
        """The ports and attributes, as the kernel declares them."""
        signature = read_signature(self.kernel)
        for name in {*self.inplace, *self.view, *self.unaligned, *self.narrow} - {i.name for i in signature.inputs}:
            raise TypeError(f"{self}: {name!r} is no input")
        return signature

    def read_declaration(self) -> None:
        """Read all that was declared so far. Raises TypeError, saying what is wrong, where it makes no sense."""
        assert self.signature
        for binding in self._bindings:
            binding.read()

    # Declarations that follow the kernel, each a decorator. The functions name the attributes and groups they want.

    def shapes(self, rule: R) -> R:
        """Declare the shape rule: `rule(check, *input types, *, attributes)` → shape(s) or TensorType(s)."""
        self._rule_binding = self._binding(rule, "shape rule", before=1)
        self.rule = rule
        return rule

    def specialize(self, function: Callable[..., Special]) -> Callable[..., Special]:
        """Declare a faster kernel of the same results for one node: `f(node types, *, attributes)` → kernel or None.

        None says that there is nothing to offer for these types. It takes `out` if the operator's kernel does, except
        where it is wrapped in HandsOn. Of an operator that makes views and takes no `out`, layers that say the same
        share it: it must keep nothing from call to call.
        """
        binding = self._binding(function, "specialiser", ports=1)
        self.specializer = lambda types: function(types, **binding(types.attributes))
        return function

    def draw(self, *ports: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Declare how random values for these ports are drawn: `f(rng, port, types, *, attributes)` → array or None.

        `types` maps input names to static TensorTypes, with `.value` for those already drawn.
        """

        def declare(function: Callable[..., Any]) -> Callable[..., Any]:
            binding = self._binding(function, "generator of random values", ports=3)
            for port in ports:
                self.generators[port] = lambda rng, port, types, attributes: function(
                    rng, port, types, **binding(attributes)
                )
            return function

        return declare

    def open(self, function: Callable[..., Open | None]) -> Callable[..., Open | None]:
        """Declare where the page leaves the result open: `f(*inputs, *, attributes)` → Open or None."""
        binding = self._binding(function, "opener")
        self.opener = lambda *inputs, **attributes: function(*inputs, **binding(attributes))
        return function

    def work(self, function: Callable[..., int]) -> Callable[..., int]:
        """Declare what a call costs beyond its inputs and outputs: `f(output types, *input types, *, attributes)`.

        It counts elements gone over, of scratch memory too; asking for an extent that is not known ends it.
        """
        binding = self._binding(function, "work", before=1)
        self.worker = lambda outputs, *inputs, attributes: function(outputs, *inputs, **binding(attributes))
        return function

    def _binding(
        self, function: Callable[..., Any], role: str, *, before: int = 0, ports: int | None = None
    ) -> _LaterBinding:
        """How a function of the operator takes its attributes.

        It is given so many arguments by position: `ports`, or the operator's inputs and `before` more.
        """
        binding = _LaterBinding(self, function, role, before, ports)
        self._bindings.append(binding)
        if self.is_own:
            binding.read()
        return binding

    # What is derived.

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        return self.kernel(*inputs, **self.bind(attributes))

    def bind(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """The kernel's keyword arguments: `attributes`, flat by Python name, with its groups made of them."""
        return self._kernel_binding(attributes)

    @cached_property
    def _kernel_binding(self) -> Binding:
        return kernel_binding(self.signature.groups)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """The whole signature, every attribute as a parameter of its own."""
        import inspect

        kernel = inspect.signature(self.kernel)
        given = [p for p in kernel.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)]
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
    def versioned_name(self) -> str:
        """The name as the operation pages print it: `ScatterNDUpdate-15`."""
        return f"{self.type}-{self.opset.removeprefix('opset')}"

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of the operator's attributes; unknown ones are forbidden."""
        from irexec.ops.declare.attribute_model import attribute_model

        return attribute_model(f"{self.type}_{self.opset}", self.attributes, self.__doc__)

    @cached_property
    def _declared(self) -> Declared:
        return Declared.of(self.attributes)

    def parse_attributes(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[AttributeFault]]:
        """The attributes by Python name, and all that is wrong with them. `given`: file name → text or value."""
        values = read_plainly(self._declared, given)
        if values is not None:
            return values, []
        from irexec.ops.declare.attribute_model import parse_attributes

        return parse_attributes(self.model, self.attributes, given)

    def infer(
        self, inputs: Sequence[TensorType | None], attributes: dict[str, Any], breaches: list[Breach] | None = None
    ) -> list[TensorType]:
        """Output types from input types; everything that breaks the signature or the rule goes to `breaches`."""
        found: list[Breach] = [] if breaches is None else breaches
        signature = self.signature
        bound = bind_types(signature, inputs, found)

        def check(constraint: str, condition: bool | None, message: str, **details: Any) -> bool:
            if condition is None:
                return True
            note(constraint, bool(condition))
            if condition:
                return True
            found.append(Breach("O001", message, constraint, **details))
            return False

        shapes: Any = None
        if self.rule is not None and not (found and any(b.code == "O002" for b in found)):
            left_out = 0 if signature.is_variadic else len(signature.inputs) - len(inputs)
            padded = [*inputs, *[None] * left_out] if left_out else inputs
            try:
                with running(self):
                    shapes = self.rule(check, *padded, **self._rule_binding(attributes))
            except UnknownRank:
                pass
            except Exception as error:
                # With a breach it went on with what is refused already; without one it is wrong.
                if not found and RULES_MUST_NOT_FAIL:
                    raise
                if not found:
                    message = f"the shape rule of {self} is wrong; it failed: {type(error).__name__}: {error}"
                    found.append(Breach("O007", message))
        return output_types(signature.outputs, shapes, bound, attributes)

    def __str__(self) -> str:
        return self.versioned_name

    def __repr__(self) -> str:
        return f"<Operator {self.versioned_name}>"


class _LaterBinding:
    """The binding of a function of an operator, read when the function is first called."""

    def __init__(
        self, operator: Operator, function: Callable[..., Any], role: str, before: int, ports: int | None
    ) -> None:
        self._operator, self._function, self._role = operator, function, role
        self._before, self._ports = before, ports
        self._binding: Binding | None = None

    def __call__(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return (self._binding or self.read())(attributes)

    def read(self) -> Binding:
        """Raises TypeError, saying what is wrong, for a function that cannot be called so."""
        operator, function, ports = self._operator, self._function, self._ports
        if ports is None and (count := operator.signature.max_inputs) is not None:
            ports = self._before + count
        where = f"{operator}: the {self._role} ({function.__module__})"
        self._binding = binding_of(function, operator.attributes, ports, where)
        return self._binding


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
    doc: str | None = None,
) -> Callable[[Callable[..., Any]], Operator]:
    """Make an operator of a kernel and register it under (type, opset).

    `shapes`: a shared shape rule (or declare one with `@op.shapes`). `inplace`: inputs whose buffer `out=` may be.
    `view`: inputs whose memory a result may share; a callable that takes `out=` shares none, called without it either.
    `reshapes`: the result is the first input with all of its elements in the same order.
    `unaligned`: inputs that may lie at any byte. Every kernel is right then; this one is as fast as with a copy.
    `narrow`: inputs of f32 of which a constant may be given as the f16 that it is in the file.
    `tolerance`: what a comparison may differ by. `values`: how known shape values pass through inference: "kernel" runs
    the kernel on object arrays of int and Dimension (data movement), "elementwise" likewise for arithmetic.

    `doc`: the description, where one function makes the kernels of a family.

    Raises TypeError, saying what is wrong, when the signature makes no operator.
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
        )
        # Modules of standard operators are imported when a model needs them: a user's own operator was there first.
        if made.is_own or (type, opset) not in REGISTRY:
            REGISTRY[type, opset] = made
        return made

    return declare


ANY_ELEMENTS = Elements("T", ANY)
