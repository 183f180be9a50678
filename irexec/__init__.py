"""irexec: run, check and explain OpenVINO IR in plain Python.

The public names are imported when first used, so that `import irexec` stays cheap: it imports nothing of the standard
library that the interpreter has not imported. `import irexec as ov` also provides the names of OpenVINO's Python API,
including `import irexec.opset13` and `from irexec.preprocess import ...`.
"""

from __future__ import annotations

import sys

from irexec.api.aliases import ModuleAliases, is_opset, opset_module, real_module
from irexec.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from irexec.api import *  # noqa: F403 - all that it holds

# The public names of each module. For type checkers and readers, api.py lists the same names.
_HOMES = {
    "irexec.core.diagnostics.deadline": "time_limit",
    "irexec.core.diagnostics": "Diagnostic IRError Report Severity",
    "irexec.tools.fixes.files": "validate",
    "irexec.tools.functions.debugging": "Comparison Differences Reduction compare diff reduce",
    "irexec.tools.functions.files": "CheckedPages Fixed ModelReport doctest fix report",
    "irexec.tools.functions.progress": "sensitivity shapes",
    "irexec.api.openvino.async_queue": "AsyncInferQueue",
    "irexec.api.openvino.compiled": "CompiledModel",
    "irexec.api.openvino.core": "Core Extension OpExtension Version compile_model get_batch get_version read_model "
    "set_batch shutdown tensor_from_file",
    "irexec.api.openvino.custom": "Op",
    "irexec.api.openvino.frontend": "convert_model",
    "irexec.api.openvino.infer_request": "InferRequest",
    "irexec.api.openvino.layout": "Layout",
    "irexec.api.openvino.model": "Model",
    "irexec.api.openvino.node": "Node",
    "irexec.api.openvino.ov_any": "OVAny",
    "irexec.api.openvino.ports": "ConstOutput Input Output Value",
    "irexec.api.openvino.profiling": "ProfilingInfo",
    "irexec.api.openvino.remote": "RemoteContext RemoteTensor VAContext VASurfaceTensor",
    "irexec.api.openvino.rt_map": "RTMap",
    "irexec.api.openvino.saving": "save_model serialize",
    "irexec.api.openvino.shapes": "AxisSet AxisVector Coordinate CoordinateDiff PartialShape Shape Strides Symbol",
    "irexec.api.openvino.tensor": "Tensor TensorVector",
    "irexec.api.openvino.type_info": "DiscreteTypeInfo",
    "irexec.ops.spec.operator": "operator",
    "irexec.tools.shapes.answer": "Shapes",
    "irexec.core.types.dimension": "Dimension",
    "irexec.core.types.element": "ElementType Type",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
# The modules of OpenVINO's API that programs reach as attributes.
_MODULES = [
    "exceptions", "experimental", "frontend", "helpers", "layout_helpers", "op", "passes", "preprocess", "properties",
    "tools", "utils",
]  # fmt: skip

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if "numpy" in sys.modules:
        value = _named(name)
    else:
        from irexec.core.environment import set_while_loading

        with set_while_loading(*_BLAS_PATIENCE):
            value = _named(name)
    if name in _HOME_OF or is_opset(name) or not _is_registered(name):
        globals()[name] = value
    return value


# The threads of NumPy's OpenBLAS spin for 2 ** 26 rounds after they are started: some 40 ms, on cores that the first
# result needs. 2 ** 22 rounds, or 2.5 ms, still last from one matrix product to the next.
_BLAS_PATIENCE = "OPENBLAS_THREAD_TIMEOUT", "22"


def _named(name: str) -> Any:
    import importlib

    if name in _HOME_OF:
        from irexec.core.collector import no_collection

        with no_collection(to_stay=True):
            return getattr(importlib.import_module(_HOME_OF[name]), name)
    if is_opset(name) or _is_registered(name):
        return opset_module(name)
    if real_module(f"irexec.{name}") is not None:
        return importlib.import_module(f"irexec.{name}")
    raise AttributeError(f"module 'irexec' has no attribute {name!r}")


def _is_registered(opset: str) -> bool:
    """Return True for the opset name of a user's own operators."""
    declared = sys.modules.get("irexec.ops.spec.operator")
    return declared is not None and any(own == opset for _, own in declared.REGISTRY)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(f"opset{number}" for number in range(1, 18)), "__version__"})


ModuleAliases.install()
