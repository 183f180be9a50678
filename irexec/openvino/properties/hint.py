"""Hints: goals of a user, which a device is free to implement in its own way."""

from __future__ import annotations

from irexec.openvino.properties.known import (
    ExecutionMode,
    ModelDistributionPolicy,
    PerformanceMode,
    Priority,
    SchedulingCoreType,
)
from irexec.openvino.properties.names import Property

activations_scale_factor = Property("ACTIVATIONS_SCALE_FACTOR")
allow_auto_batching = Property("ALLOW_AUTO_BATCHING")
compiled_blob = Property("COMPILED_BLOB")
dynamic_quantization_group_size = Property("DYNAMIC_QUANTIZATION_GROUP_SIZE")
enable_cpu_pinning = Property("ENABLE_CPU_PINNING")
enable_cpu_reservation = Property("ENABLE_CPU_RESERVATION")
enable_hyper_threading = Property("ENABLE_HYPER_THREADING")
execution_mode = Property("EXECUTION_MODE_HINT")
inference_precision = Property("INFERENCE_PRECISION_HINT")
kv_cache_precision = Property("KV_CACHE_PRECISION")
model = Property("MODEL_PTR")
model_distribution_policy = Property("MODEL_DISTRIBUTION_POLICY")
model_priority = Property("MODEL_PRIORITY")
num_requests = Property("PERFORMANCE_HINT_NUM_REQUESTS")
performance_mode = Property("PERFORMANCE_HINT")
scheduling_core_type = Property("SCHEDULING_CORE_TYPE")

__all__ = ["ExecutionMode", "ModelDistributionPolicy", "PerformanceMode", "Priority", "SchedulingCoreType"]
