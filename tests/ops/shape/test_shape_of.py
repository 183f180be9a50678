"""ShapeOf-1 and -3."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import infer, run, tensor

from irexec.core.types import F32, I32

reshape, unsqueeze = the("Reshape", 1), the("Unsqueeze", 1)

squeeze_1, squeeze_15 = the("Squeeze", 1), the("Squeeze", 15)

shape_1, shape_3 = the("ShapeOf", 1), the("ShapeOf", 3)


def test_shape_of() -> None:
    assert run(shape_1, np.ones((2, 0)))[0].dtype == np.int64
    (result,) = run(shape_3, np.ones((2, 0)), output_type="i32")
    assert (result.tolist(), result.dtype) == ([2, 0], np.dtype(np.int32))
    assert run(shape_1, np.array(1.0))[0].shape == (0,)
    (known,), _ = infer(shape_3, [tensor(F32, "2,3")], output_type="i32")
    assert known.element_type is I32 and known.value is not None and known.value.dtype == np.int32
    (known,), _ = infer(shape_1, [tensor(F32, "?,3,1..4")])
    assert [str(v) for v in known.known or []] == ["?", "3", "1..4"]
    (known,), _ = infer(shape_1, [tensor(F32, "...")])
    assert str(known) == "i64[?]" and known.known is None
    _, problems = shape_3.parse_attributes({"output_type": "f32"})
    assert [p.code for p in problems] == ["D005"]
