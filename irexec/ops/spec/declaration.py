"""The declarations of an operator: its kernel, its options, and the functions that are declared after the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from irexec.core.types import TensorType
from irexec.ops.spec.binding import LaterBinding
from irexec.ops.spec.oracle import Tolerance, exact, random
from irexec.ops.spec.prepared import NodeTypes, PassThrough
from irexec.ops.spec.signature import Signature, read_signature
from irexec.ops.spec.traits import DeclaredTrait, HasBodies, Random, Stateful, traits_of

if TYPE_CHECKING:
    from irexec.ops.spec.older import OlderForm

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)
G = TypeVar("G")
Special = Callable[..., Any] | PassThrough | None


class Options(TypedDict, total=False):
    """The options of a declaration; none is required.

    `shapes`: a shared shape rule (or declare a rule with `@op.shapes`). `inplace`: inputs whose buffer may be passed as
    `out=`. `view`: inputs whose memory a result may share; a callable that takes `out=` never shares memory, even
    without `out`. `as_stored`: inputs that the kernel takes as a file stores them: unaligned, with which it is as fast
    as with an aligned copy (and all kernels are correct), and f16 in place of f32. `tolerance`: the difference that a
    comparison allows.
    """

    shapes: Rule | None
    inplace: str | tuple[str, ...]
    view: str | tuple[str, ...]
    as_stored: str | tuple[str, ...]
    tolerance: Tolerance


class Declaration:
    """The kernel of one operator of one opset, its options, and the functions that decorators add to them.

    An invalid declaration raises TypeError: immediately, or in irexec.ops when the declaration is first used (see
    `read_declaration`), because its modules declare many operators of which a model uses few.
    """

    def __init__(
        self, type: str, opset: str, kernel: Callable[..., Any], *traits: DeclaredTrait, **options: Unpack[Options]
    ) -> None:
        self.type, self.opset, self.kernel = type, opset, kernel
        self.is_own = not (kernel.__module__ or "").startswith("irexec.ops.")  # __module__ may be None after exec().
        if unknown := options.keys() - Options.__annotations__.keys():
            raise TypeError(f"{self}: there is no option {min(unknown)!r}; facts such as HasBodies are traits")
        self._bindings: list[LaterBinding] = []
        self.rule: Rule | None = None
        self.inplace = _names(options.get("inplace", ()))
        self.view = _names(options.get("view", ()))
        self.as_stored = _names(options.get("as_stored", ()))
        tolerance = options.get("tolerance", exact)
        self.traits = traits_of((*traits, Random) if tolerance is random else traits)
        self._tolerance = random if Random in self.traits else tolerance
        self.is_run_by_engine = HasBodies in self.traits or Stateful in self.traits
        """True if a call needs more than its inputs: the variables of a request, or the plans of bodies."""
        self.specializer: Callable[[NodeTypes], Special] | None = None
        self.worker: Callable[..., int] | None = None
        self.multiplier: Callable[..., int] | None = None
        self.older_rule: Callable[[OlderForm, Sequence[TensorType | None]], None] | None = None
        self.make_node: Callable[[dict[str, Any], int], Any] | None = None
        """Creates a node from attributes and a number of inputs, if the operator's nodes have their own class."""
        self.__doc__, self.__name__, self.__module__ = kernel.__doc__, kernel.__name__, kernel.__module__
        if self.is_own:
            self.read_declaration()
        if (shapes := options.get("shapes")) is not None:
            self.shapes(shapes)

    @cached_property
    def signature(self) -> Signature:
        """The ports and attributes, as declared by the kernel."""
        signature = read_signature(self.kernel)
        for name in {*self.inplace, *self.view, *self.as_stored} - {i.name for i in signature.inputs}:
            raise TypeError(f"{self}: {name!r} is not an input")
        return signature

    def read_declaration(self) -> None:
        """Read all declarations made so far. Raises TypeError, with the reason, for an invalid declaration."""
        assert self.signature
        for binding in self._bindings:
            binding.read()

    @property
    def versioned_name(self) -> str:
        """The name as printed in the operation pages: `ScatterNDUpdate-15`."""
        return f"{self.type}-{self.opset.removeprefix('opset')}"

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

    def work(self, function: Callable[..., int]) -> Callable[..., int]:
        """Declare the cost of a call beyond its inputs, outputs and multiply-adds: `f(output types, *input types, *,
        attributes)`.

        The cost is a number of elements, including scratch memory. It is unknown if `f` requests an unknown extent.
        """
        binding = self.binding(function, "work", before=1)
        self.worker = lambda outputs, *inputs, attributes: function(outputs, *inputs, **binding(attributes))
        return function

    def multiply_adds(self, function: Callable[..., int]) -> Callable[..., int]:
        """Declare the number of multiply-adds of a call, with the parameters of `work`; 0 by default."""
        binding = self.binding(function, "rule of the multiply-adds", before=1)
        self.multiplier = lambda outputs, *inputs, attributes: function(outputs, *inputs, **binding(attributes))
        return function

    def older(self, rule: R) -> R:
        """Declare how a layer is rewritten for the operator's previous version, see `OlderForm`:
        `rule(form, *input types, *, attributes)`.
        """
        binding = self.binding(rule, "rule of the older form", before=1)

        def older_rule(form: OlderForm, inputs: Sequence[TensorType | None]) -> None:
            rule(form, *self.padded(inputs), **binding(form.attributes))

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

    def padded(self, inputs: Sequence[G | None]) -> Sequence[G | None]:
        """Return one item for each port, with None for omitted trailing ports."""
        left_out = 0 if self.signature.is_variadic else len(self.signature.inputs) - len(inputs)
        return [*inputs, *[None] * left_out] if left_out else inputs

    def __str__(self) -> str:
        return self.versioned_name

    def __repr__(self) -> str:
        return f"<Operator {self.versioned_name}>"


def _names(given: str | tuple[str, ...]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given
