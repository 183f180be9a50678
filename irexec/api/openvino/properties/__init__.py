"""The names of properties: `properties.enable_profiling(True)`, `properties.hint.performance_mode`."""

from __future__ import annotations

from numbers import Integral

from irexec.api.openvino.properties import device, hint, intel_auto, intel_cpu, intel_gpu, intel_npu, log, streams
from irexec.api.openvino.properties.known import CacheMode, CompatibilityCheck, WorkloadType
from irexec.api.openvino.properties.names import Property, ReadOnly
from irexec.core.types import ElementType

auto_batch_timeout = Property("AUTO_BATCH_TIMEOUT", Integral)
available_devices = ReadOnly("AVAILABLE_DEVICES")
cache_dir = Property("CACHE_DIR", str)
cache_encryption_callbacks = Property("CACHE_ENCRYPTION_CALLBACKS")
cache_mode = Property("CACHE_MODE", CacheMode)
compatibility_check = ReadOnly("COMPATIBILITY_CHECK")
compilation_num_threads = Property("COMPILATION_NUM_THREADS", Integral)
enable_mmap = Property("ENABLE_MMAP", bool)
enable_profiling = Property("PERF_COUNT", bool)
enable_weightless = Property("ENABLE_WEIGHTLESS", bool)
execution_devices = ReadOnly("EXECUTION_DEVICES")
force_tbb_terminate = Property("FORCE_TBB_TERMINATE", bool)
inference_num_threads = Property("INFERENCE_NUM_THREADS", Integral)
key_cache_group_size = Property("KEY_CACHE_GROUP_SIZE", Integral)
key_cache_precision = Property("KEY_CACHE_PRECISION", ElementType)
loaded_from_cache = ReadOnly("LOADED_FROM_CACHE")
max_batch_size = ReadOnly("MAX_BATCH_SIZE")
model_name = ReadOnly("NETWORK_NAME")
num_streams = streams.Streams("NUM_STREAMS", streams.Num)
optimal_batch_size = ReadOnly("OPTIMAL_BATCH_SIZE")
optimal_number_of_infer_requests = ReadOnly("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
range_for_async_infer_requests = ReadOnly("RANGE_FOR_ASYNC_INFER_REQUESTS")
range_for_streams = ReadOnly("RANGE_FOR_STREAMS")
runtime_requirements = ReadOnly("RUNTIME_REQUIREMENTS")
supported_properties = ReadOnly("SUPPORTED_PROPERTIES")
value_cache_group_size = Property("VALUE_CACHE_GROUP_SIZE", Integral)
value_cache_precision = Property("VALUE_CACHE_PRECISION", ElementType)
weights_path = Property("WEIGHTS_PATH", str)
workload_type = Property("WORKLOAD_TYPE", WorkloadType)

__all__ = [
    "CacheMode", "CompatibilityCheck", "WorkloadType", "device", "hint", "intel_auto", "intel_cpu", "intel_gpu",
    "intel_npu", "log", "streams",
]  # fmt: skip
