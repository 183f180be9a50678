"""The known properties: their names, their initial values, and whether they can be set."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any, NamedTuple

from irexec.api.openvino.members import Members, member
from irexec.core.types import BF16, DYNAMIC, F16, F32

try:
    _THREADS = len(os.sched_getaffinity(0))
except AttributeError:  # on a system without this function
    _THREADS = os.cpu_count() or 1


class PerformanceMode(Members):
    LATENCY = member(1)
    THROUGHPUT = member(2)
    CUMULATIVE_THROUGHPUT = member(3)


class ExecutionMode(Members):
    PERFORMANCE = member(1)
    ACCURACY = member(2)


class Priority(Members):
    LOW = member(0)
    MEDIUM = member(1)
    HIGH = member(2)
    DEFAULT = member(1)


class SchedulingCoreType(Members):
    ANY_CORE = member(0)
    PCORE_ONLY = member(1)
    ECORE_ONLY = member(2)


class ModelDistributionPolicy(Members):
    TENSOR_PARALLEL = member(0)
    PIPELINE_PARALLEL = member(1)


class Type(Members):
    INTEGRATED = member(0)
    DISCRETE = member(1)


class Level(Members):
    NO = member(-1)
    ERR = member(0)
    WARNING = member(1)
    INFO = member(2)
    DEBUG = member(3)
    TRACE = member(4)


class CacheMode(Members):
    OPTIMIZE_SIZE = member(0)
    OPTIMIZE_SPEED = member(1)


class CompatibilityCheck(Members):
    NOT_APPLICABLE = member(0)
    SUPPORTED = member(1)
    UNSUPPORTED = member(2)


class WorkloadType(Members):
    DEFAULT = member(0)
    EFFICIENT = member(1)


class Known(NamedTuple):
    """A property: its initial value, and whether it can be set.

    Only PERF_COUNT and EXECUTION_MODE_HINT have an effect; other values are stored and returned, as OpenVINO allows
    for hints.
    """

    value: Any
    writable: bool = True


# Properties of the device, before and after a model is compiled: those of OpenVINO's CPU device. irexec runs one layer
# after the other with threads inside a layer, in exactly the precision of the file.
DEVICE: dict[str, Known] = {
    "AVAILABLE_DEVICES": Known([""], False),
    "RANGE_FOR_ASYNC_INFER_REQUESTS": Known((1, 1, 1), False),
    "RANGE_FOR_STREAMS": Known((1, _THREADS), False),
    "EXECUTION_DEVICES": Known(["CPU"], False),
    "FULL_DEVICE_NAME": Known(platform.processor() or platform.machine() or "CPU", False),
    "OPTIMIZATION_CAPABILITIES": Known(["FP32", "FP16", "BF16", "INT8", "BIN", "EXPORT_IMPORT"], False),
    "DEVICE_TYPE": Known(Type.INTEGRATED, False),
    "DEVICE_ARCHITECTURE": Known(platform.machine(), False),
    "NUM_STREAMS": Known(1),
    "INFERENCE_NUM_THREADS": Known(0),
    "PERF_COUNT": Known(False),
    "INFERENCE_PRECISION_HINT": Known(DYNAMIC),
    "PERFORMANCE_HINT": Known(PerformanceMode.LATENCY),
    "PERFORMANCE_HINT_NUM_REQUESTS": Known(0),
    "EXECUTION_MODE_HINT": Known(ExecutionMode.ACCURACY),
    "ENABLE_CPU_PINNING": Known(True),
    "ENABLE_CPU_RESERVATION": Known(False),
    "ENABLE_HYPER_THREADING": Known(True),
    "SCHEDULING_CORE_TYPE": Known(SchedulingCoreType.ANY_CORE),
    "MODEL_DISTRIBUTION_POLICY": Known(set()),
    "DEVICE_ID": Known(""),
    "CPU_DENORMALS_OPTIMIZATION": Known(False),
    "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE": Known(1.0),
    "LOG_LEVEL": Known(Level.NO),
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": Known(0),
    "KV_CACHE_PRECISION": Known(F32),
    "KEY_CACHE_PRECISION": Known(F32),
    "VALUE_CACHE_PRECISION": Known(F32),
    "KEY_CACHE_GROUP_SIZE": Known(0),
    "VALUE_CACHE_GROUP_SIZE": Known(0),
    "ENABLE_TENSOR_PARALLEL": Known(False),
    "ENABLE_WEIGHTLESS": Known(False),
    "WEIGHTS_PATH": Known(""),
}
# Properties of OpenVINO's Core that its CPU device accepts, but does not list among its own.
OF_CORE: dict[str, Known] = {
    "ENABLE_MMAP": Known(True),
    "CACHE_DIR": Known(""),
    "CACHE_ENCRYPTION_CALLBACKS": Known([]),
    "CACHE_MODE": Known(CacheMode.OPTIMIZE_SPEED),
    "ALLOW_AUTO_BATCHING": Known(True),
    "AUTO_BATCH_TIMEOUT": Known("1000"),
    "FORCE_TBB_TERMINATE": Known(False),
}
# Additional properties of a compiled model.
COMPILED: dict[str, Known] = DEVICE | {
    "NETWORK_NAME": Known("", False),
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS": Known(_THREADS, False),
    "LOADED_FROM_CACHE": Known(False, False),
}
# The allowed values of properties whose type also has other values.
ALLOWED: dict[str, Callable[[Any], bool]] = {
    "INFERENCE_PRECISION_HINT": (DYNAMIC, F32, F16, BF16).__contains__,
    "NUM_STREAMS": lambda number: number in ("AUTO", "NUMA") or number >= -2,
    "INFERENCE_NUM_THREADS": lambda number: number >= 0,
    "PERFORMANCE_HINT_NUM_REQUESTS": lambda number: number >= 0,
    "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE": lambda rate: 0 <= rate <= 1,
    "CACHE_ENCRYPTION_CALLBACKS": lambda pair: len(pair) == 2 and all(map(callable, pair)),
}
