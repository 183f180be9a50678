"""The parts of an ONNX model other than its nodes: opset, producer, metadata, names, declared types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from irexec.core.types import DYNAMIC, SEQUENCES, TensorType, member_of
from irexec.frontends.onnx.builder import Builder
from irexec.frontends.onnx.definitions import newest_opset
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import declared_type, dimension_names, has_type
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.order import bodies
from irexec.model.graph.model import Node, Value


def description(proto: onnx.ModelProto, parameters: Iterable[Node]) -> dict[str, Any]:
    """Return the model's runtime information: its producer, its metadata, and the names of its inputs' dimensions."""
    about: dict[str, Any] = {"framework": {"type": "onnx", "producer": proto.producer_name}}
    metadata = {entry.key: entry.value for entry in proto.metadata_props if entry.key}
    known = {node.friendly_name for node in parameters}
    inputs = (info for info in proto.graph.input if info.name in known)
    named = {info.name: names for info in inputs if (names := dimension_names(info.type))}
    return about | ({"metadata": metadata} if metadata else {}) | ({"dimensions": named} if named else {})


def check_opset(opset: int | None, find: Callable[..., None]) -> None:
    """Report (`find`) a version of ONNX's operators that does not exist, or is newer than the installed package."""
    newest = newest_opset()
    if opset is not None and opset > newest:
        # The installed package may be newer than irexec's copy of the definitions.
        from onnx import __version__, defs

        if opset > (newest := defs.onnx_opset_version()):
            message = f"the model uses opset {opset}; the installed onnx {__version__} supports opset {newest}"
            find("F010", message, found=str(opset), allowed=f"at most {newest}", hint="pip install -U onnx")
    elif opset is not None and opset < 1:
        find("F012", f"opset {opset} does not exist", found=str(opset), allowed=f"1 to {newest}")


def declared_value(builder: Builder, info: onnx.ValueInfoProto, what: str) -> TensorType | None:
    """Return the declared type of an input or output (`what`); add a finding if irexec cannot represent it."""
    try:
        return declared_type(info.type)
    except Refused as error:
        builder.find(error.code, f"the {what} {info.name!r} {error}")
        return None


def fits_declared(builder: Builder, info: onnx.ValueInfoProto, type: TensorType, what: str, made: str) -> bool:
    """Return whether a value can be of the type that the file declares; add a finding if not."""
    declared = declared_value(builder, info, what)
    if declared is None:
        return False
    if not _can_be(type, declared):
        message = f"the {what} {info.name!r} is declared {declared}, and {made} {_known(type)}"
        builder.find("F011", message, found=str(declared), allowed=_known(type))
        return False
    return True


def check_given(builder: Builder, body: str, info: onnx.ValueInfoProto, given: TensorType) -> None:
    """Raise Refused (F004) if a node gives an input of its body a value that cannot be of the declared type."""
    declared = declared_value(builder, info, "input")
    if declared is not None and not _can_be(given, declared):
        message = f"the input {info.name!r} of the body {body!r} is declared {declared}, and is given {_known(given)}"
        raise Refused("F004", message, found=str(declared), allowed=_known(given))


def check_bodies(builder: Builder, attributes: Iterable[onnx.AttributeProto], inputs: Sequence[Value | None]) -> None:
    """Raise Refused (F004) if the bodies of a node whose function copies their nodes, such as SequenceMap,
    declare other element types than those of the node's inputs, or of the tensors in them."""
    for graph in (attribute.g for attribute in attributes if attribute.HasField("g")):
        for info, value in zip(graph.input, inputs, strict=False):
            if value is not None and has_type(info.type):
                kind = value.element_type
                given = TensorType(member_of(kind) if kind in SEQUENCES else kind)
                check_given(builder, graph.name, info, given)


def _known(type: TensorType) -> str:
    return str(type if type.shape.rank is not None else type.element_type)


def _can_be(type: TensorType, declared: TensorType) -> bool:
    kinds = {type.element_type, declared.element_type}
    return (DYNAMIC in kinds or len(kinds) == 1) and declared.shape.compatible(type.shape)


def same_names(nodes: Iterable[onnx.NodeProto], outer: str = "") -> Iterator[tuple[onnx.NodeProto, str]]:
    """Yield the nodes of a graph, and of the bodies in it, whose name an earlier node of the same graph has, each with
    its number."""
    seen: set[str] = set()
    for index, node in enumerate(nodes):
        if node.name and node.name in seen:
            yield node, f"{outer}{index}"
        seen.add(node.name)
        for graph in bodies(node):
            yield from same_names(graph.node, f"{outer}{index}/")
