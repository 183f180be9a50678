"""The steps that a caller can request, before the model and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from irexec.api.openvino.layout import Layout, as_layout
from irexec.api.openvino.preprocess.colors import convert_colors, reverse_channels
from irexec.api.openvino.preprocess.flow import Flow, Step, convert_layout, convert_type, ops
from irexec.api.openvino.preprocess.formats import ColorFormat, PaddingMode, ResizeAlgorithm
from irexec.core.arguments import expected
from irexec.core.types import DYNAMIC, ElementType
from irexec.model.graph.model import Value

_MODES = {
    ResizeAlgorithm.RESIZE_LINEAR: "linear",
    ResizeAlgorithm.RESIZE_CUBIC: "cubic",
    ResizeAlgorithm.RESIZE_NEAREST: "nearest",
    ResizeAlgorithm.RESIZE_BILINEAR_PILLOW: "bilinear_pillow",
    ResizeAlgorithm.RESIZE_BICUBIC_PILLOW: "bicubic_pillow",
}


class _Steps:
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def _add(self, text: str, apply: Callable[[Flow], None], target: Layout | list[int] | None = None) -> Self:
        self.steps.append(Step(text, apply, target))
        return self

    def convert_element_type(self, type: ElementType | None = None) -> Self:
        """Convert to an element type, by default that of the model's input or of the caller's output tensor."""
        kind = None if type is None or type is DYNAMIC else type
        return self._add(f"convert type ({kind or DYNAMIC})", lambda flow: convert_type(flow, kind))

    def convert_layout(self, dst_layout: Any = None, *, dims: Sequence[int] | None = None) -> Self:
        """Transpose to a layout, or by an order of axes. Raises TypeError without either."""
        dst_layout = dst_layout if dims is None else list(dims)
        if dst_layout is None:
            raise TypeError(
                "convert_layout(): incompatible function arguments: give a layout, such as 'NCHW', or an order of "
                "axes, such as dims=[0, 3, 1, 2]"
            )
        if isinstance(dst_layout, (list, tuple)):
            order = [int(axis) for axis in dst_layout]
            return self._add(
                f"convert layout ({_joined(order)})", lambda flow: convert_layout(flow, None, order), order
            )
        layout = as_layout(dst_layout)
        return self._add(f"convert layout {layout}", lambda flow: convert_layout(flow, layout), layout)

    def custom(self, operation: Callable[[Value], Any]) -> Self:
        """Replace the value by the result of a function of it. Raises TypeError for an object that is not callable."""
        if not callable(operation):
            raise TypeError(f"custom(): incompatible function arguments: {operation!r} is not a function")
        return self._add("custom", lambda flow: flow.become(operation(flow.value)))


class PostProcessSteps(_Steps):
    """Steps after an output of the model."""


class PreProcessSteps(_Steps):
    """Steps before an input of the model."""

    def mean(self, value: float | Sequence[float] = (), *, values: Sequence[float] | None = None) -> PreProcessSteps:
        """Subtract a number, or one per channel."""
        value = _numbers(value if values is None else values, "mean()")
        return self._add(f"mean {_shown(value)}", lambda flow: _per_channel(flow, ops().subtract, value, "mean"))

    def scale(self, value: float | Sequence[float] = (), *, values: Sequence[float] | None = None) -> PreProcessSteps:
        """Divide by a number, or by one per channel."""
        value = _numbers(value if values is None else values, "scale()")
        return self._add(f"scale {_shown(value)}", lambda flow: _per_channel(flow, ops().divide, value, "scale"))

    def resize(
        self, alg: ResizeAlgorithm, dst_height: int | None = None, dst_width: int | None = None
    ) -> PreProcessSteps:
        """Resize the image, by default to the model's size."""
        size = None if dst_height is None or dst_width is None else (dst_height, dst_width)
        text = "resize to model width/height" if size is None else f"resize to ({size[0]}, {size[1]})"
        return self._add(text, lambda flow: _resize(flow, alg, size))

    def crop(self, begin: Sequence[int], end: Sequence[int]) -> PreProcessSteps:
        """Keep the part between these positions; negative ones count from the back."""
        first, last, axes = list(begin), list(end), list(range(len(begin)))
        return self._add(
            f"Crop ([ {_joined(first, ', ')} ],[ {_joined(last, ', ')} ])",
            lambda flow: flow.become(ops().slice(flow.value, first, last, [1] * len(axes), axes)),
        )

    def pad(self, pads_begin: Sequence[int], pads_end: Sequence[int], value: Any, mode: PaddingMode) -> PreProcessSteps:
        """Add elements around the image: `pads_begin` and `pads_end` contain a number for each axis."""
        fill = float(value[0]) if isinstance(value, (list, tuple)) and value else float(value)
        name = expected(mode, PaddingMode, "pad()").name.lower()

        def apply(flow: Flow) -> None:
            constant = np.array(fill, _real(flow, "pad").dtype)
            flow.become(ops().pad(flow.value, list(pads_begin), list(pads_end), name, constant))

        ways = {"constant": f"with ({fill:g})", "reflect": "reflected from tensor"}
        source = ways.get(name, "symmetrically added from tensor")
        return self._add(f"pad(begin ({_joined(pads_begin)}), end ({_joined(pads_end)}), {source})", apply)

    def reverse_channels(self) -> PreProcessSteps:
        """Reverse the order of the channels, as from RGB to BGR."""
        return self._add("reverse channels", reverse_channels)

    def convert_color(self, dst_format: ColorFormat) -> PreProcessSteps:
        """Convert to another colour format."""
        name = expected(dst_format, ColorFormat, "convert_color()").name
        return self._add(f"convert color ({name})", lambda flow: convert_colors(flow, dst_format))


