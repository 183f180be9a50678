"""The usual axes of a layout, and the layouts of ports."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.layout import Layout, give_layout, layout_of
from irexec.core.arguments import expected
from irexec.model.graph.model import Value


def get_layout(port: Any) -> Layout:
    """Return the layout of a port's Parameter or Result."""
    return layout_of(expected(port, Value, "get_layout()").node)


def set_layout(port: Any, layout: Layout) -> None:
    """Set the layout of a port's Parameter or Result."""
    give_layout(expected(port, Value, "set_layout()").node, layout)


def has_batch(layout: Layout) -> bool:
    return expected(layout, Layout, "has_batch()").has_name("N")


def has_channels(layout: Layout) -> bool:
    return expected(layout, Layout, "has_channels()").has_name("C")


def has_depth(layout: Layout) -> bool:
    return expected(layout, Layout, "has_depth()").has_name("D")


def has_height(layout: Layout) -> bool:
    return expected(layout, Layout, "has_height()").has_name("H")


def has_width(layout: Layout) -> bool:
    return expected(layout, Layout, "has_width()").has_name("W")


def batch_idx(layout: Layout) -> int:
    return expected(layout, Layout, "batch_idx()").get_index_by_name("N")


def channels_idx(layout: Layout) -> int:
    return expected(layout, Layout, "channels_idx()").get_index_by_name("C")


def depth_idx(layout: Layout) -> int:
    return expected(layout, Layout, "depth_idx()").get_index_by_name("D")


def height_idx(layout: Layout) -> int:
    return expected(layout, Layout, "height_idx()").get_index_by_name("H")


def width_idx(layout: Layout) -> int:
    return expected(layout, Layout, "width_idx()").get_index_by_name("W")
