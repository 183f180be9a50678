"""The values of properties of OpenVINO's NPU device, which irexec does not have."""

from __future__ import annotations

from irexec.openvino.members import Members, member


class CompilerType(Members):
    PLUGIN = member(0)
    DRIVER = member(1)
    PREFER_PLUGIN = member(2)
