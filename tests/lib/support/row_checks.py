"""What holds for every row of support.rows: the columns of the row, and what is true of any legal call.

That is inference with all, with less and with no knowledge of the inputs, other layouts in memory, `out=`, the engine
with and without compiled code, and axes of size 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec
from irexec.core.types import BF16, ElementType, PartialShape, TensorType
from irexec.frontends.reading import read
from irexec.model.inference.propagate import propagate
from irexec.ops.spec.contents import is_internal
from irexec.ops.spec.operator import Breach, ConstraintError, NodeTypes, Operator, PassThrough
from irexec.ops.spec.traits import Random
from support.instructions import rounds_bf16
from support.lowering import kernels, lowered, small_ones_too
from support.oracle import layer_xml, openvino, plain


class Case(NamedTuple):
    """A call of a row, of one element type and with one of each choice: its inputs are arrays, or types if their
    elements are not known. `literal`: positions of the inputs whose elements the row states.
    """

    operator: Operator
    text: str
    inputs: list[Any]
    literal: list[int]
    attributes: dict[str, str]
    verdicts: tuple[str, ...]
    names: dict[str, Any]
    is_first: bool

    @property
    def is_run(self) -> bool:
        return not any(isinstance(given, TensorType) for given in self.inputs)

    @property
    def types(self) -> list[TensorType | None]:
        """The types of the inputs, with all values that are known."""
        return [TensorType.of(a) if isinstance(a, np.ndarray) else a for a in self.inputs]


def check(case: Case) -> None:
    """Check what the columns of a row state, and what holds for any call."""
    sign, _, stated = case.verdicts[0].partition(" ")
    values, faults = case.operator.parse_attributes(case.attributes)
    if sign == "!" and stated.startswith("D"):
        assert stated in [f"{fault.code} {fault.attribute}" for fault in faults], faults
        return
    assert not faults, faults
    if sign == "!":
        _check_refused(case, values, *stated.partition(" ")[::2])
    elif sign == ":":
        _check_inferred(case, values, stated.split("; "))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results = _check_kernel(case, values)
        _check_columns(case, values, results)
        if case.is_first:
            _check_empty(case, values)
            _check_engine(case, values, results)


def _check_columns(case: Case, values: dict[str, Any], results: list[np.ndarray]) -> None:
    """Compare the results with what each column states."""
    operator = case.operator
    within = next((float(v.removeprefix("within ")) for v in case.verdicts if v.startswith("within ")), None)
    _check_undefined(case, operator.oracle.undefined(*case.inputs, **values))
    for verdict in case.verdicts:
        sign, _, stated = verdict.partition(" ")
        expected: Any = results
        bound = within
        if sign in ("->", "=="):
            scope = case.names | values
            if operator.oracle.tolerance.kind != "exact":
                scope = {name: _exact(value) for name, value in scope.items()}
            with np.errstate(all="ignore"):
                expected = [eval(part, scope) for part in stated.split("; ")]
            if sign == "==" and len(expected) == 1 and isinstance(expected[0], (list, tuple)):
                (expected,) = expected
        elif verdict in ("openvino", "core"):
            if "dtype" in case.names and not case.is_first:
                continue
            fixed: Any = {"constants": True} if verdict == "core" else {"fixed": case.literal}
            expected = openvino(operator, *case.inputs, **fixed, **case.attributes)
            is_loose = operator.oracle.tolerance.kind != "exact" and results[0].dtype != np.float16
            near = 2.0**-7 if results[0].dtype == BF16.dtype and not rounds_bf16() else _OPENVINO
            bound = max(within or 0, near) if is_loose else within
        elif verdict == "rounded":
            if ElementType.of(results[0].dtype).name not in ("f16", "bf16"):
                continue
            wide = [a.astype(np.float32) if a is not None and a.dtype == results[0].dtype else a for a in case.inputs]
            found = [narrow(array, results[0].dtype) for array in _listed(operator(*wide, **values))]
            expected, bound = found, 0.0
        elif verdict == "view":
            assert np.shares_memory(_listed(operator(*case.inputs, **values))[-1], case.inputs[0])
        else:
            assert sign in ("within", "undefined", "static"), (
                f"{verdict}: expected ->, ==, openvino, core, rounded, view or within"
            )
        for result, right in zip(results, expected, strict=True):
            assert_near(operator, result, _as_result(right, result), bound)


def _check_undefined(case: Case, found: Any) -> None:
    """Compare what the oracle leaves undefined with the column `undefined`: all, or the elements that it states."""
    stated = next((verdict for verdict in case.verdicts if verdict.startswith("undefined")), None)
    mask = (stated or "").removeprefix("undefined")
    if mask:
        np.testing.assert_array_equal(found[0] if isinstance(found, tuple) else found, eval(mask, case.names))
    else:
        assert (found is True) == (stated is not None), f"undefined: {found}"


def _exact(value: Any) -> Any:
    """Return an input of an expression: numbers of a float type in f64."""
    if isinstance(value, list):
        return [_exact(item) for item in value]
    is_float = isinstance(value, np.ndarray) and value.dtype.kind in "fV" and ElementType.of(value.dtype).is_real
    return value.astype(np.float64) if is_float else value


def narrow(array: np.ndarray, dtype: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtype) if array.dtype == np.float32 else array


_OPENVINO = 5e-5
"""The relative difference from OpenVINO, which computes in f32, unless the operator is exact."""
_BOUNDS = {"float64": 1e-12, "float32": 4e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
"""The relative difference from an expression in f64, by the type of the result."""


def _as_result(value: Any, result: np.ndarray) -> np.ndarray:
    """Return what a row states with the element type of the result."""
    array = np.asarray(value)
    assert array.shape == result.shape, f"the result has shape {result.shape}, expected {array.shape}"
    if array.dtype.kind == "f" and result.dtype.kind in "iu":
        array = np.rint(array)
    with np.errstate(all="ignore"):
        return array.astype(result.dtype)


def assert_near(operator: Operator, found: np.ndarray, right: np.ndarray, within: float | None = None) -> None:
    """Assert that arrays are equal, or differ by no more than the operator's tolerance allows."""
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    is_float = found.dtype.kind in "fV" and ElementType.of(found.dtype).is_real
    if found.dtype.kind in "iu" and within is not None and within >= 1:
        assert np.abs(found.astype(np.int64) - right.astype(np.int64)).max(initial=0) <= within
        return
    if not is_float or not (within or (within is None and operator.oracle.tolerance.kind != "exact")):
        np.testing.assert_array_equal(plain(found), plain(right))
        return
    bound = _BOUNDS.get(found.dtype.name, 0.07) if within is None else within
    finite = np.abs(plain(right)[np.isfinite(plain(right))])
    np.testing.assert_allclose(plain(found), plain(right), bound, bound * float(finite.max(initial=0)))


