"""Memory of other devices, which irexec does not have."""

from __future__ import annotations

from irexec.api.openvino.exceptions import missing

_NEAREST = "tensors are NumPy arrays: Tensor(array, shared_memory=True)"

RemoteContext = missing("RemoteContext", "remote contexts", _NEAREST)
RemoteTensor = missing("RemoteTensor", "remote tensors", _NEAREST)
VAContext = missing("VAContext", "remote contexts", _NEAREST)
VASurfaceTensor = missing("VASurfaceTensor", "remote tensors", _NEAREST)