def _numbers(value: Any, function: str) -> Any:
    """Return a number or a list of numbers. Raises TypeError for other objects."""
    for each in [value] if isinstance(value, str) or not isinstance(value, Iterable) else value:
        expected(each, (int, float, np.number), function)
    return value


def _joined(numbers: Iterable[int], separator: str = ",") -> str:
    return separator.join(map(str, numbers))


def _shown(value: Any) -> str:
    values = [value] if isinstance(value, (int, float)) else list(value)
    return f"({','.join(f'{float(v):g}' for v in values)})"


def _real(flow: Flow, what: str) -> ElementType:
    """Return the element type. Raises RuntimeError for an integer type, as OpenVINO does."""
    kind: ElementType = flow.value.element_type
    if not kind.is_real:
        raise RuntimeError(f"{what} of {kind}: convert_element_type to a float type comes first")
    return kind


def _per_channel(flow: Flow, operation: Callable[..., Any], value: Any, what: str) -> None:
    kind = _real(flow, what)
    if not isinstance(value, (int, float)) and len(value) == 1:
        value = value[0]
    if isinstance(value, (int, float)):
        flow.become(operation(flow.value, np.array(value, kind.dtype)))
        return
    rank = flow.value.type.rank
    if not flow.layout.has_name("C") or rank is None:
        raise RuntimeError(f"{what} per channel needs a layout with C; the layout is {flow.layout}")
    shape = [1] * rank
    shape[flow.layout.get_index_by_name("C")] = len(value)
    flow.become(operation(flow.value, np.array(value, kind.dtype).reshape(shape)))


def _resize(flow: Flow, algorithm: ResizeAlgorithm, size: tuple[int, int] | None) -> None:
    layout: Layout = flow.layout
    if not (layout.has_name("H") and layout.has_name("W")):
        raise RuntimeError(f"resize needs a layout with H and W; the layout is {layout}")
    wanted = size or flow.wanted_size
    if wanted is None or any(getattr(extent, "is_dynamic", False) for extent in wanted):
        raise RuntimeError("resize: the model's height and width are not known; give them")
    axes = [layout.get_index_by_name("H"), layout.get_index_by_name("W")]
    sizes = [int(extent) for extent in wanted]
    pads = [0] * (flow.value.type.rank or 1)
    # In this mode OpenVINO's device uses Pillow's coefficient, whatever the value of the attribute is.
    coefficient = {"cube_coeff": -0.5} if algorithm is ResizeAlgorithm.RESIZE_BICUBIC_PILLOW else {}
    flow.become(
        ops().interpolate(
            flow.value, sizes, _MODES[algorithm], "sizes", pads_begin=pads, pads_end=pads, axes=axes, **coefficient
        )
    )
