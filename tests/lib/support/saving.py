"""A small model, and a round trip through files: written, read, and written again."""

from __future__ import annotations

from pathlib import Path

import irexec


def relu_model(name: str = "x") -> irexec.Model:
    x = irexec.opset15.parameter([2, 3], "f32", name=name)
    return irexec.Model([irexec.opset15.relu(x, name="relu")], [x], "small")


def saved(model: irexec.Model, folder: Path) -> irexec.Model:
    """Return the model after writing and reading; check that writing it again gives the same bytes."""
    irexec.save_model(model, folder / "first.xml")
    again = irexec.read_model(folder / "first.xml")
    irexec.save_model(again, folder / "second.xml")
    assert (folder / "first.xml").read_bytes() == (folder / "second.xml").read_bytes()
    assert (folder / "first.bin").read_bytes() == (folder / "second.bin").read_bytes()
    return again
