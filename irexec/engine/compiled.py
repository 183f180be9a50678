"""The compiled model and its requests: arrays in by position, name or port, arrays out likewise."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from irexec.diagnostics import IRError
from irexec.diagnostics.findings import Findings
from irexec.engine.errors import wrong_input
from irexec.engine.plan import Plan, make_plan
from irexec.engine.request import Listener, Runner
from irexec.engine.state import Variables, VariableState
from irexec.graph.model import Model, Value, _port
from irexec.inference.infer import infer_model
from irexec.ops.compute.parallel import single_threaded_blas
from irexec.types import BOOLEAN, DYNAMIC, ElementType, PartialShape, TensorType

Array = np.ndarray[Any, Any]
Key = int | str | Value
Shapes = tuple[tuple[int, ...], ...]

# Shape signatures of a dynamic model that have a plan of their own.
_MAX_PLANS = 8


class Results(Mapping[Any, Array]):
    """The outputs of one inference: by position, by tensor name, or by port."""

    def __init__(self, ports: Sequence[Value], arrays: Sequence[Array]) -> None:
        self._ports, self._arrays = ports, [_as_unicode(a) if a.dtype.kind == "T" else a for a in arrays]

    def __getitem__(self, key: Key) -> Array:
        if isinstance(key, Value):
            return self._arrays[self._index(key)]
        if isinstance(key, str):
            return self._arrays[self._index(_port(list(self._ports), key))]
        return self._arrays[key]

    def _index(self, port: Value) -> int:
        for index, own in enumerate(self._ports):
            if own is port or (own.node.inputs and own.node.inputs[0] is port):
                return index
        raise KeyError(f"{port!r} is no output of this model")

    def __iter__(self) -> Iterator[Value]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def to_dict(self) -> dict[Value, Array]:
        return dict(zip(self._ports, self._arrays, strict=True))

    def to_tuple(self) -> tuple[Array, ...]:
        return tuple(self._arrays)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{p!r}: {a!r}" for p, a in zip(self._ports, self._arrays, strict=True)) + "}"


class CompiledModel:
    """A model ready to run. Calling it runs it on its own request; other requests run beside it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._plan = make_plan(model)
        self._plans: OrderedDict[Shapes, Plan | None] = OrderedDict()
        self._is_dynamic = any(v.partial_shape.is_dynamic for v in model.inputs)
        self._request: InferRequest | None = None

    @property
    def inputs(self) -> list[Value]:
        return self.model.inputs

    @property
    def outputs(self) -> list[Value]:
        return self.model.outputs

    def input(self, key: int | str = 0) -> Value:
        return self.model.input(key)

    def output(self, key: int | str = 0) -> Value:
        return self.model.output(key)

    @property
    def layer_count(self) -> int:
        """The number of layers that run at each inference: constants and what follows from them alone do not."""
        return len(self._plan.steps)

    def create_infer_request(self, listeners: Sequence[Listener] = ()) -> InferRequest:
        """A request with its own buffers and variables. `listeners` are told of every layer."""
        return InferRequest(self, listeners)

    def __call__(self, inputs: Any = None, **options: Any) -> Results:
        """Run on arrays by position, `{name | position | port: array}`, or one array. Raises IRError."""
        if self._request is None:
            self._request = self.create_infer_request()
        return self._request.infer(inputs)

    def infer_new_request(self, inputs: Any = None) -> Results:
        """Run on a request of its own: no variable is carried over."""
        return self.create_infer_request().infer(inputs)

    def plan_for(self, shapes: Shapes) -> Plan:
        """The plan for these input shapes.

        A dynamic model has one plan for all shapes; shapes that come a second time get one of their own, in which
        every extent that follows from them is known.
        """
        if not self._is_dynamic:
            return self._plan
        if shapes not in self._plans:
            self._plans[shapes] = None
            while len(self._plans) > _MAX_PLANS:
                self._plans.popitem(last=False)
            return self._plan
        plan = self._plans[shapes]
        if plan is None:
            plan = self._plans[shapes] = self._specialized(shapes)
        self._plans.move_to_end(shapes)
        return plan

    def _specialized(self, shapes: Shapes) -> Plan:
        """A plan with static input shapes. The model's own types are put back afterwards."""
        values = [value for node in self.model.walk() for value in node.outputs]
        kept = [value.type for value in values]
        given = [
            TensorType(value.element_type, PartialShape(shape))
            for value, shape in zip(self.inputs, shapes, strict=True)
        ]
        try:
            findings = Findings(file=self.model.file)
            infer_model(self.model, findings, given)
            return self._plan if not findings.report.ok else make_plan(self.model)
        finally:
            for value, type in zip(values, kept, strict=True):
                value.type = type

    def __repr__(self) -> str:
        return f"<CompiledModel: {self.model.name!r}>"


