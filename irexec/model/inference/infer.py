"""Inference over a model: computes every value's type in order, and reports every broken constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irexec.core.diagnostics.deadline import watched
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.types import DYNAMIC, TensorType
from irexec.model.graph.model import Body, Model, Node
from irexec.model.inference.assumptions import Assumptions
from irexec.model.inference.breaches import report_breach, report_constraint, report_memory
from irexec.model.inference.declared import DECLARED, check_inputs, check_outputs
from irexec.model.inference.inference import Inference, Types
from irexec.model.inference.propagate import propagate
from irexec.model.inference.repeats import Repeats
from irexec.model.inference.unknown import Inputs, known_of
from irexec.model.inference.variables import check_variables
from irexec.ops.spec.operator import Breach, ConstraintError

if TYPE_CHECKING:
    from irexec.model.inference import bodies

# The number of combinations of Parameter types for which a body is inferred; beyond it only the declared types are
# used. Without a limit nested bodies would be inferred exponentially often.
_MAX_TRIALS = 16


def infer(
    model: Model, inputs: Types | None = None, findings: Findings | None = None, *, declared: bool | None = None
) -> Inference:
    """Return the types of all values, with findings about the operators' constraints and the types that the file
    declares.

    `inputs`: types that replace the types of the Parameters; a branch of an If that cannot run with these types is then
    considered not selected by cond. `declared`: compare the inferred types with the types that the file's ports
    declare; by default only without `inputs`, which may differ from the file's types. `findings`: the collection to add
    to (with the file's positions and earlier findings), by default a new one.
    """
    found = findings if findings is not None else Findings(file=model.file)
    run = Inferring(
        found, declared=inputs is None if declared is None else declared, has_given_types=inputs is not None
    )
    run.model(model, inputs)
    check_variables(model, run.inference, found)
    return run.inference


def infer_types(model: Model, findings: Findings | None = None) -> Inference:
    """Infer the types of a newly built or changed model, and store them in its values, bodies included.

    They are stored beside the Inference because nodes are built before their model: a new node's types are inferred
    from the stored types of its inputs (`infer_node`), and OpenVINO's API asks nodes without a model for them.
    """
    inference = infer(model, findings=findings)
    set_types(model, inference)
    return inference


def set_types(model: Model, inference: Inference) -> None:
    """Store the inferred types in the model's values, bodies included: nothing else changes these types."""
    for node in model.walk(idle=True):
        node.set_outputs(inference.outputs(node))


def infer_node(node: Node, findings: Findings) -> Types:
    """Return the types of one node's outputs, from the model's types of its inputs; late constraints are not
    checked."""
    run = Inferring(findings, late=False)
    run.node(node)
    return run.inference.outputs(node)


class Inferring:
    """The state of one inference: of a model, or of a body for certain types of its Parameters.

    `declared`: compare inferred types with the types that ports declare. `late`: report late constraints as well.
    `has_given_types`: the caller's input types replace the types that the model declares. `trials` caches the
    inferences of bodies, by body and types, `repeats` the inferences of layers; `broken` counts broken constraints.
    `assumptions`: the values whose types are assumed because of errors.
    """

    def __init__(
        self,
        findings: Findings,
        *,
        declared: bool = True,
        late: bool = True,
        has_given_types: bool = False,
        trials: dict[Body, dict[object, Inferring]] | None = None,
        repeats: Repeats | None = None,
        assumptions: Assumptions | None = None,
    ) -> None:
        self.findings = findings
        self._declared, self._late, self.has_given_types = declared, late, has_given_types
        self.inference = Inference(findings.report)
        self.broken = 0
        self._trials = {} if trials is None else trials
        self._repeats = repeats or Repeats()
        self._assumptions = Assumptions() if assumptions is None else assumptions

    def model(self, model: Model, inputs: Types | None = None) -> None:
        """Infer every node; `inputs` replace the types of the Parameters."""
        given = dict(zip(model.parameters, inputs, strict=True)) if inputs is not None else {}
        for nodes in (model.nodes, model.unreachable):
            for node in watched(nodes, "inferring types"):
                self.node(node, given.get(node))

    def node(self, node: Node, given: TensorType | None = None) -> None:
        """Infer one node; `given` replaces the type that a Parameter declares."""
        if given is not None:
            types: Types = (given,)
        elif not self._declared or node.layer is None:
            types, _ = self._outputs(node, self.inference.inputs(node), node.attributes)
        elif self._assumptions.needed(node, self.findings):
            types = self._assumed(node)
        else:
            types, is_known = self._checked(node, [self.inference.inputs(node)], node.attributes)
            if not is_known:
                types = self._assumptions.declare(node, self.findings)
        self.inference.note(node, types)
        if self._declared and node.layer is not None:
            check_inputs(node, node.layer, self.inference, self.findings, self._assumptions)

    def _assumed(self, node: Node) -> Types:
        """Return the types of a node with assumptions; findings that depend on one state it."""
        assumed = self._assumptions.about(node, self.inference, self.findings)
        with self.findings.assuming(assumed.text):
            types, is_known = self._checked(node, assumed.variants, assumed.attributes, assumed.unknown)
        lacks_inputs = len(assumed.variants[0]) > len(node.inputs)
        if not is_known or (lacks_inputs and not all(type.shape.is_static for type in types)):
            return self._assumptions.declare(node, self.findings)
        if assumed.text is not None:
            self._assumptions.of[node] = assumed.text
        return types

    def _checked(
        self, node: Node, variants: Sequence[Inputs], attributes: dict[str, Any], unknown: Sequence[str] = ()
    ) -> tuple[Types, bool]:
        """Return the types of a file's node and whether they are known; report differences from the declared types.

        `variants`: the inputs that the node may have. `unknown`: the attributes whose values are unknown.
        """
        assert node.layer is not None
        before = self.findings.error_count
        if (len(variants) > 1 or unknown) and not node.bodies:
            types, is_known = self._despite_errors(node, variants, attributes, unknown)
        else:
            types, is_known = self._outputs(node, variants[0], attributes)
        # Wrong declarations at a body's ports do not prevent the comparison of the enclosing layer's declarations.
        if node.bodies:
            is_known = all(finding.code in DECLARED for finding in self.findings.report.errors[before:])
        if is_known or not node.bodies:
            check_outputs(node, node.layer, types, self.findings, self._repeats.agreeing)
        return types, is_known

    def body(self, body: Body, parameters: Types) -> Inferring:
        """Return the inference of a body for these types of its Parameters, cached."""
        key = tuple(_key(type) for type in parameters)
        known = self._trials.setdefault(body, {})
        if key not in known and len(known) >= _MAX_TRIALS:
            from irexec.model.inference.bodies import declared_parameters

            parameters = declared_parameters(body)
            key = tuple(_key(type) for type in parameters)
        if key not in known:
            known[key] = trial = Inferring(
                self.findings.trial(),
                declared=self._declared,
                has_given_types=self.has_given_types,
                trials=self._trials,
                repeats=self._repeats,
                assumptions=self._assumptions,
            )
            trial.model(body.model, parameters)
        return known[key]

    def take(self, trial: bodies.Inferring) -> None:
        """Add the types and findings of a body to this inference."""
        self.inference.take(trial.inference)
        self.findings.take(trial.findings)
        self.broken += trial.broken

    def _outputs(self, node: Node, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Types, bool]:
        """Return the types of a node's outputs, and whether these types are known in spite of errors."""
        operator = node.operator
        if (held := node.held) is not None:
            return (self._repeats.constant(attributes.get("element_type", DYNAMIC), held),), True
        if operator is None:
            return [value.declared or TensorType() for value in node.outputs], False
        if node.bodies:
            from irexec.model.inference.bodies import BODIES

            if node.type in BODIES:
                return BODIES[node.type](node, inputs, self), True
        signature, types = operator.signature, self._repeats.known(key := self._repeats.key(node, attributes, inputs))
        is_known = True
        if types is None:
            if not operator.is_complete(inputs, attributes):
                return [TensorType()] * len(node.outputs), False
            reported = len(self.findings.report)
            types, is_known = self._of_operator(node, inputs, attributes)
            if len(self.findings.report) == reported:
                types = self._repeats.keep(key, types)
        return self._for_each_port(node, types, is_known) if signature.makes_any_number else types, is_known

    def _of_operator(self, node: Node, inputs: Inputs, attributes: dict[str, Any]) -> tuple[Types, bool]:
        operator = node.operator
        assert operator is not None
        breaches: list[Breach] = []
        types = operator.infer(inputs, attributes, breaches)
        if not self._late:
            breaches = [breach for breach in breaches if not breach.late]
        if breaches and self._declared and node.layer is not None:
            return self._despite_errors(node, [inputs], attributes)
        if breaches:
            self._report(node, breaches)
            return types, False
        try:
            return propagate(operator, inputs, attributes, types), True
        except ConstraintError as error:
            report_constraint(node, error, self.findings)
        except MemoryError as error:
            report_memory(node, error, self.findings)
        self.broken += 1
        return types, True

    def _despite_errors(
        self, node: Node, variants: Sequence[Inputs], attributes: dict[str, Any], unknown: Sequence[str] = ()
    ) -> tuple[Types, bool]:
        """Report the constraints that a node with errors breaks; return what is known of its types."""
        assert node.operator is not None
        known = known_of(node.operator, variants, attributes, unknown)
        self._report(node, known.breaches)
        return known.types, known.is_certain

    def _report(self, node: Node, breaches: Sequence[Breach]) -> None:
        for breach in breaches:
            report_breach(node, breach, self.findings)
        self.broken += len(breaches)

    def _for_each_port(self, node: Node, types: Types, is_known: bool) -> Types:
        """Return a type for each output port of a variadic operator; report ports for which there is no output."""
        operator = node.operator
        if [type.rank for type in types] == [None]:  # The number of outputs may be unknown.
            return [types[0]] * (len(node.outputs) or 1)
        declared = node.layer.outputs if node.layer is not None else []
        if len(declared) > len(types) and is_known:
            message = f"{operator} has {len(declared)} output ports, expected {len(types)}"
            self.findings.add("P007", message, at=At(declared[len(types)].at), layer=node.ref)
        return types


def _key(type: TensorType) -> object:
    """Return a hashable key of a tensor type, known values included."""
    value = None if type.value is None else (type.value.shape, type.value.dtype.str, type.value.tobytes())
    partial = None if type.partial is None else tuple(type.partial.ravel().tolist())
    return type.element_type, type.shape, value, partial
