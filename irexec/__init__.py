"""irexec: run, check and explain OpenVINO IR in plain Python.

The public names are imported when first used, so that `import irexec` stays cheap. `import irexec as ov` gives the
names of OpenVINO's Python API, too, `import irexec.opset13` and `from irexec.preprocess import ...` included.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from irexec.aliases import ModuleAliases, is_opset, opset_module, real_module
from irexec.environment import set_while_loading

if TYPE_CHECKING:
    from irexec.diagnostics import Diagnostic, IRError, Report, Severity
    from irexec.mend.files import validate
    from irexec.openvino.async_queue import AsyncInferQueue
    from irexec.openvino.compiled import CompiledModel
    from irexec.openvino.core import (
        Core,
        Extension,
        OpExtension,
        Version,
        compile_model,
        get_batch,
        get_version,
        read_model,
        set_batch,
        shutdown,
        tensor_from_file,
    )
    from irexec.openvino.custom import Op
    from irexec.openvino.element_types import ElementType, Type
    from irexec.openvino.frontend import convert_model
    from irexec.openvino.infer_request import InferRequest
    from irexec.openvino.layout import Layout
    from irexec.openvino.model import Model
    from irexec.openvino.node import Node
    from irexec.openvino.ov_any import OVAny
    from irexec.openvino.ports import ConstOutput, Input, Output, Value
    from irexec.openvino.profiling import ProfilingInfo
    from irexec.openvino.remote import RemoteContext, RemoteTensor, VAContext, VASurfaceTensor
    from irexec.openvino.rt_map import RTMap
    from irexec.openvino.saving import save_model, serialize
    from irexec.openvino.shapes import (
        AxisSet,
        AxisVector,
        Coordinate,
        CoordinateDiff,
        Dimension,
        PartialShape,
        Shape,
        Strides,
        Symbol,
    )
    from irexec.openvino.tensor import Tensor, TensorVector
    from irexec.openvino.type_info import DiscreteTypeInfo
    from irexec.ops.declare.operator import operator

__version__ = "0.2.0.dev0"

# Where the public names live. Those of OpenVINO's API, and the classes that it extends, come from irexec.openvino.
_HOMES = {
    "irexec.diagnostics": "Diagnostic IRError Report Severity",
    "irexec.mend.files": "validate",
    "irexec.openvino.async_queue": "AsyncInferQueue",
    "irexec.openvino.compiled": "CompiledModel",
    "irexec.openvino.core": "Core Extension OpExtension Version compile_model get_batch get_version read_model "
    "set_batch shutdown tensor_from_file",
    "irexec.openvino.custom": "Op",
    "irexec.openvino.element_types": "ElementType Type",
    "irexec.openvino.frontend": "convert_model",
    "irexec.openvino.infer_request": "InferRequest",
    "irexec.openvino.layout": "Layout",
    "irexec.openvino.model": "Model",
    "irexec.openvino.node": "Node",
    "irexec.openvino.ov_any": "OVAny",
    "irexec.openvino.ports": "ConstOutput Input Output Value",
    "irexec.openvino.profiling": "ProfilingInfo",
    "irexec.openvino.remote": "RemoteContext RemoteTensor VAContext VASurfaceTensor",
    "irexec.openvino.rt_map": "RTMap",
    "irexec.openvino.saving": "save_model serialize",
    "irexec.openvino.shapes": "AxisSet AxisVector Coordinate CoordinateDiff Dimension PartialShape Shape Strides "
    "Symbol",
    "irexec.openvino.tensor": "Tensor TensorVector",
    "irexec.openvino.type_info": "DiscreteTypeInfo",
    "irexec.ops.declare.operator": "operator",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
# The modules of OpenVINO's API that programs reach as attributes.
_MODULES = [
    "exceptions",
    "experimental",
    "frontend",
    "helpers",
    "layout_helpers",
    "op",
    "passes",
    "preprocess",
    "properties",
    "utils",
]

__all__ = [
    "AsyncInferQueue",
    "AxisSet",
    "AxisVector",
    "CompiledModel",
    "ConstOutput",
    "Coordinate",
    "CoordinateDiff",
    "Core",
    "Diagnostic",
    "Dimension",
    "DiscreteTypeInfo",
    "ElementType",
    "Extension",
    "IRError",
    "InferRequest",
    "Input",
    "Layout",
    "Model",
    "Node",
    "OVAny",
    "Op",
    "OpExtension",
    "Output",
    "PartialShape",
    "ProfilingInfo",
    "RTMap",
    "RemoteContext",
    "RemoteTensor",
    "Report",
    "Severity",
    "Shape",
    "Strides",
    "Symbol",
    "Tensor",
    "TensorVector",
    "Type",
    "VAContext",
    "VASurfaceTensor",
    "Value",
    "Version",
    "compile_model",
    "convert_model",
    "get_batch",
    "get_version",
    "operator",
    "read_model",
    "save_model",
    "serialize",
    "set_batch",
    "shutdown",
    "tensor_from_file",
    "validate",
]


def __getattr__(name: str) -> Any:
    if "numpy" in sys.modules:
        value = _named(name)
    else:
        with set_while_loading(*_BLAS_PATIENCE):
            value = _named(name)
    if name in _HOME_OF or is_opset(name) or not _is_registered(name):
        globals()[name] = value
    return value


# The threads of NumPy's OpenBLAS spin for 2 ** 26 rounds once they are started, some 40 ms on cores that the first
# result needs. For 2 ** 22, or 2.5 ms, they still wait from one product to the next.
_BLAS_PATIENCE = "OPENBLAS_THREAD_TIMEOUT", "22"


def _named(name: str) -> Any:
    if name in _HOME_OF:
        from irexec.ir.memory import no_collection

        with no_collection(to_stay=True):
            if _HOME_OF[name].startswith("irexec.openvino."):
                # All classes are extended before one is given away: what it returns has OpenVINO's words, too.
                importlib.import_module("irexec.openvino.extended")
            return getattr(importlib.import_module(_HOME_OF[name]), name)
    if is_opset(name) or _is_registered(name):
        return opset_module(name)
    if (module := real_module(f"irexec.{name}")) is not None:
        return importlib.import_module(module)
    raise AttributeError(f"module 'irexec' has no attribute {name!r}")


def _is_registered(opset: str) -> bool:
    """True for the opset name of a user's own operators."""
    declared = sys.modules.get("irexec.ops.declare.operator")
    return declared is not None and any(own == opset for _, own in declared.REGISTRY)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(f"opset{number}" for number in range(1, 18)), "__version__"})


ModuleAliases.install()
