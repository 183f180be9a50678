"""The node of another format from which a layer was made."""

from __future__ import annotations

from collections.abc import Collection

from irexec.core.diagnostics import LayerRef
from irexec.core.records import record


@record(frozen=True, eq=False)
class Origin:
    """The node of the file that a layer computes, perhaps together with other layers.

    `inputs`: for each input of the layer, the name of the node's input that it is; None if it is computed.
    `attributes`: the names of the node's attributes.
    """

    ref: LayerRef
    inputs: tuple[str | None, ...] = ()
    attributes: Collection[str] = ()
