"""The names and values of properties of OpenVINO's NPU device, which irexec does not have."""

from __future__ import annotations

from irexec.api.openvino.members import Members, member
from irexec.api.openvino.properties.names import Property, ReadOnly

bypass_umd_caching = Property("NPU_BYPASS_UMD_CACHING")
compilation_mode_params = Property("NPU_COMPILATION_MODE_PARAMS")
compiler_dynamic_quantization = Property("NPU_COMPILER_DYNAMIC_QUANTIZATION")
compiler_type = Property("NPU_COMPILER_TYPE")
compiler_version = ReadOnly("NPU_COMPILER_VERSION")
defer_weights_load = Property("NPU_DEFER_WEIGHTS_LOAD")
device_alloc_mem_size = ReadOnly("NPU_DEVICE_ALLOC_MEM_SIZE")
device_total_mem_size = ReadOnly("NPU_DEVICE_TOTAL_MEM_SIZE")
disable_idle_memory_prunning = Property("NPU_DISABLE_IDLE_MEMORY_PRUNING")
driver_version = ReadOnly("NPU_DRIVER_VERSION")
enable_strides_for = Property("NPU_ENABLE_STRIDES_FOR")
max_tiles = ReadOnly("NPU_MAX_TILES")
platform = Property("NPU_PLATFORM")
qdq_optimization = Property("NPU_QDQ_OPTIMIZATION")
qdq_optimization_aggressive = Property("NPU_QDQ_OPTIMIZATION_AGGRESSIVE")
run_inferences_sequentially = Property("NPU_RUN_INFERENCES_SEQUENTIALLY")
tiles = Property("NPU_TILES")
turbo = Property("NPU_TURBO")


class CompilerType(Members):
    PLUGIN = member(0)
    DRIVER = member(1)
    PREFER_PLUGIN = member(2)
