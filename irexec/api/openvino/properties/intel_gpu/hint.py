"""The names and values of hints for OpenVINO's GPU device, which irexec does not have."""

from __future__ import annotations

from irexec.api.openvino.properties.known import Priority
from irexec.api.openvino.properties.names import Property

available_device_mem = Property("AVAILABLE_DEVICE_MEM_SIZE")
enable_large_allocations = Property("GPU_ENABLE_LARGE_ALLOCATIONS")
enable_lora_operation = Property("GPU_ENABLE_LORA_OPERATION")
host_task_priority = Property("GPU_HOST_TASK_PRIORITY")
queue_priority = Property("GPU_QUEUE_PRIORITY")
queue_throttle = Property("GPU_QUEUE_THROTTLE")


class ThrottleLevel:
    """The throttling of a device: priorities under other names."""

    LOW = Priority.LOW
    MEDIUM = Priority.MEDIUM
    HIGH = Priority.HIGH
    DEFAULT = Priority.DEFAULT
