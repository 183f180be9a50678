"""The target of an ONNX node: a translated operator, an operator that ONNX defines by a function, or a function of the
model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.types import DYNAMIC, ElementType, TensorType
from irexec.frontends.onnx.definitions import Definition, NoSuchOperator, Port, definition, newest_opset
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import onnx_name, type_proto
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.refusals import why_not, why_not_domain
from irexec.frontends.onnx.registry import (
    EXPERIMENTAL,
    MICROSOFT,
    NAMES,
    OF_ONNX,
    OPENVINO,
    Translator,
    translators,
)
from irexec.frontends.onnx.scope import domain_of
from irexec.model.graph.model import Value


@dataclass(slots=True)
class Call:
    """A node with the operator or function that it calls; `translator` is None for a function."""

    node: onnx.NodeProto
    attributes: dict[str, onnx.AttributeProto]
    opset: int
    version: int
    definition: Definition | None = None
    translator: Translator | None = None
    function: onnx.FunctionProto | None = None

    def check(self, kinds: Sequence[ElementType | None]) -> None:
        """Compare the node with ONNX's definition of the operator. Raises Refused (F004)."""
        known = self.definition
        if known is None:
            return
        least, most = known.least, known.most
        if not least <= len(kinds) <= most:
            raise Refused(
                "F004", f"the node has {len(kinds)} inputs, expected {least if least == most else f'{least} to {most}'}"
            )
        if len(self.node.output) > known.most_outputs:
            raise Refused(
                "F004", f"the node has {len(self.node.output)} outputs, expected at most {known.most_outputs}"
            )
        for name in self.attributes.keys() - known.attributes.keys():
            message = f"the operator has no attribute {name!r}"
            raise Refused("F004", message, attribute=name, allowed=", ".join(known.attributes) or None)
        for name, required in known.attributes.items():
            if required and name not in self.attributes:
                raise Refused("F004", f"the required attribute {name!r} is missing", attribute=name)
        self._check_kinds(known.ports, kinds)

    def _check_kinds(self, ports: Sequence[Port], kinds: Sequence[ElementType | None]) -> None:
        for index, kind in enumerate(kinds):
            port = ports[min(index, len(ports) - 1)] if ports else None
            if port is None or kind is None or kind is DYNAMIC:
                continue
            if port.kinds and kind not in port.kinds:
                names = ", ".join(map(onnx_name, port.kinds))
                expected = names if len(port.kinds) <= _MOST_NAMED else f"one of {len(port.kinds)} other types"
                message = f"{port.name} is {onnx_name(kind)}, expected {expected}"
                raise Refused("F004", message, port=port.name, found=onnx_name(kind), allowed=names)

    def names_of(self, inputs: Sequence[Value | None]) -> dict[Value, str]:
        """Return the node's inputs with their names in the operator's definition, or else in the graph."""
        known = NAMES.get((domain_of(self.node.domain), self.node.op_type), [])
        ports = known if self.definition is None else [port.name for port in self.definition.ports]
        names: dict[Value, str] = {}
        for index, value in enumerate(inputs):
            if value is None:
                continue
            if self._is_variadic(index):
                name = f"{ports[-1]}[{index - len(ports) + 1}]"
            else:
                name = ports[index] if index < len(ports) else self.node.input[index]
            names.setdefault(value, name)
        return names

    def _is_variadic(self, index: int) -> bool:
        known = self.definition
        return known is not None and known.most > len(known.ports) and index >= len(known.ports) - 1

    def defaults(self) -> dict[str, onnx.AttributeProto]:
        """Return the attributes for which the operator's definition has default values."""
        return self.definition.defaults if self.definition is not None else {}

    def body(self, types: Sequence[TensorType | None]) -> onnx.FunctionProto:
        """Return the function that the node calls: the model's own, or ONNX's definition of the operator."""
        if self.function is not None:
            return self.function
        assert self.definition is not None
        schema = self.definition.schema
        if schema.has_function:
            opset = _nearest(self.opset, schema.function_opset_versions)
            data = schema.get_function_with_opset_version(opset)
        else:
            opset = _nearest(self.opset, schema.context_dependent_function_opset_versions)
            node = onnx.NodeProto()
            node.CopyFrom(self.node)
            del node.attribute[:]
            node.attribute.extend(_renamed(attribute, name) for name, attribute in self.attributes.items())
            protos = [type_proto(t).SerializeToString() for t in types]
            make = schema.get_context_dependent_function_with_opset_version
            try:
                data = make(opset, node.SerializeToString(), protos)
            except (ValueError, RuntimeError) as error:
                raise Refused(
                    "F004", f"the ONNX function that defines the operator cannot be created: {str(error)[:200]}"
                ) from None
        function = onnx.FunctionProto()
        function.ParseFromString(data)
        if not function.node:
            raise Refused("F009", "the ONNX function that defines the operator does not accept these inputs")
        return function


