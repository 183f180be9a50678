"""Layout: the meaning of a tensor's axes; `layout_helpers` looks up the usual ones."""

from __future__ import annotations

from irexec.core.arguments import expected
from irexec.core.types import PartialShape
from irexec.model.graph.model import Node
from irexec.model.graph.runtime_info import RuntimeAttribute

# The key of a layout in a node's rt_info, and in a file.
_KEY = "layout_0"
_WORDS = {"BATCH": "N", "CHANNELS": "C", "HEIGHT": "H", "WIDTH": "W", "DEPTH": "D"}
_SCALAR = "**SCALAR**"


def _axis(name: object, function: str) -> str:
    """Return the letter of an axis, given by its letter or word. Raises TypeError."""
    upper = expected(name, str, function).upper()
    return _WORDS.get(upper, upper)


class Layout:
    """Names for axes: `NCHW`, `[N,C,H,W]`, `NC?`, `N...C`; `...` stands for any number of axes."""

    def __init__(self, layout_str: str = "...") -> None:
        text = expected(layout_str, str, "Layout()").strip()
        if text == _SCALAR:
            self.names: tuple[str, ...] | None = None
            return
        inner = text[1:-1] if text.startswith("[") and text.endswith("]") else None
        if inner is not None:
            words = [word.strip() for word in inner.split(",")] if inner.strip() else []
            if "" in words:
                raise RuntimeError(f"the layout {text!r} has an empty name")
        else:
            words = []
            rest = text or "..."
            while rest:
                words.append("..." if rest.startswith("...") else rest[0])
                rest = rest[len(words[-1]) :]
        self.names = tuple(_WORDS.get(word.upper(), word.upper()) for word in words)
        known = [name for name in self.names if name not in ("?", "...")]
        if len(set(known)) != len(known) or self.names.count("...") > 1:
            raise RuntimeError(f"the layout {text!r} names an axis twice")
        if not all(name.replace("_", "").isalnum() for name in known):
            raise RuntimeError(f"the layout {text!r} has a name with characters other than letters and digits")

    @staticmethod
    def scalar() -> Layout:
        """Return the layout of a tensor without axes."""
        return Layout(_SCALAR)

    @property
    def empty(self) -> bool:
        """Whether the layout names no axis."""
        return self.names == ("...",)

    def has_name(self, dimension_name: str) -> bool:
        """Return whether an axis has this name."""
        return self.names is not None and _axis(dimension_name, "has_name()") in self.names

    def get_index_by_name(self, dimension_name: str) -> int:
        """Return the axis of a name, counted from the back if `...` precedes it. Raises RuntimeError if there is
        none."""
        wanted = _axis(dimension_name, "get_index_by_name()")
        if self.names is None or wanted not in self.names:
            raise RuntimeError(f"{dimension_name!r} is not in the layout {self}")
        index = self.names.index(wanted)
        return index - len(self.names) if "..." in self.names[:index] else index

    def to_string(self) -> str:
        """Return the layout as text, such as [N,C,H,W]."""
        return _SCALAR if self.names is None else f"[{','.join(self.names)}]"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            other = Layout(other)
        return isinstance(other, Layout) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<Layout: {self}>"


def as_layout(given: Layout | str) -> Layout:
    """Return a layout unchanged, or created from a text."""
    return given if isinstance(given, Layout) else Layout(given)


def layout_of(node: Node) -> Layout:
    """Return the layout of a Parameter or Result, an empty one if none was set."""
    kept = node.rt_info.get(_KEY)
    return Layout(kept.payload["layout"]) if isinstance(kept, RuntimeAttribute) else Layout()


def check_fit(layout: Layout, shape: PartialShape) -> None:
    """Raise RuntimeError if a layout has another number of axes than a shape."""
    names = layout.names or ()
    fewest = len(names) - ("..." in names)
    if shape.rank is not None and (shape.rank < fewest if "..." in names else shape.rank != fewest):
        raise RuntimeError(f"the layout {layout} does not fit the shape {shape}")


def give_layout(node: Node, layout: Layout | str) -> None:
    """Set the layout of a Parameter or Result; it is saved in files. Raises RuntimeError if it does not fit."""
    check_fit(as_layout(layout), node.outputs[0].type.shape)
    if as_layout(layout).empty:
        node.rt_info.pop(_KEY, None)
    else:
        node.rt_info[_KEY] = RuntimeAttribute("layout", "0", {"layout": str(as_layout(layout))})
