"""Deviations: sizes that OpenVINO does not treat as an operator's page specifies. irexec follows the page."""

from __future__ import annotations

from irexec.core.records import record


@record(frozen=True)
class Deviation:
    """OpenVINO's treatment of the sizes of a layer. `text` completes a sentence that begins with the layer's name.

    Without a flag, OpenVINO refuses sizes that the page allows. `accepts`: it accepts sizes that the page does not
    allow. `resizes`: the outputs have other sizes, so that later layers may accept or refuse any sizes.
    """

    text: str
    accepts: bool = False
    resizes: bool = False