def call_of(
    node: onnx.NodeProto,
    opsets: Mapping[str, int],
    references: Mapping[str, onnx.AttributeProto],
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto],
) -> Call:
    """Return the operator or function that a node calls. `references`: the attributes that the nodes of a function
    body refer to. Raises Refused."""
    attributes = _attributes(node, references)
    domain = domain_of(node.domain)
    function = functions.get((node.domain, node.op_type, node.overload))
    if function is not None:
        return Call(node, attributes, opsets.get(domain, 0), 0, function=function)
    if domain not in opsets and domain not in _IMPLIED:
        raise Refused("F012", f"the model imports no opset of the domain {domain or 'ai.onnx'!r}")
    opset = opsets.get(domain, 1)
    shown = f"{domain or 'ai.onnx'} {node.op_type}"
    if (why := why_not_domain(domain)) is not None:
        raise Refused("F003", f"{shown} is not supported: {why[0]}", hint=why[1])
    if domain == MICROSOFT:
        return _of_microsoft(node, attributes, opset)
    if domain == OPENVINO:
        if (translator := translators().get((OPENVINO, node.op_type, 1))) is None:
            raise Refused("F003", f"{shown} is not supported", hint=_near(node, OPENVINO) or _HINT)
        return Call(node, attributes, opset, 1, translator=translator)
    try:
        known = definition(node.op_type, opset, domain)
    except NoSuchOperator:
        # Models contain some of ONNX Runtime's operators in ONNX's domain; others were once part of ONNX.
        known_by = [(MICROSOFT, node.op_type, 1), ("", node.op_type, EXPERIMENTAL)]
        own = None if domain else next(filter(None, map(translators().get, known_by)), None)
        if own is not None:
            return Call(node, attributes, opset, 1, translator=own)
        if domain:
            raise Refused("F003", f"{shown} is not supported (opset {opset})", hint=_HINT) from None
        raise Refused("F003", f"opset {opset} of ONNX has no operator {node.op_type!r}", hint=_near(node, "")) from None
    translator = translators().get((domain, node.op_type, known.since))
    if translator is None and (known.deprecated or not known.has_function):
        raise Refused("F003", f"{shown}-{known.since} is not supported (opset {opset})", hint=_HINT)
    return Call(node, attributes, opset, known.since, known, translator)


def _of_microsoft(node: onnx.NodeProto, attributes: dict[str, onnx.AttributeProto], opset: int) -> Call:
    """Return a call of one of ONNX Runtime's own operators. Raises Refused."""
    translator = translators().get((MICROSOFT, node.op_type, 1))
    if translator is not None:
        return Call(node, attributes, opset, 1, translator=translator)
    shown = f"{MICROSOFT} {node.op_type}"
    if node.op_type in OF_ONNX:
        newest = newest_opset()
        of_onnx = definition(node.op_type, newest, "")
        known = {name: found for name, found in attributes.items() if name in of_onnx.attributes}
        for name in sorted(attributes.keys() - known.keys()):
            if attributes[name].i != _WITHOUT_EFFECT.get(name, 0):
                raise Refused("F009", f"the attribute {name!r} is not supported", attribute=name)
        return Call(node, known, newest, of_onnx.since, of_onnx)
    if (why := why_not(node.op_type)) is not None:
        raise Refused("F003", f"{shown} is not supported: {why[0]}", hint=why[1])
    raise Refused("F003", f"{shown} is not supported", hint=_near(node, MICROSOFT) or _HINT)


# Attributes that ONNX does not define → the value with which they have no effect; for attributes not listed here it is
# 0.
_WITHOUT_EFFECT = {"dilation": 1, "ndim": 1}
# The maximum number of element types in a message.
_MOST_NAMED = 8
# Domains whose operators a model may use without importing them, as ONNX Runtime or OpenVINO allows.
_IMPLIED = {MICROSOFT, OPENVINO}
_HINT = "a model-local function with this name would be used"


def _near(node: onnx.NodeProto, domain: str) -> str | None:
    known = {type for own, type, _ in translators() if own == domain}
    return did_you_mean(node.op_type, known - {node.op_type}, 1, 0.75)


def _nearest(opset: int, versions: Sequence[int]) -> int:
    """Return the newest version that is not newer than the opset; otherwise the oldest version."""
    return max((v for v in versions if v <= opset), default=min(versions))


def _renamed(attribute: onnx.AttributeProto, name: str) -> onnx.AttributeProto:
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.name = name
    return copy


def _attributes(node: onnx.NodeProto, references: Mapping[str, onnx.AttributeProto]) -> dict[str, onnx.AttributeProto]:
    """Return the node's attributes, with references replaced by the attributes of the calling node."""
    found: dict[str, onnx.AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.name in found:
            raise Refused("F004", f"the attribute {attribute.name!r} is repeated", attribute=attribute.name)
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in references:
            found[attribute.name] = references[attribute.ref_attr_name]
    return found


def without(node: onnx.NodeProto, names: set[str]) -> onnx.NodeProto:
    """Return a node in which the inputs with these names are omitted."""
    if not names.intersection(node.input):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["" if name in names else name for name in node.input]
    return copy
