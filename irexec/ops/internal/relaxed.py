"""TypeRelaxed: an operator that computes with other element types than its inputs and outputs have.

Source: OpenVINO's class ov::op::TypeRelaxed; `type_relaxed_opset1` in dumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.records import replace
from irexec.core.types import DYNAMIC, ElementType, TensorType
from irexec.ops.compute.casting import cast
from irexec.ops.spec.attributes import AttributeFault
from irexec.ops.spec.operator import Breach, Operator
from irexec.ops.spec.traits import KeepsElements, Traits

PREFIX = "type_relaxed_"
_OWN = ("type_relax", "input_data_types", "output_data_types")

Kinds = tuple[ElementType, ...]


class Relaxed(Operator):
    """An operator whose inputs are converted to `inputs` before it computes, and its results to `outputs`.

    A type that is dynamic, or missing at the end, leaves the values as they are.
    """

    def __init__(self, operator: Operator, inputs: Kinds, outputs: Kinds) -> None:
        self.__dict__.update(operator.__dict__)
        self.opset = PREFIX + operator.opset
        self.signature = replace(operator.signature, takes_out=False)
        self.specializer, self.view, self.inplace, self.as_stored = None, (), (), ()
        self.traits = Traits(operator.traits)
        self.traits.pop(KeepsElements, None)
        self.kernel = self._computed
        self._operator, self._given, self._made = operator, inputs, outputs

    @classmethod
    def of(cls, operator: Operator, data: dict[str, str]) -> Relaxed:
        """Return the operator of a layer with these attributes in a file."""
        return cls(operator, *(_kinds(data.get(name, "")) for name in _OWN[1:]))

    def parse_attributes(self, given: dict[str, Any]) -> tuple[dict[str, Any], list[AttributeFault]]:
        return self._operator.parse_attributes({n: text for n, text in given.items() if n not in _OWN})

    def infer(
        self, inputs: Sequence[TensorType | None], attributes: dict[str, Any], breaches: list[Breach] | None = None
    ) -> list[TensorType]:
        kinds = self._computing([None if one is None else one.element_type for one in inputs])
        types = self._operator.infer(_each(_retyped, inputs, kinds), attributes, breaches)
        return _each(_retyped, types, self._made)

    def _computed(self, *inputs: Any, **attributes: Any) -> Any:
        arrays = [None if one is None else np.asarray(one) for one in inputs]
        kinds = self._computing([None if a is None or a.dtype == object else ElementType.of(a.dtype) for a in arrays])
        results = self._operator.kernel(*_each(_cast, inputs, kinds), **attributes)
        if isinstance(results, (tuple, list)):
            return _each(_stored, results, self._made)
        return _each(_stored, [results], self._made)[0]

    def _computing(self, kinds: Sequence[ElementType | None]) -> Kinds:
        """Return the types in which the operator computes, from those of the inputs.

        Integers whose result is a real number are computed as such: zero points are subtracted from u8, for example.
        """
        found = [*self._given, *[DYNAMIC] * (len(kinds) - len(self._given))]
        wanted = self._made[0] if self._made else DYNAMIC
        if wanted is not DYNAMIC and wanted.is_real:
            name = self._operator.signature.input(0).elements.name
            for place, kind in enumerate(kinds):
                alike = bool(name) and self._operator.signature.input(place).elements.name == name
                if alike and found[place] is DYNAMIC and kind is not None and kind.is_integral_number:
                    found[place] = wanted
        return tuple(found)


def _kinds(text: str) -> Kinds:
    return tuple(ElementType.from_attribute(name.strip()) or DYNAMIC for name in text.split(",") if name.strip())


def _each(convert: Any, given: Sequence[Any], kinds: Kinds) -> list[Any]:
    made = [
        item if item is None or kind is DYNAMIC else convert(item, kind)
        for item, kind in zip(given, kinds, strict=False)
    ]
    return [*made, *given[len(made) :]]


def _cast(array: Any, kind: ElementType) -> Any:
    array = np.asarray(array)
    return array if array.dtype == object else cast(array, ElementType.of(array.dtype), kind)


def _stored(array: Any, kind: ElementType) -> Any:
    """Return a result in another type; the plugin rounds real numbers to the nearest integer that the type holds."""
    array = np.asarray(array)
    if array.dtype != object and kind.is_integral_number and ElementType.of(array.dtype).is_real:
        signed = kind.kind == "i"
        top = 2 ** (kind.bitwidth - signed)
        array = np.clip(np.rint(array.astype(np.float64)), -top if signed else 0, top - 1)
    return _cast(array, kind)


def _retyped(type: TensorType, kind: ElementType) -> TensorType:
    if type.element_type is kind or type.element_type is DYNAMIC:
        return type if type.element_type is kind else TensorType(kind, type.shape)
    return TensorType(kind, type.shape, None if type.value is None else cast(type.value, type.element_type, kind))
