"""A model as a Python script, which builds it with the functions of OpenVINO's opsets, in OpenVINO and in irexec."""

from __future__ import annotations

import keyword
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from irexec.api.opsets.calls import Parameter, parameters
from irexec.api.opsets.names import CREATED, UNNAMED, python_name, types_of
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import ASSIGN, IF, LOOP, PARAMETER, READ_VALUE, RESULT
from irexec.core.types import BOOLEAN, DYNAMIC, STRING, ElementType, PartialShape
from irexec.ir.io.writing import together
from irexec.ir.weights.writer import Blobs
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.graph.write import written_names
from irexec.tools.script.loops import Statement, with_loops

_MOST_LITERAL = 32
_LARGEST = 1 << 53
"""Integers below it are also exact as floating-point numbers."""
_LEFT_OUT = {("auto_broadcast", "numpy")}
"""The attributes that have the same default everywhere."""
_RESERVED = frozenset({"build", "constant", "create", "i", "np", "ov", "Path", "weights"})
_BEGINNING = '''"""Builds the model {name}: in OpenVINO, or with `import irexec as ov` in irexec."""

{imports}
import openvino as ov

'''
_WEIGHTS = '''DATA = np.fromfile(Path(__file__).with_name({file}), np.uint8)
KEPT = []  # OpenVINO does not copy the bytes of a constant.


def constant(offset, size, shape, element_type, name):
    """Return the constant whose bytes are at an offset of the weights."""
    KEPT.append(DATA[offset : offset + size].copy())
    node = ov.op.Constant(ov.Tensor(KEPT[-1], ov.Shape(shape), element_type))
    node.set_friendly_name(name)
    return node


'''
_CREATE = '''def create(opset, type, inputs, attributes, name):
    """Return a layer of a type for which the opset has no function with these attributes."""
    node = ov.utils.node_factory.NodeFactory(opset).create(type, inputs, attributes)
    node.set_friendly_name(name)
    return node


'''
_END = """

if __name__ == "__main__":
    ov.save_model(build(), {file}, compress_to_fp16=False)
"""


def save_script(model: Model, path: str | os.PathLike[str]) -> list[str]:
    """Write the script, and the `.bin` beside it if the model has constants that are not in the script; return the
    files. Raises IRError for a model that opset functions cannot build, and OSError.
    """
    script, weights = os.fspath(path), os.path.splitext(os.fspath(path))[0] + ".bin"
    with together() as files, files.create(weights) as data, files.create(script) as out:
        text = script_of(model, data, Path(weights).name)
        out.write(text.encode())
    return [script, weights]


def script_of(model: Model, weights: IO[bytes], file: str) -> str:
    """Return the script. Constants with many values are written to `weights`, which the script reads from `file`."""
    writer = _Writer(model, Blobs(weights))
    lines = [f"    {line}" if line else "" for line in writer.build()]
    if not writer.findings.report.ok:
        raise IRError(writer.findings.report)
    needs = "\n".join(lines)
    imports = "from pathlib import Path\n\nimport numpy as np" if "= constant(" in needs else ""
    if not imports and "np." in needs:
        imports = "import numpy as np"
    parts = [
        _BEGINNING.format(name=repr(model.name).replace('"', '\\"'), imports=imports).replace(
            "\n\n\nimport", "\n\nimport"
        )
    ]
    parts += [_WEIGHTS.format(file=repr(file))] if "= constant(" in needs else ["\n"]
    parts += [_CREATE] if "= create(" in needs else []
    stem = os.path.splitext(file)[0]
    return "".join([*parts, "def build():\n", needs, "\n", _END.format(file=repr(f"{stem}.xml"))])


