"""Passes that change constants and element types: ConstantFolding, ConvertFP32ToFP16."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.editing import changed, checked_model, current, order, replace, revalidate
from irexec.api.openvino.node import Node
from irexec.api.openvino.passes.base import ModelPass
from irexec.api.opsets.nodes import constant_node
from irexec.core.structure import CONST, ENDS
from irexec.core.types import F16, F32
from irexec.model.graph import model as graph
from irexec.model.graph.model import Model
from irexec.model.graph.ports import output_name
from irexec.model.inference import infer
from irexec.runtime.engine.constants import Constants


class ConstantFolding(ModelPass):
    """Replaces layers that depend only on constants, or on known shapes, by constants."""

    def run_on_model(self, model: Any) -> bool:
        folded = self._fold(current(checked_model(model)))
        if folded:
            changed(model)
            order(model)
        return folded

    def _fold(self, model: Model) -> bool:
        inference = infer(model)
        folded = False
        with Constants().folding(model, inference) as folding:
            constant = {n for n in model.nodes if n.type not in ENDS and folding.add(n)}
            for node in model.nodes:
                for body in node.bodies:
                    folded |= self._fold(body.model)
                if node not in constant or node.type == CONST:
                    continue
                for value in node.outputs:
                    # A node that only folded nodes read is removed with them.
                    if any(user not in constant for user in value.users):
                        made = constant_node(
                            Node, folding.array(value), name=output_name(value), element_type=value.element_type
                        )
                        made.rt_info = dict(node.rt_info)
                        replace(value, made.outputs[0])
                        folded = True
        return folded


class ConvertFP32ToFP16(ModelPass):
    """Converts every f32 to f16: parameters, constants, and the types in attributes."""

    def run_on_model(self, model: Any) -> bool:
        nodes = list(current(checked_model(model)).walk())
        for node in nodes:
            for body in node.bodies:
                self._convert(body.model)
        self._convert(model)
        revalidate(model)
        return True

    def _convert(self, model: Model) -> None:
        for node in model.nodes:
            if F32 in node.attributes.values():
                node._attributes = {name: F16 if v is F32 else v for name, v in node.attributes.items()}
            if node.constant is not None and node.outputs[0].element_type is F32:
                _halve(node)
            changed(node)


def _halve(constant: graph.Node) -> None:
    """Convert a constant to f16 in place; values beyond the range become the largest finite number."""
    largest = np.finfo(np.float16).max
    assert constant.constant is not None
    constant.constant = np.clip(constant.constant, -largest, largest).astype(F16.dtype)