def _check_refused(case: Case, values: dict[str, Any], constraint: str, text: str) -> None:
    """Check that the rule or the kernel reports the constraint, with a message that contains the text."""
    operator = case.operator
    breaches: list[Breach] = []
    operator.infer(case.types, values, breaches)
    told = [(b.constraint or b.code, f"{b.port}: {b.message}; {b.hint}; {b.repair}") for b in breaches]
    if case.is_run:
        if not breaches:
            told = [_refusal(operator.compute, case.inputs, values)]
        with pytest.raises((ConstraintError, TypeError)) as error:
            operator(*case.inputs, **values)
        if isinstance(error.value, ConstraintError):
            assert error.value.constraint in [number for number, _ in told]
        breaches.clear()
        operator.infer([None if t is None else t.without_value() for t in case.types], values, breaches)
        if not breaches and "known" not in case.verdicts:  # Only the kernel knows the values.
            told.append(_refusal(operator.compute, case.inputs, values))
            assert told[-1][0] in [number for number, _ in told[:-1]]
    assert constraint in [number for number, _ in told], f"reported: {told}"
    assert any(text in message for number, message in told if number == constraint), f"reported: {told}"


def _refusal(function: Any, inputs: Sequence[Any], values: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(ConstraintError) as caught:
        function(*inputs, **values)
    error = caught.value
    return error.constraint, f"{error.port}: {error.message}; {error.hint}; {error.repair}"


def _check_inferred(case: Case, values: dict[str, Any], stated: list[str]) -> None:
    outputs = _inferred(case.operator, case.types, values)
    assert len(outputs) == len(stated)
    for output, text in zip(outputs, stated, strict=True):
        kind, _, shape = text.rpartition("[")
        assert f"[{shape}" == str(output.shape) and kind in ("", output.element_type.name), f"inferred: {output}"


def _inferred(operator: Operator, types: Sequence[TensorType | None], values: dict[str, Any]) -> list[TensorType]:
    breaches: list[Breach] = []
    outputs = operator.infer(types, values, breaches)
    assert not breaches, breaches
    return outputs


def _check_kernel(case: Case, values: dict[str, Any]) -> list[np.ndarray]:
    """Return the results of the kernel, which do not depend on what is known of the inputs, on where they are stored,
    or on where the result is stored.
    """
    operator, inputs = case.operator, case.inputs
    kept = [None if a is None else a.copy() for a in inputs]
    results = _listed(operator(*inputs, **values))
    for name in operator.inplace:
        place = [port.name for port in operator.signature.inputs].index(name)
        if inputs[place].shape == results[0].shape and operator.signature.takes_out:
            given = [array if n != place else array.copy() for n, array in enumerate(inputs)]
            assert operator(*given, **values, out=given[place]) is given[place]
            assert_near(operator, given[place], results[0])
    for port, array in enumerate(inputs):
        if array is not None and operator.signature.input(port).name not in operator.view:
            assert not any(np.shares_memory(result, array) for result in results), f"the result shares input {port}"
    if Random in operator.traits:
        return results
    inferred = _inferred(operator, case.types, values)
    for found, expected in zip(results, inferred, strict=True):
        assert expected.element_type.dtype == found.dtype, f"{found.dtype}, inferred: {expected}"
    known = propagate(operator, case.types, values, inferred)
    less_known = () if "static" in case.verdicts else _less_known(case.types)
    for outputs in (known, *(_inferred(operator, types, values) for types in less_known)):
        for found, expected in zip(results, outputs, strict=False):
            assert expected.element_type.dtype in (found.dtype, None), f"{found.dtype}, inferred: {expected}"
            assert expected.shape.accepts(found.shape), f"the result has shape {found.shape}, inferred: {expected}"
            if expected.value is not None:
                assert_near(operator, np.asarray(expected.value), found)
    for number, layout in enumerate(LAYOUTS):
        others = [laid_out(array, layout) for array in inputs]
        target = {}
        if operator.signature.takes_out and len(results) == 1:
            target["out"] = laid_out(np.zeros_like(results[0], order="C"), LAYOUTS[number - 1])
        made = operator(*others, **values, **target)
        assert not target or made is target["out"]
        for found, expected in zip(_listed(made), results, strict=True):
            assert_near(operator, found, expected)
    if operator.specializer is not None:
        fast = operator.specializer(NodeTypes(tuple(case.types), tuple(inferred), tuple(inputs), values))
        if fast is not None:
            call = fast.call if isinstance(fast, PassThrough) else fast
            for found, expected in zip(_listed(call(*inputs)), results, strict=True):
                assert_near(operator, found, expected)
    for before, after in zip(kept, inputs, strict=True):
        if before is not None:
            np.testing.assert_array_equal(plain(before), plain(after), "an input was changed")
    return results


def _less_known(types: Sequence[TensorType | None]) -> Iterator[list[TensorType | None]]:
    """Yield types of the inputs of which less is known: no elements, one extent less or only within bounds, no rank."""
    bare = [None if t is None else t.without_value() for t in types]
    yield bare
    for port, type in enumerate(bare):
        if type is None:
            continue
        extents = type.shape.to_shape()
        for axis, extent in enumerate(extents):
            for some in (f"{max(extent - 1, 0)}..{extent + 2}", "?"):
                shape = PartialShape.parse(",".join([*map(str, extents[:axis]), some, *map(str, extents[axis + 1 :])]))
                yield [*types[:port], TensorType(type.element_type, shape), *types[port + 1 :]]
        yield [*types[:port], TensorType(type.element_type, PartialShape.dynamic()), *types[port + 1 :]]
    yield [None if t is None else TensorType(t.element_type, PartialShape.dynamic()) for t in types]


LAYOUTS = ["turned", "with gaps", "backwards", "unaligned"]


def laid_out(array: Any, layout: str) -> Any:
    """Return an array with the same elements in another layout in memory."""
    if not isinstance(array, np.ndarray) or not array.ndim:
        return array
    if layout == "turned":
        return np.asfortranarray(array)
    if layout == "backwards":
        return np.flip(np.flip(array).copy())
    if layout == "unaligned":
        if array.dtype.kind == "T":
            return array
        return np.frombuffer(bytearray(b"\0" + array.tobytes()), array.dtype, offset=1).reshape(array.shape)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _check_engine(case: Case, values: dict[str, Any], results: list[np.ndarray]) -> None:
    """Check that a model of the layer gives the same, by kernels and by compiled code."""
    if any(array is None or array.dtype.isbuiltin != 1 for array in case.inputs) or Random in case.operator.traits:
        return
    fixed = case.literal
    types = _inferred(case.operator, case.types, values)
    text = layer_xml(case.operator, case.inputs, case.attributes, types, fixed)
    weights = b"".join(case.inputs[i].tobytes() for i in fixed)
    given = [array for i, array in enumerate(case.inputs) if i not in fixed]
    with pytest.MonkeyPatch.context() as patch:
        small_ones_too(patch.setattr)
        for compiled in (kernels, lowered):
            reading = read(text.encode(), weights, model_class=irexec.Model, internal=is_internal(case.operator.opset))
            model = reading.model
            assert model is not None, reading.report
            for result, expected in zip(compiled(model)(given).to_tuple(), results, strict=True):
                found = np.asarray(result)  # Strings are NumPy's, as in OpenVINO.
                found = found.astype(expected.dtype) if expected.dtype.kind == "T" else found
                assert_near(case.operator, found, expected, 2e-5 if expected.dtype == np.float32 else None)


Axes = frozenset[tuple[int, int]]


def emptied(arrays: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the arrays with some axes reduced to 0: one, two of the same extent, all of one extent, or one in all
    inputs.
    """
    axes = [(i, k) for i, a in enumerate(arrays) if a is not None for k in range(a.ndim)]
    extents = {place: arrays[place[0]].shape[place[1]] for place in axes}
    choices: set[Axes] = {frozenset([place]) for place in axes}
    choices |= {frozenset(pair) for pair in combinations(axes, 2) if extents[pair[0]] == extents[pair[1]]}
    choices |= {frozenset(p for p in axes if extents[p] == n) for n in set(extents.values())}
    choices |= {frozenset(p for p in axes if p[1] == k) for k in {k for _, k in axes}}
    for choice in sorted(choices, key=sorted):
        yield [
            None if a is None else a[(*(slice(0 if (i, k) in choice else None) for k in range(a.ndim)), ...)]
            for i, a in enumerate(arrays)
        ]


def _check_empty(case: Case, values: dict[str, Any]) -> None:
    """Check that rule and kernel agree on axes of size 0, and that every refusal names a constraint."""
    for arrays in emptied(case.inputs):
        types = [None if a is None else TensorType.of(a) for a in arrays]
        breaches: list[Breach] = []
        outputs = case.operator.infer(types, values, breaches)
        assert all(breach.code != "O007" for breach in breaches), breaches
        try:
            results = _listed(case.operator(*arrays, **values))
        except ConstraintError:
            continue
        except TypeError:
            assert any(breach.code == "O002" for breach in breaches)
            continue
        for found, expected in zip(results, outputs, strict=True):
            assert expected.shape.accepts(found.shape), f"of {types}: {found.shape}, inferred: {expected}"


def _listed(result: Any) -> list[np.ndarray]:
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else [result])]