class _Writer:
    """Writes the body of the function that builds a model."""

    def __init__(self, model: Model, blobs: Blobs) -> None:
        self._model, self._blobs = model, blobs
        self.findings = Findings(file=model.file)
        self._variables: dict[Node, str] = {}
        self._taken = set(_RESERVED)

    def build(self) -> list[str]:
        statements = [*self._statements(self._model)]
        return with_loops(statements, f"return {self._made(self._model)}", self._new)

    def _statements(self, model: Model) -> Iterator[Statement]:
        names, parameters = written_names(model), set(model.parameters)
        for node in [*model.parameters, *(n for n in model.nodes if n not in parameters)]:
            variable = self._variable(node, names[node])
            lines = [*self._layer(node, variable, names[node])]
            for value in node.outputs:
                source = node.inputs[0] if node.type == RESULT else None
                if value.names and (source is None or value.names != source.names):
                    listed = ", ".join(map(repr, sorted(value.names)))
                    lines.append(f"{variable}.output({value.index}).get_tensor().set_names({{{listed}}})")
            yield Statement(variable, lines, is_whole=bool(node.bodies))

    def _made(self, model: Model) -> str:
        lists = (", ".join(self._variables[node] for node in nodes) for nodes in self._ends(model))
        results, sinks, inputs = lists
        middle = f"[{results}], [{sinks}], [{inputs}]" if sinks else f"[{results}], [{inputs}]"
        return f"ov.Model({middle}, {model.name!r})"

    @staticmethod
    def _ends(model: Model) -> tuple[list[Node], list[Node], list[Node]]:
        return model.results, model.sinks, model.parameters

    def _variable(self, node: Node, name: str) -> str:
        """Return a new variable that is named after a layer."""
        text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or node.type.lower()
        text = f"{node.type.lower()}_{text}" if text[0].isdigit() or keyword.iskeyword(text) else text
        variable, number = text[:80], 2
        while variable in self._taken:
            variable, number = f"{text[:80]}_{number}", number + 1
        self._taken.add(variable)
        self._variables[node] = variable
        return variable

    def _value(self, value: Value | None) -> str:
        if value is None:
            return "None"
        variable = self._variables[value.node]
        return variable if len(value.node.outputs) == 1 else f"{variable}.output({value.index})"

    def _port(self, value: Value | None) -> str:
        """Return an output, where a function does not take its node."""
        return "None" if value is None else f"{self._variables[value.node]}.output({value.index})"

    # Layers

    def _layer(self, node: Node, variable: str, name: str) -> Iterator[str]:
        given = node.attributes
        inputs = list(node.inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        if node.type == PARAMETER and node.held is None:
            shape, kind = given["shape"], given["element_type"]
            yield f"{variable} = ov.opset1.parameter({_shape(shape)}, {_type(kind)}, name={name!r})"
        elif node.held is not None:
            yield from self._constant(node, variable, name)
        elif node.bodies:
            yield from self._with_bodies(node, variable, name)
        elif given.get("variable_type") is DYNAMIC or (
            node.type == ASSIGN and inputs and inputs[0] is not None and len(inputs[0].node.outputs) > 1
        ):
            # The functions ask for a type, or for a node.
            yield f"{variable} = {self._created(node, inputs, given, name)}"
        elif node.type == READ_VALUE and "variable_type" in given:
            start = [self._value(value) for value in inputs]
            parts = [*start, repr(given["variable_id"]), _type(given["variable_type"]), _shape(given["variable_shape"])]
            yield f"{variable} = ov.{node.version}.read_value({', '.join(parts)})"
            yield f"{variable}.set_friendly_name({name!r})"
        elif node.type in (READ_VALUE, ASSIGN):
            yield (
                f"{variable} = ov.{node.version}.{python_name(node.type)}("
                f"{', '.join(map(self._value, inputs))}, {given['variable_id']!r})"
            )
            yield f"{variable}.set_friendly_name({name!r})"
        else:
            yield f"{variable} = {self._call(node, inputs, name)}"
            if node.type in UNNAMED:
                yield f"{variable}.set_friendly_name({name!r})"

    def _call(self, node: Node, inputs: list[Value | None], name: str) -> str:
        operator, function = node.operator, python_name(node.type)
        if operator is None or None in inputs or not node.version.startswith("opset"):
            self.findings.add("W001", "opset functions cannot build the layer", layer=node.ref)
            return "None"
        found = parameters(operator)
        # OpenVINO's functions have other defaults than its files.
        chosen = {
            a.file_name: value
            for a in operator.attributes
            if (value := node.all_attributes[a.name]) is not None and (a.file_name, value) not in _LEFT_OUT
        }
        by_name = {p.attribute.file_name: p for p in found if p.attribute is not None}
        takes_all = any(p.kind == "attributes" for p in found)
        # Functions add inputs that are left out.
        is_complete = len(inputs) == len(operator.inputs) or operator.signature.is_variadic
        is_known = function in types_of(node.version) and not CREATED & {node.type, operator.versioned_name}
        is_function = is_known and is_complete and "Experimental" not in node.type
        needed = [each for each in chosen if by_name[each].keyword_only and chosen[each] != by_name[each].default]
        if not is_function or (needed and not takes_all):
            return self._created(node, inputs, chosen, name)
        arguments = list(self._arguments(found, inputs, chosen, takes_all=takes_all))
        arguments += [] if node.type in UNNAMED else [f"name={name!r}"]
        return f"ov.{node.version}.{function}({', '.join(arguments)})"

    def _created(self, node: Node, inputs: list[Value | None], attributes: dict[str, Any], name: str) -> str:
        taken = ", ".join(self._port(value) for value in inputs)
        given = ", ".join(f"{key!r}: {_literal(value)}" for key, value in attributes.items())
        return f"create({node.version!r}, {node.get_type_name()!r}, [{taken}], {{{given}}}, {name!r})"

    def _arguments(
        self, found: tuple[Parameter, ...], inputs: list[Value | None], chosen: dict[str, Any], *, takes_all: bool
    ) -> Iterator[str]:
        """Yield the arguments of a call: those at the beginning by position, then by name."""
        in_order = True
        for parameter in found:
            text = None
            if parameter.kind == "inputs":
                text = f"[{', '.join(map(self._value, inputs[parameter.index :]))}]"
            elif parameter.kind == "input":
                text = self._value(inputs[parameter.index]) if parameter.index < len(inputs) else None
            elif parameter.kind == "attributes":
                text = f"{{{', '.join(f'{key!r}: {_literal(value)}' for key, value in chosen.items())}}}"
            elif parameter.keyword_only or takes_all or parameter.attribute is None:
                continue
            elif parameter.attribute.file_name in chosen:
                text = _literal(chosen[parameter.attribute.file_name])
            if text is None:
                in_order = False
            elif in_order and parameter.kind != "attribute":
                yield text
            else:
                in_order = False
                yield f"{parameter.name}={text}"

    def _constant(self, node: Node, variable: str, name: str) -> Iterator[str]:
        array, kind = node.constant, node.attributes["element_type"]
        assert array is not None
        if kind is STRING:
            values = f"np.array({array.tolist()!r}, dtype=str).reshape({list(array.shape)})"
            yield f"{variable} = ov.op.Constant(ov.Tensor({values}))"
            yield f"{variable}.set_friendly_name({name!r})"
        elif _is_literal(array, kind):
            yield f"{variable} = ov.opset1.constant({_literal(_listed(array))}, {_type(kind)}, name={name!r})"
        elif array.size == 0:
            yield f"{variable} = ov.op.Constant(ov.Tensor({_type(kind)}, ov.Shape({list(array.shape)})))"
            yield f"{variable}.set_friendly_name({name!r})"
        else:
            offset, size = self._blobs.add(array, kind)
            yield f"{variable} = constant({offset}, {size}, {list(array.shape)}, {_type(kind)}, {name!r})"

    # Bodies

    def _with_bodies(self, node: Node, variable: str, name: str) -> Iterator[str]:
        models = []
        for body in node.bodies:
            yield from ("", f"# A body of {name!r}")
            yield from (line for statement in self._statements(body.model) for line in statement.lines)
            models.append(self._new(f"{variable}_body"))
            yield f"{models[-1]} = {self._made(body.model)}"
        yield ""
        if node.type == IF:
            yield f"{variable} = ov.{node.version}.if_op({self._port(node.inputs[0])})"
            yield f"{variable}.set_then_body({models[0]})"
            yield f"{variable}.set_else_body({models[1]})"
            yield from self._maps_of_if(node, variable)
        else:
            outer = ", ".join(map(self._port, node.inputs[:2])) if node.type == LOOP else ""
            yield f"{variable} = ov.{node.version}.{python_name(node.type)}({outer})"
            yield f"{variable}.set_{'function' if node.type == LOOP else 'body'}({models[0]})"
            yield from self._maps(node, node.bodies[0], variable)
        yield f"{variable}.set_friendly_name({name!r})"

    def _new(self, text: str) -> str:
        variable, number = text, 2
        while variable in self._taken:
            variable, number = f"{text}_{number}", number + 1
        self._taken.add(variable)
        return variable

    def _maps_of_if(self, node: Node, variable: str) -> Iterator[str]:
        parts: list[tuple[Body, dict[int | None, BodyInput], dict[int | None, BodyOutput]]] = [
            (body, {e.external: e for e in body.inputs}, {e.external: e for e in body.outputs}) for body in node.bodies
        ]
        for index in range(1, len(node.inputs)):
            inner = [
                self._variables[body.model.parameters[inputs[index].parameter]] if index in inputs else "None"
                for body, inputs, _ in parts
            ]
            yield f"{variable}.set_input({self._port(node.inputs[index])}, {', '.join(inner)})"
        for index in range(len(node.outputs)):
            results = [self._variables[body.model.results[outputs[index].result]] for body, _, outputs in parts]
            yield f"{variable}.set_output({', '.join(results)})"

    def _maps(self, node: Node, body: Body, variable: str) -> Iterator[str]:
        if node.type == LOOP:
            iteration = next((entry.parameter for entry in body.inputs if entry.iteration), -1)
            yield f"{variable}.set_special_body_ports([{iteration}, {body.condition}])"
        for entry in sorted(body.inputs, key=lambda entry: -1 if entry.external is None else entry.external):
            if entry.external is None:
                continue
            inner = self._variables[body.model.parameters[entry.parameter]]
            outer = self._port(node.inputs[entry.external])
            if entry.slicing is not None:
                yield f"{variable}.set_sliced_input({inner}, {outer}, {_slice(entry.slicing)})"
            elif entry.back is not None:
                back = self._variables[body.model.results[entry.back]]
                yield f"{variable}.set_merged_input({inner}, {outer}, {back}.output(0))"
            else:
                yield f"{variable}.set_invariant_input({inner}, {outer})"
        for output in sorted(body.outputs, key=lambda entry: -1 if entry.external is None else entry.external):
            if output.external is None:
                continue
            result = f"{self._variables[body.model.results[output.result]]}.output(0)"
            if output.slicing is not None:
                yield f"{variable}.get_concatenated_slices({result}, {_slice(output.slicing)})"
            else:
                yield f"{variable}.get_iter_value({result}, -1)"


def _slice(slicing: Slicing) -> str:
    parts = (slicing.start, slicing.stride, slicing.part_size, slicing.end, slicing.axis)
    return ", ".join(map(str, parts))


def _type(kind: ElementType) -> str:
    return f"ov.Type.{kind.name}"


def _shape(shape: PartialShape) -> str:
    if shape.rank is None or any(not dim.is_static and (dim.min or dim.max is not None) for dim in shape.dims):
        return f"ov.PartialShape({f'[{shape.to_string()}]'!r})"
    return str([dim.value if dim.is_static else -1 for dim in shape.dims])


def _is_literal(array: Any, kind: ElementType) -> bool:
    if array.size == 0 or array.size > _MOST_LITERAL:
        return False
    if kind is BOOLEAN:
        return True
    if kind.is_integral_number and kind.bitwidth >= 8:
        return bool((array < _LARGEST).all() and (array > -_LARGEST).all())
    # OpenVINO converts numbers to f32 first.
    return kind.name in ("f16", "f32") and bool(np.isfinite(array).all())


def _listed(array: Any) -> Any:
    """Return nested lists of values; floats with as few digits as give the same value."""
    if array.dtype.kind == "f":
        return np.array([float(str(value)) for value in array.reshape(-1)], object).reshape(array.shape).tolist()
    return array.tolist()


def _literal(value: Any) -> str:
    if isinstance(value, ElementType):
        return repr(value.name)
    if isinstance(value, PartialShape):
        return _shape(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)
