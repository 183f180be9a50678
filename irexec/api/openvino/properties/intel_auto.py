"""The names of properties of OpenVINO's AUTO device, which irexec does not have."""

from __future__ import annotations

from irexec.api.openvino.members import Members, member
from irexec.api.openvino.properties.names import Property

device_bind_buffer = Property("DEVICE_BIND_BUFFER", bool)
devices_utilization_threshold = Property("DEVICES_UTILIZATION_THRESHOLD")
enable_runtime_fallback = Property("ENABLE_RUNTIME_FALLBACK", bool)
enable_startup_fallback = Property("ENABLE_STARTUP_FALLBACK", bool)
low_power_device = Property("LOW_POWER_DEVICE")
perf_curve_table = Property("PERF_CURVE_TABLE")
schedule_policy = Property("SCHEDULE_POLICY")


class SchedulePolicy(Members):
    ROUND_ROBIN = member(0)
    DEVICE_PRIORITY = member(1)
    DEFAULT = member(1)
