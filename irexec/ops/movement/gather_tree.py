"""GatherTree: reconstructs complete beams from the tokens of each step and their parent beams.

Source: operation page GatherTree-1.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.rules.axes import drawn_below
from irexec.ops.rules.shapes import has_rank, same_shape
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import NumericTensor


@operator("GatherTree", "opset1")
def gather_tree_1(
    step_ids: NumericTensor, parent_ids: NumericTensor, max_seq_len: NumericTensor, end_token: NumericTensor, /
) -> NumericTensor:
    """Follow `parent_ids` [time, batch, beam] back from max_seq_len [batch], collect `step_ids`, pad with `end_token`.

    Raises ConstraintError C1 to C4 for ranks and shapes (see the shape rule), C5 for a parent outside [0, beams - 1]
    that is followed.
    """
    times, batches, beams = step_ids.shape
    parents = parent_ids.astype(np.intp)
    lengths = np.minimum(max_seq_len.astype(np.intp), times)
    end = end_token.reshape(())
    result = np.full(step_ids.shape, end, step_ids.dtype)
    batch = np.arange(batches)[:, None]
    beam = np.broadcast_to(np.arange(beams), (batches, beams)).copy()
    for time in range(times - 1, -1, -1):
        alive = (time < lengths)[:, None]
        result[time] = np.where(alive, step_ids[time][batch, beam], end)
        beam = np.where(alive & (time > 0), parents[time][batch, beam], beam)
        valid = ((beam >= 0) & (beam < beams)).all()
        require("C5", valid, f"a parent id at time {time} is outside [0, {beams - 1}]", port="parent_ids")
    # After its first end token a beam contains only end tokens.
    ended = np.cumsum(result == end, axis=0) > 0
    return np.where(ended, end, result)


@gather_tree_1.shapes
def _(
    check: Check, step_ids: TensorType, parent_ids: TensorType, max_seq_len: TensorType, end_token: TensorType
) -> PartialShape:
    """Check C1: step_ids has rank 3.

    C2: parent_ids has the same shape. C3: max_seq_len has shape [batch]. C4: end_token is a scalar.
    """
    has_rank(check, "C1", step_ids, 3, "step_ids")
    has_rank(check, "C2", parent_ids, 3, "parent_ids")
    shape = same_shape(check, "C2", step_ids.shape, parent_ids.shape, "parent_ids")
    has_rank(check, "C4", end_token, 0, "end_token")
    if has_rank(check, "C3", max_seq_len, 1, "max_seq_len") and shape.rank == 3:
        batch = same_shape(check, "C3", shape[1:2], max_seq_len.shape, "max_seq_len")
        return shape.with_dim(1, batch[0])
    return shape if shape.rank == 3 else PartialShape.dynamic(3)


@gather_tree_1.oracle.draw("parent_ids", "max_seq_len")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    times, _, beams = types["step_ids"].shape.to_shape()
    if port == "parent_ids":
        return drawn_below(rng, types, port, beams)
    return drawn_below(rng, types, port, times) + np.ones((), types[port].element_type.dtype)


@gather_tree_1.oracle.undefined_for
def _(*inputs: Array) -> Undefined:
    """The result is undefined for step ids and positions that are not integers, and for a negative length."""
    return any(bool((a != np.rint(a)).any()) for a in inputs) or bool((inputs[2] < 0).any())


gather_tree_1.oracle.allowed = Allowed(special=False, composes=False)
