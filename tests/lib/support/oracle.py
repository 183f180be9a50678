"""One operator on given arrays: by irexec (inferred and verified), and by OpenVINO."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np

from irexec.core.types import ElementType, PartialShape, TensorType
from irexec.ops.spec.attributes import attribute_text
from irexec.ops.spec.operator import Breach, NodeTypes, Operator, PassThrough
from support.instructions import skip_unless_computed


def infer(op: Operator, inputs: list[TensorType | None], **attributes: Any) -> tuple[list[TensorType], list[Breach]]:
    """Return the inferred output types and all breaches."""
    values, problems = op.parse_attributes(attributes)
    assert not problems, problems
    breaches: list[Breach] = []
    return op.infer(inputs, values, breaches), breaches


def dims(op: Operator, *inputs: TensorType | None, **attributes: Any) -> str:
    """Return the shape that the rule infers; assert that it reports no breach."""
    (out,), breaches = infer(op, list(inputs), **attributes)
    assert not breaches, breaches
    return str(out.shape)


def tensor(element_type: ElementType, shape: str, value: Any = None) -> TensorType:
    """Return a tensor type from a shape's text and, for a known constant, its values."""
    array = None if value is None else np.asarray(value, element_type.dtype)
    return TensorType(element_type, PartialShape.parse(shape), array)


def run(op: Operator, *arrays: np.ndarray | None, **attributes: Any) -> list[np.ndarray]:
    """Return the outputs of the kernel, which must equal those of the specialized form and match inference."""
    values, problems = op.parse_attributes(attributes)
    assert not problems, problems
    known = [None if a is None else TensorType.of(a) for a in arrays]
    breaches: list[Breach] = []
    inferred = op.infer(known, values, breaches)
    assert not breaches, breaches
    loose = op.infer([None if t is None else TensorType(t.element_type, PartialShape.dynamic()) for t in known], values)
    results = _listed(op(*arrays, **values))
    assert len(results) == len(inferred)
    for result, exact_type in zip(results, inferred, strict=True):
        result = np.asarray(result)
        assert exact_type.shape.accepts(result.shape), f"{result.shape} against inferred {exact_type}"
        assert exact_type.element_type.dtype == result.dtype, f"{result.dtype} against inferred {exact_type}"
    if op.signature.takes_out and len(results) == 1:
        out = np.empty_like(results[0], order="C")
        assert op(*arrays, **values, out=out) is out
        np.testing.assert_array_equal(plain(out), plain(results[0]))
    for dynamic, exact_type in zip(loose, inferred, strict=False):
        assert dynamic.element_type in (exact_type.element_type, ElementType.by_name["dynamic"])
        assert dynamic.shape.compatible(exact_type.shape)
    if op.specializer is not None:
        types = NodeTypes(tuple(known), tuple(inferred), tuple(arrays), values)
        fast = op.specializer(types)
        if fast is not None:
            call = fast.call if isinstance(fast, PassThrough) else fast
            for fast_result, result in zip(_listed(call(*arrays)), results, strict=True):
                assert fast_result.dtype == result.dtype
                np.testing.assert_array_equal(plain(fast_result), plain(result))
    return [np.asarray(r) for r in results]


def _listed(result: Any) -> list[np.ndarray]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def plain(array: Any) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float8", "float4")):
        return array.astype(np.float32)
    return array.astype(np.int32) if array.dtype.name in ("int4", "uint4", "int2", "uint2") else array


