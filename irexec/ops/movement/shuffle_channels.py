"""ShuffleChannels: the channels of groups interleaved.

Source: operation page ShuffleChannels-1.
"""

from __future__ import annotations

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.rules.axes import into, regrouped
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.tensors import AnyTensor


@operator("ShuffleChannels", "opset1")
def shuffle_channels_1(
    data: AnyTensor, /, *, axis: int = 1, group: Positive = 1, out: Array | None = None
) -> AnyTensor:
    """`data` with dimension `axis` split into [group, channels per group], transposed and joined.

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1], C2 when `group` does not divide the dimension.
    Shape rule: C3 data is not a scalar.
    """
    at = axis % data.ndim
    each = data.shape[at] // group
    if not data.size:  # A group may have more channels than NumPy can count.
        return into(data, out, data)
    parts = data.reshape(*data.shape[:at], group, each, *data.shape[at + 1 :])
    order = [*range(at), at + 1, at, *range(at + 2, parts.ndim)]
    return regrouped(parts, order, data.shape, out, data)


@shuffle_channels_1.shapes
def _(check: Check, data: TensorType, *, axis: int, group: int) -> PartialShape:
    if check("C3", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data"):
        at = axis_in(check, "C1", axis, data.rank, attribute="axis")
        channels = None if at is None else data.shape[at]
        fits = channels is None or channels.is_dynamic or channels.value % group == 0
        message = f"group {group} does not divide the {channels} channels of dimension {at}"
        check("C2", fits, message, port="data", attribute="group")
    return data.shape
