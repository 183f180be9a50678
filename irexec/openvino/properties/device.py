"""Properties of devices."""

from __future__ import annotations

from irexec.openvino.properties.known import DeviceType as Type
from irexec.openvino.properties.names import Property, ReadOnly

architecture = ReadOnly("DEVICE_ARCHITECTURE")
capabilities = ReadOnly("OPTIMIZATION_CAPABILITIES")
full_name = ReadOnly("FULL_DEVICE_NAME")
gops = ReadOnly("DEVICE_GOPS")
id = Property("DEVICE_ID")
luid = ReadOnly("DEVICE_LUID")
pci_info = ReadOnly("DEVICE_PCI_INFO")
priorities = Property("MULTI_DEVICE_PRIORITIES")
properties = Property("DEVICE_PROPERTIES")
thermal = ReadOnly("DEVICE_THERMAL")
type = ReadOnly("DEVICE_TYPE")
uuid = ReadOnly("DEVICE_UUID")

__all__ = ["Type"]
