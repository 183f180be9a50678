"""Properties of devices."""

from __future__ import annotations

from typing import NamedTuple

from irexec.api.openvino.properties.known import Type
from irexec.api.openvino.properties.names import Joined, Property, ReadOnly

architecture = ReadOnly("DEVICE_ARCHITECTURE")
capabilities = ReadOnly("OPTIMIZATION_CAPABILITIES")
full_name = ReadOnly("FULL_DEVICE_NAME")
gops = ReadOnly("DEVICE_GOPS")
id = Property("DEVICE_ID", str)
luid = ReadOnly("DEVICE_LUID")
pci_info = ReadOnly("DEVICE_PCI_INFO")
properties = Property("DEVICE_PROPERTIES")
thermal = ReadOnly("DEVICE_THERMAL")
type = ReadOnly("DEVICE_TYPE")
uuid = ReadOnly("DEVICE_UUID")


class PCIInfo(NamedTuple):
    """The address of a device on the bus."""

    domain: int
    bus: int
    device: int
    function: int


class Priorities(Joined):
    """The devices that AUTO prefers, in this order."""


priorities = Priorities("MULTI_DEVICE_PRIORITIES")


class Capability:
    """Capabilities of a device: items of `capabilities`."""

    BF16 = "BF16"
    BIN = "BIN"
    EXPORT_IMPORT = "EXPORT_IMPORT"
    FP16 = "FP16"
    FP32 = "FP32"
    INT16 = "INT16"
    INT8 = "INT8"
    WINOGRAD = "WINOGRAD"


__all__ = ["Capability", "PCIInfo", "Priorities", "Type"]