def layer_xml(
    op: Operator,
    arrays: list[np.ndarray],
    attributes: dict[str, Any],
    outputs: list[TensorType],
    fixed: Collection[int] = (),
) -> str:
    """Return the text of an IR of version 11: a Parameter per array (a Const if `fixed`), the operator, a Result per
    output.
    """
    layers, edges = [], []
    ports = []
    offset = 0
    for index, array in enumerate(arrays):
        kind = ElementType.of(array.dtype)
        dims = "".join(f"<dim>{d}</dim>" for d in array.shape)
        shape = ",".join(map(str, array.shape))
        type, where = "Parameter", ""
        if index in fixed:
            type, where = "Const", f'offset="{offset}" size="{array.nbytes}"'
            offset += array.nbytes
        layers.append(
            f'<layer id="{index}" name="in{index}" type="{type}" version="opset1">'
            f'<data shape="{shape}" element_type="{kind.name}" {where}/><output>'
            f'<port id="0" precision="{kind.port_name}">{dims}</port></output></layer>'
        )
        ports.append(f'<port id="{index}" precision="{kind.port_name}">{dims}</port>')
    n = len(arrays)
    data = " ".join(f'{name}="{attribute_text(v)}"' for name, v in attributes.items())
    out_ports = "".join(f'<port id="{n + i}" precision="{t.element_type.port_name}"/>' for i, t in enumerate(outputs))
    layers.append(
        f'<layer id="{n}" name="op" type="{op.type}" version="{op.opset}"><data {data}/>'
        f"<input>{''.join(ports)}</input><output>{out_ports}</output></layer>"
    )
    edges += [f'<edge from-layer="{i}" from-port="0" to-layer="{n}" to-port="{i}"/>' for i in range(n)]
    for index in range(len(outputs)):
        layers.append(
            f'<layer id="{n + 1 + index}" name="out{index}" type="Result" version="opset1">'
            f'<input><port id="0"/></input></layer>'
        )
        edges.append(f'<edge from-layer="{n}" from-port="{n + index}" to-layer="{n + 1 + index}" to-port="0"/>')
    return (
        f'<?xml version="1.0"?><net name="one" version="11"><layers>{"".join(layers)}</layers>'
        f"<edges>{''.join(edges)}</edges></net>"
    )


def openvino(
    op: Operator, *arrays: np.ndarray, constants: bool = False, fixed: Collection[int] = (), **attributes: Any
) -> list[np.ndarray]:
    """Return the outputs of OpenVINO's CPU plugin in f32 precision. `constants`: use the core's reference kernels, by
    constant folding.

    `fixed`: positions of the inputs that are constants of the model, as axes and shapes mostly are. Arrays of ml_dtypes
    are passed as raw bits and returned as arrays of ml_dtypes.
    """
    import openvino as ov

    if not constants:
        skip_unless_computed(str(op))
    values, _ = op.parse_attributes(attributes)
    inferred = op.infer([TensorType.of(a) for a in arrays], values)
    weights = b"".join(np.ascontiguousarray(a).tobytes() for i, a in enumerate(arrays) if i in fixed)
    text = layer_xml(op, list(arrays), attributes, inferred, fixed).encode()
    tensors = [_tensor(a) for i, a in enumerate(arrays) if constants or i not in fixed]
    if constants:
        model = ov.Core().read_model(text, weights)
        node = next(o for o in model.get_ops() if o.get_type_name() not in ("Parameter", "Constant", "Result"))
        results = [ov.Tensor(o.get_element_type(), ov.Shape([0])) for o in node.outputs()]
        results = [
            ov.Tensor(o.get_element_type(), ov.Shape([int(d) for d in t.shape.to_shape()]))
            for o, t in zip(node.outputs(), inferred, strict=True)
        ]
        if not node.evaluate(results, tensors):
            raise NotImplementedError(f"OpenVINO's core does not evaluate {op}")
    else:
        request = _request(text, weights)
        request.infer(tensors)
        results = [request.get_output_tensor(i) for i in range(len(inferred))]
    return [_array(r, t.element_type) for r, t in zip(results, inferred, strict=True)]


@lru_cache(maxsize=8)
def _request(text: bytes, weights: bytes) -> Any:
    """Return an inference request of a model; cached, because OpenVINO takes 20 ms to compile a model."""
    import openvino as ov

    model = ov.Core().read_model(text, weights)
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()


def _tensor(array: np.ndarray) -> Any:
    import openvino as ov

    kind = ElementType.of(array.dtype)
    array = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray returns a 1-D array for a scalar
    if kind.name == "string":
        return ov.Tensor(np.array(array.tolist()).reshape(array.shape))
    if array.dtype.kind in "biuf" and array.dtype.isbuiltin == 1:
        return ov.Tensor(array)
    result = ov.Tensor(getattr(ov.Type, kind.name), ov.Shape(array.shape))
    raw = array.view(np.uint8 if array.dtype.itemsize == 1 else np.uint16)
    result.data.view(raw.dtype)[...] = raw
    return result


def _array(result: Any, kind: ElementType) -> np.ndarray:
    if kind.name == "string":
        return np.asarray(result.str_data)
    data = np.array(result.data)
    if data.dtype != kind.dtype and kind.dtype is not None and data.dtype.itemsize == kind.dtype.itemsize:
        return data.view(kind.dtype)
    return data
