"""Hints: goals of a user, which a device is free to implement in its own way."""

from __future__ import annotations

from numbers import Integral, Real

from irexec.api.openvino.properties.known import (
    ExecutionMode,
    ModelDistributionPolicy,
    PerformanceMode,
    Priority,
    SchedulingCoreType,
)
from irexec.api.openvino.properties.names import Property
from irexec.core.types import ElementType

activations_scale_factor = Property("ACTIVATIONS_SCALE_FACTOR", Real)
allow_auto_batching = Property("ALLOW_AUTO_BATCHING", bool)
compiled_blob = Property("COMPILED_BLOB")
dynamic_quantization_group_size = Property("DYNAMIC_QUANTIZATION_GROUP_SIZE", Integral)
enable_cpu_pinning = Property("ENABLE_CPU_PINNING", bool)
enable_cpu_reservation = Property("ENABLE_CPU_RESERVATION", bool)
enable_hyper_threading = Property("ENABLE_HYPER_THREADING", bool)
execution_mode = Property("EXECUTION_MODE_HINT", ExecutionMode)
inference_precision = Property("INFERENCE_PRECISION_HINT", ElementType)
kv_cache_precision = Property("KV_CACHE_PRECISION", ElementType)
model = Property("MODEL_PTR")
model_distribution_policy = Property("MODEL_DISTRIBUTION_POLICY", set, frozenset)
model_priority = Property("MODEL_PRIORITY", Priority)
num_requests = Property("PERFORMANCE_HINT_NUM_REQUESTS", Integral)
performance_mode = Property("PERFORMANCE_HINT", PerformanceMode)
scheduling_core_type = Property("SCHEDULING_CORE_TYPE", SchedulingCoreType)

__all__ = ["ExecutionMode", "ModelDistributionPolicy", "PerformanceMode", "Priority", "SchedulingCoreType"]
