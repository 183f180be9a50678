"""Properties of OpenVINO's CPU device."""

from __future__ import annotations

from numbers import Real

from irexec.api.openvino.members import Members, member
from irexec.api.openvino.properties.names import Property

denormals_optimization = Property("CPU_DENORMALS_OPTIMIZATION", bool)
sparse_weights_decompression_rate = Property("CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", Real)
tbb_partitioner = Property("TBB_PARTITIONER")


class TbbPartitioner(Members):
    STATIC = member(1)
    AUTO = member(2)
