"""Model: OpenVINO's methods of a graph, including reshaping, adding outputs, replacing parameters, cloning."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence, Set
from typing import TYPE_CHECKING, Any

from irexec.api.openvino.checks import node_of_type, node_or_value, nodes_of_type, not_negative, sink_of
from irexec.api.openvino.construction import check_parameters, name_ports, parts
from irexec.api.openvino.editing import (
    DroppedModel,
    changed,
    cloned,
    current,
    order,
    replace,
    revalidate,
    settle_names,
    without,
)
from irexec.api.openvino.given import check_type
from irexec.api.openvino.named_ports import output_named, port_named, shapes_of, value_named, variables_of
from irexec.api.openvino.node import Node
from irexec.api.openvino.ov_any import OVAny, unboxed
from irexec.api.openvino.rt_map import NoSuchInfo, RTMap, info_at, set_info
from irexec.api.openvino.shapes import PartialShape, Shape
from irexec.api.openvino.tensor import Tensor, as_tensor
from irexec.core.arguments import expected
from irexec.core.structure import PARAMETER, READ_VALUE, RESULT
from irexec.core.types import ElementType, ShapeLike
from irexec.model.graph import model as graph
from irexec.model.graph.model import Value
from irexec.model.graph.order import ordered, traversed
from irexec.model.graph.ports import position

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import Data, ModelPart, ModelResults, OutputName, Shapes
    from irexec.api.openvino.kinds.descriptions import Variable


# Generates the numbers in the unique names of models.
_numbers = itertools.count(1)


class Model(DroppedModel):
    """A graph with inputs, outputs and variables: irexec's Model with OpenVINO's methods."""

    node_class = Node
    # Variables that the caller has added, and the ids of those that the caller has removed.
    _added: Sequence[Variable] = ()
    _removed: Set[str] = frozenset()
    _number: int | None = None

    def __init__(self, results: ModelResults, *rest: ModelPart, **named: ModelPart) -> None:
        """Create a model: `Model(results, parameters, name="", sinks=())`, and OpenVINO's other forms.

        `results`: nodes, values or Results, or one of them. Raises RuntimeError if they depend on other parameters.
        """
        if isinstance(results, graph.Model) and not rest and not named:
            vars(self).update(vars(results))  # As OpenVINO's copy constructor: the same nodes.
            return
        super().__init__(*parts(results, rest, named))
        check_parameters(self)
        name_ports([*self.parameters, *self.results])

    def _as_result(self, node: graph.Node | Value) -> graph.Node:
        result = super()._as_result(node)
        if result is not node:
            result.given_name = ""  # A Result that a model creates is named by its number, as in OpenVINO.
            if (source := result.inputs[0]) is not None and source.node.type != PARAMETER:
                result.outputs[0].names = set(source.names)
        return result

    # Ports

    def input(self, tensor_name: str | int | None = None, *, index: int | None = None) -> Value:
        """Return the only input, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        return port_named(self.inputs, tensor_name if index is None else index, "Input")

    def output(self, tensor_name: str | int | None = None, *, index: int | None = None) -> Value:
        """Return the only output, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        return output_named(self, tensor_name if index is None else index)

    def get_output_size(self) -> int:
        """Return the number of results."""
        return len(self.results)

    def get_output_op(self, index: int) -> graph.Node:
        """Return the Result at a position. Raises RuntimeError if there is none, TypeError for a negative position."""
        return self.results[position(self.results, not_negative(index))]

    def get_output_element_type(self, index: int) -> ElementType:
        """Return the element type of a result. Raises RuntimeError if there is none at this position."""
        return self.get_output_op(index).outputs[0].element_type

    def get_output_shape(self, index: int) -> Shape:
        """Return the static shape of a result. Raises RuntimeError if it is dynamic."""
        return Shape(self.get_output_op(index).outputs[0].type.shape.to_shape())

    def get_output_partial_shape(self, index: int) -> PartialShape:
        """Return the shape of a result, which may have unknown dimensions."""
        return PartialShape(self.get_output_op(index).outputs[0].type.shape)

    @property
    def result(self) -> graph.Node:
        """The only Result. Raises RuntimeError if there are more."""
        return self.get_result()

    def get_result(self) -> graph.Node:
        """Return the only Result. Raises RuntimeError if there are more."""
        if len(self.results) != 1:
            raise RuntimeError(f"the model has {len(self.results)} results, not one")
        return self.results[0]

    def get_parameter_index(self, parameter: graph.Node) -> int:
        """Return the position of a Parameter; -1 if the model does not contain it."""
        node_of_type(parameter, PARAMETER, "get_parameter_index()")
        return self.parameters.index(parameter) if parameter in self.parameters else -1

    def get_result_index(self, value: graph.Value | graph.Node) -> int:
        """Return the position of a Result, or of the first Result that takes this output; -1 if there is none."""
        if isinstance(node_or_value(value, "get_result_index()"), graph.Node):
            node_of_type(value, RESULT, "get_result_index()")
        for index, result in enumerate(self.results):
            if result is value or value in (result.outputs[0], result.inputs[0]):
                return index
        return -1

    def get_sink_index(self, sink: graph.Node) -> int:
        """Return the position of a sink; -1 if the model does not contain it."""
        node = sink_of(sink)
        return self.sinks.index(node) if node in self.sinks else -1

    # Nodes

    def get_ops(self) -> list[graph.Node]:
        """Return all nodes in the order in which OpenVINO finds them; `get_ordered_ops` sorts them."""
        found = traversed([*self.results, *self.sinks, *self.parameters])
        if set(found) != set(self.nodes):
            order(self)  # Removed nodes are no longer held.
        return found

    def get_ordered_ops(self) -> list[graph.Node]:
        """Return all nodes in OpenVINO's order: from the last parameter, sink and result to the first."""
        return ordered([*reversed(self.parameters), *reversed(self.sinks), *reversed(self.results)])

    def get_parameters(self) -> list[graph.Node]:
        """Return the Parameters, in the order of the inputs."""
        return list(self.parameters)

    def get_results(self) -> list[graph.Node]:
        """Return the Results, in the order of the outputs."""
        return list(self.results)

    def get_sinks(self) -> list[graph.Node]:
        """Return the sinks: nodes with an effect that no Result depends on."""
        return list(self.sinks)

    @property
    def variables(self) -> list[Variable]:
        """The variables that nodes of the model read and assign."""
        return self.get_variables()

    def get_variables(self) -> list[Variable]:
        """Return the variables of ReadValue and Assign, each once."""
        from irexec.api.openvino.kinds.descriptions import Variable, VariableInfo

        found: dict[str, Variable] = {}
        for node in self.walk():
            if node.has_state:
                id = str(node.attributes["variable_id"])
                value = node.outputs[0]
                info = VariableInfo(PartialShape(value.type.shape), value.element_type, id)
                if id not in found or node.type == READ_VALUE:
                    found[id] = Variable(info)
        found |= {variable.info.variable_id: variable for variable in self._added}
        return [variable for id, variable in found.items() if id not in self._removed]

    def get_variable_by_id(self, variable_id: str) -> Variable | None:
        """Return the variable with this id; None if the model has no such variable."""
        return next((v for v in self.get_variables() if v.info.variable_id == variable_id), None)

    # Names and information

    @property
    def friendly_name(self) -> str:
        """The model's name, or its unique name if `name` is empty."""
        return self.name or self.get_name()

    @friendly_name.setter
    def friendly_name(self, name: str) -> None:
        self.name = expected(name, str, "set_friendly_name()")

    def get_friendly_name(self) -> str:
        """Return the name of the model."""
        return self.friendly_name

    def set_friendly_name(self, name: str) -> None:
        """Give the model another name."""
        self.friendly_name = name

    def get_name(self) -> str:
        """Return the model's unique name: `Model` with a number."""
        if self._number is None:
            self._number = next(_numbers)
        return f"Model{self._number}"

    def get_rt_info(self, path: str | Sequence[str] | None = None) -> RTMap | OVAny:
        """Return all runtime information, or the part under a key or a path of keys. Raises RuntimeError for an unknown
        key."""
        return RTMap(self.rt_info) if path is None else OVAny(info_at(self.rt_info, path))

    def has_rt_info(self, path: str | Sequence[str]) -> bool:
        """Return whether there is runtime information at a path. Raises RuntimeError if a part of it is a value."""
        try:
            self.get_rt_info(path)
        except NoSuchInfo:
            return False
        return True

    def set_rt_info(self, obj: object, path: str | Sequence[str]) -> None:
        """Set runtime information under a key or a path of keys."""
        set_info(self.rt_info, unboxed(obj), path)

    @property
    def dynamic(self) -> bool:
        """Whether a node has an output whose shape is not known in full."""
        return self.is_dynamic()

    def is_dynamic(self) -> bool:
        """Return True if the shape of any value is not fully known."""
        return any(value.type.shape.is_dynamic for node in self.get_ops() for value in node.outputs)

    # Changes

    def validate_nodes_and_infer_types(self) -> None:
        """Infer all types again. Raises IRError with all errors, RuntimeError if a node takes a removed Parameter."""
        order(self)
        check_parameters(self)
        revalidate(self)
        settle_names(self)

    def reshape(
        self,
        partial_shapes: ShapeLike | Shapes | None = None,
        variables_shapes: dict[str, ShapeLike] | None = None,
        *,
        partial_shape: ShapeLike | None = None,
    ) -> None:
        """Set the shapes of inputs, one shape for the only input or `{name | position | port: shape}`, and those of
        variables, `{id: shape}`.

        Raises RuntimeError for an unknown input, IRError if the model does not accept the shapes; its shapes are then
        unchanged.
        """
        shapes = shapes_of(self, partial_shapes if partial_shape is None else partial_shape)
        wanted = {port.node: {"shape": shape} for port, shape in shapes.items()}
        wanted |= {node: {"variable_shape": shape} for node, shape in variables_of(self, variables_shapes or {})}
        before = [(node, dict(node.attributes)) for node in wanted]
        if all(node.attributes | given == node.attributes for node, given in wanted.items()):
            return
        for node, attributes in wanted.items():
            node._attributes = node.attributes | attributes
        try:
            self.validate_nodes_and_infer_types()
        except RuntimeError:
            for node, attributes in before:
                node._attributes = attributes
            self.validate_nodes_and_infer_types()
            raise

    def add_outputs(self, outputs: OutputName | Collection[OutputName]) -> list[Value]:
        """Add one or several outputs, given by tensor names, (operator name, port) pairs, or ports; existing outputs
        are kept."""
        from irexec.api.openvino.opsets import opset

        many = isinstance(outputs, (list, set))
        wanted: Any = outputs if many else [outputs]
        ports = [value_named(self, item, f" at index {index}" if many else "") for index, item in enumerate(wanted)]
        added = []
        for port in ports:
            known = next((r for r in self.results if port in (r.inputs[0], r.outputs[0])), None)
            if known is None:
                known = opset("opset1").result(port)
                if port.names and port.node.type != PARAMETER:
                    known.outputs[0].names = set(port.names)
                self.results.append(known)
            added.append(known.outputs[0])
        name_ports([*self.parameters, *self.results])
        _edited(self)
        return added

    def add_results(self, results: Iterable[graph.Node]) -> None:
        """Append Results to those of the model."""
        self.results += nodes_of_type(results, RESULT, "add_results()")
        _edited(self)

    def add_parameters(self, parameters: Iterable[graph.Node]) -> None:
        """Append Parameters to those of the model."""
        self.parameters += nodes_of_type(parameters, PARAMETER, "add_parameters()")
        _edited(self)

    def add_sinks(self, sinks: Iterable[graph.Node]) -> None:
        """Add sinks, such as Assign, that no Result depends on."""
        self.sinks += [sink_of(sink) for sink in sinks]
        _edited(self)

    def add_variables(self, variables: Iterable[Variable]) -> None:
        """Add variables to those that the model's ReadValue and Assign nodes name."""
        from irexec.api.openvino.kinds.descriptions import Variable

        self._added = [*self._added, *(expected(each, Variable, "add_variables()") for each in variables)]
        self._removed -= {variable.info.variable_id for variable in self._added}

    def remove_result(self, result: graph.Node) -> None:
        """Remove a Result and its own names; a Result that the model does not contain is ignored."""
        node_of_type(result, RESULT, "remove_result()")
        self.results = without(result, self.results)
        _edited(self)

    def remove_parameter(self, parameter: graph.Node) -> None:
        """Remove a Parameter from the inputs; a Parameter that the model does not contain is ignored."""
        node_of_type(parameter, PARAMETER, "remove_parameter()")
        self.parameters = [node for node in self.parameters if node is not parameter]
        _edited(self)

    def remove_sink(self, sink: graph.Node) -> None:
        """Remove a sink; a sink that the model does not contain is ignored."""
        removed = sink_of(sink)
        self.sinks = [node for node in self.sinks if node is not removed]
        _edited(self)

    def remove_variable(self, variable: Variable) -> None:
        """Remove a variable from the list; the nodes that name it remain."""
        from irexec.api.openvino.kinds.descriptions import Variable

        id = expected(variable, Variable, "remove_variable()").info.variable_id
        self._added = [each for each in self._added if each.info.variable_id != id]
        self._removed |= {id}

    def replace_parameter(self, parameter_index: int, parameter: graph.Node) -> None:
        """Replace a Parameter by another one, which is connected with all users of the old one and gets its names."""
        if not not_negative(parameter_index) < len(self.parameters):
            raise RuntimeError(
                f"replace_parameter(): Tried to replace parameter at index {parameter_index} but the Model only has "
                f"{len(self.parameters)} parameters."
            )
        old = self.parameters[parameter_index]
        node_of_type(parameter, PARAMETER, "replace_parameter()")
        self.parameters[parameter_index] = parameter
        replace(old.outputs[0], parameter.outputs[0])
        _edited(self)

    def clone(self) -> graph.Model:
        """Return a copy that can be changed independently; constants share their memory. Raises RuntimeError if a node
        takes a Parameter that was removed."""
        check_parameters(current(self))
        return cloned(self)

    def _get_raw_address(self) -> int:
        return id(self)

    def __copy__(self) -> graph.Model:
        raise TypeError("Cannot copy 'openvino.Model'. Please, use deepcopy instead.")

    def __deepcopy__(self, memo: Any) -> graph.Model:
        return cloned(self)

    def __enter__(self) -> graph.Model:
        return self

    def __exit__(self, *arguments: Any) -> None:
        """Do nothing: the model needs no closing; `with` is accepted as in OpenVINO."""

    def evaluate(
        self, output_tensors: Sequence[Tensor], input_tensors: Sequence[Data], evaluation_context: RTMap | None = None
    ) -> bool:
        """Compute the outputs into tensors; return True. Raises RuntimeError or IndexError for unsuitable tensors."""
        from irexec.runtime.engine import CompiledModel

        if len(input_tensors) != len(self.parameters):
            raise RuntimeError(
                f"Cannot evaluate model! Number of tensors ({len(input_tensors)}) is not equal to number of parameters "
                f"({len(self.parameters)})."
            )
        if len(output_tensors) < len(self.results):
            raise IndexError(f"{len(output_tensors)} tensors were given for {len(self.results)} outputs")
        given = [as_tensor(each) for each in input_tensors]
        for index, (tensor, port) in enumerate(zip(given, current(self).inputs, strict=True)):
            check_type(tensor, port.element_type)
            if not port.type.shape.accepts(tuple(tensor.shape)):
                raise RuntimeError(
                    f"Cannot evaluate model! Tensor input shape and Parameter op with index {index} are mismatches."
                )
        results = CompiledModel(self)([tensor.values() for tensor in given])
        for tensor, array, port in zip(output_tensors, results.to_tuple(), self.outputs, strict=False):
            tensor.copy_from(Tensor.of_values(array, port.element_type))
        return True

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(repr, ports)) for ports in (self.inputs, self.outputs))
        text = f"<Model: '{self.friendly_name}'\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"
        return text.replace("<Output: ", "<ConstOutput: ")

    def _repr_html_(self) -> str:
        """Return a drawing of the graph, for notebooks."""
        from irexec.core.display import html_of

        return html_of("Model", self)


def _edited(model: graph.Model) -> None:
    changed(model)
    order(model)
