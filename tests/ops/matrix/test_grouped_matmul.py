"""GroupedMatMul in OpenVINO, which does not execute it."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.cases import the
from support.oracle import infer, layer_xml

from irexec.core.types import TensorType


def test_openvino_infers_the_same_shapes() -> None:
    """OpenVINO's CPU plugin and core do not execute it."""
    import openvino as ov

    shapes: list[Any] = [((2, 3, 4), (2, 5, 4)), ((6, 4), (2, 5, 4), (2,))]
    for shape in shapes:
        arrays = [np.zeros(s, np.float32) for s in shape[:2]] + [np.zeros(s, np.int64) for s in shape[2:]]
        inferred, _ = infer(the("GroupedMatMul", 17), [TensorType.of(a) for a in arrays] + [None] * (3 - len(arrays)))
        model = ov.Core().read_model(layer_xml(the("GroupedMatMul", 17), arrays, {}, inferred).encode(), b"")
        assert str(model.outputs[0].partial_shape) == str(inferred[0].shape)
