"""The names of properties of OpenVINO's GPU device, which irexec does not have."""

from __future__ import annotations

from irexec.api.openvino.properties.intel_gpu import hint
from irexec.api.openvino.properties.names import Property, ReadOnly

device_max_alloc_mem_size = ReadOnly("GPU_DEVICE_MAX_ALLOC_MEM_SIZE")
device_total_mem_size = ReadOnly("GPU_DEVICE_TOTAL_MEM_SIZE")
disable_winograd_convolution = Property("GPU_DISABLE_WINOGRAD_CONVOLUTION")
enable_loop_unrolling = Property("GPU_ENABLE_LOOP_UNROLLING")
execution_units_count = ReadOnly("GPU_EXECUTION_UNITS_COUNT")
memory_statistics = ReadOnly("GPU_MEMORY_STATISTICS")
uarch_version = ReadOnly("GPU_UARCH_VERSION")


class CapabilityGPU:
    """Capabilities of a GPU."""

    HW_MATMUL = "GPU_HW_MATMUL"
    USM_MEMORY = "GPU_USM_MEMORY"


class MemoryType:
    """Kinds of memory of a remote tensor."""

    buffer = "GPU_BUFFER"
    surface = "GPU_SURFACE"


__all__ = ["CapabilityGPU", "MemoryType", "hint"]