class InferRequest:
    """One line of inferences: it keeps buffers and variables from one to the next."""

    def __init__(self, compiled: CompiledModel, listeners: Sequence[Listener] = ()) -> None:
        self._compiled = compiled
        self._variables = Variables(compiled.model)
        self._runners: OrderedDict[int, Runner] = OrderedDict()
        self.listeners: list[Listener] = list(listeners)
        self.results: Results | None = None

    @property
    def model_inputs(self) -> list[Value]:
        return self._compiled.inputs

    @property
    def model_outputs(self) -> list[Value]:
        return self._compiled.outputs

    def infer(self, inputs: Any = None) -> Results:
        """Run once. The arrays returned are the caller's own. Raises IRError; then no variable has changed."""
        arrays = _arrange(inputs, self._compiled.inputs)
        plan = self._compiled.plan_for(tuple(a.shape for a in arrays))
        runner = self._runners.get(id(plan))
        if runner is None:
            runner = self._runners[id(plan)] = Runner(plan, self._variables, self.listeners)
            while len(self._runners) > _MAX_PLANS:
                self._runners.popitem(last=False)
        before = dict(self._variables.values)
        try:
            # BLAS's threads wait for more work by spinning, on the cores that the kernels' own threads need.
            with np.errstate(all="ignore"), single_threaded_blas():
                results = runner.run(arrays)
            self._variables.commit()
        except BaseException:
            self._variables.restore(before)
            raise
        self.results = Results(self._compiled.outputs, results)
        return self.results

    __call__ = infer

    def get_output_tensor(self, index: int = 0) -> Array:
        """An output of the last inference. Raises RuntimeError when there was none."""
        if self.results is None:
            raise RuntimeError("nothing was inferred yet")
        return self.results[index]

    def query_state(self) -> list[VariableState]:
        """The model's variables."""
        return [VariableState(self._variables, name) for name in self._variables.readers]

    def reset_state(self) -> None:
        """Put every variable back to the value it has before the first Assign."""
        self._variables.reset()


def _as_unicode(array: Array) -> Array:
    """Strings as OpenVINO's Python API returns them: fixed-width unicode, which every NumPy function takes.

    That form cannot hold NULs at the end of a string; such an array comes as Python strings.
    """
    strings = array.ravel().tolist()
    lossy = any(s.endswith("\0") for s in strings)
    return np.array(strings, object if lossy else np.str_).reshape(array.shape)


def _arrange(given: Any, ports: list[Value]) -> list[Array]:
    """The caller's arrays in the order of the inputs, each of its port's type. Raises IRError."""
    if given is None:
        given = []
    if isinstance(given, np.ndarray) or np.isscalar(given) or (isinstance(given, list) and _is_nested(given, ports)):
        given = [given]
    if isinstance(given, Mapping):
        arrays: list[Any] = [None] * len(ports)
        for key, array in given.items():
            arrays[_position(key, ports)] = array
        missing = [_label(p) for p, a in zip(ports, arrays, strict=True) if a is None]
        if missing:
            raise IRError(wrong_input(f"no array for {', '.join(missing)}"))
    else:
        arrays = list(given)
        if len(arrays) != len(ports):
            names = ", ".join(map(_label, ports))
            raise IRError(wrong_input(f"{len(arrays)} arrays for {len(ports)} inputs ({names})"))
    return [_fitting(array, port) for array, port in zip(arrays, ports, strict=True)]


def _is_nested(given: list[Any], ports: list[Value]) -> bool:
    """True for a plain list of numbers, which is one array for the one input."""
    return len(ports) == 1 and bool(given) and all(isinstance(v, (int, float, bool, str)) for v in given)


def _position(key: Any, ports: list[Value]) -> int:
    if isinstance(key, Value):
        for index, port in enumerate(ports):
            if port is key:
                return index
    elif isinstance(key, int) and 0 <= key < len(ports):
        return key
    elif isinstance(key, str):
        for index, port in enumerate(ports):
            if key in port.names or key == port.node.friendly_name:
                return index
    raise IRError(wrong_input(f"no input {key!r}; there are {', '.join(map(_label, ports)) or 'none'}"))


def _label(port: Value) -> str:
    return repr(min(port.names) if port.names else port.node.friendly_name)


def _fitting(given: Any, port: Value) -> Array:
    """The array with the port's dtype and a shape it allows. A safe or same-kind cast is made, any other refused."""
    kind: ElementType = port.element_type
    layer = port.node.ref
    try:
        array: Array = np.asarray(given)
    except ValueError as error:
        raise IRError(wrong_input(f"input {_label(port)} is no array: {error}", layer=layer)) from error
    if kind is not DYNAMIC and array.dtype != kind.dtype:
        found = str(array.dtype)
        if (array.dtype.kind in "UTO" and kind.name == "string") or _castable(array, kind):
            array = array.astype(kind.dtype)
        else:
            message = f"input {_label(port)} is {kind}; the array is {found}"
            raise IRError(wrong_input(message, layer=layer, found=found, allowed=str(kind)))
    if not port.partial_shape.accepts(array.shape):
        found, allowed = str(list(array.shape)), str(port.partial_shape)
        message = f"input {_label(port)} has shape {allowed}; the array has {found}"
        raise IRError(wrong_input(message, layer=layer, found=found, allowed=allowed))
    return array


def _castable(array: Array, kind: ElementType) -> bool:
    if kind.dtype is None:
        return False
    if np.can_cast(array.dtype, kind.dtype, "same_kind"):
        return kind is not BOOLEAN or array.dtype == np.bool_
    # Python's own integers come as int64: they may stand for any type that holds them exactly.
    if array.dtype.kind in "iu" and array.size <= 1 << 16 and kind is not BOOLEAN:
        return bool((array.astype(kind.dtype).astype(array.dtype) == array).all())
    return False
