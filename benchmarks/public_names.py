"""Print the public names of OpenVINO's modules that irexec lacks: `python benchmarks/public_names.py`.

A module counts if a program can import it, and a name if OpenVINO defines its object: names that a module has imported
from elsewhere do not count. The last line states how many modules and names are missing without a reason.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import warnings
from types import ModuleType
from typing import NamedTuple

# Modules of tools and frontends that are programs or parts of the compiler: prefixes, and the reason.
NO_MODULES = {
    "openvino.tools.benchmark": "a program that measures devices; `irexec run --repeat` measures irexec",
    "openvino.tools.ovc.": "the parts of the converter's command; `tools.ovc` itself is offered",
    "openvino.frontend.jax.": "the conversion of JAX models",
    "openvino.frontend.tensorflow.": "the conversion of TensorFlow models",
    "openvino.frontend.onnx.": "the compiled part of a frontend; `frontend.onnx` is offered",
    "openvino.frontend.paddle.": "the compiled part of a frontend; `frontend.paddle` is offered",
    "openvino.frontend.pytorch.": "the conversion of PyTorch models",
    "openvino.preprocess.torchvision": "needs torch: the conversion of torchvision's transforms",
    "openvino.properties._properties": "the implementation of `properties`",
    "openvino.torch": "a back end of torch.compile",
}
NO_NAMES = {
    "openvino.tools.ovc.telemetry": "nothing is reported to anybody",
    "openvino.tools.ovc.init_ovc_telemetry": "nothing is reported to anybody",
    "openvino.tools.ovc.is_keras3": "a part of telemetry",
    "openvino.tools.ovc.is_optimum": "a part of telemetry",
    "openvino.tools.ovc.is_torch_compile": "a part of telemetry",
    "openvino.utils.postponed_constant.PostponedConstant": "irexec computes such constants at once",
    "openvino._ov_api.ModelMeta": "the implementation of `Model`",
}


class Missing(NamedTuple):
    """The modules, and the names as `module.name`, that irexec lacks; those with a reason separately."""

    modules: list[str]
    names: list[str]
    excused: dict[str, str]
    compared: int


def modules() -> list[str]:
    """Return the names of OpenVINO's modules, including those of its compiled module."""
    openvino = importlib.import_module("openvino")
    found = {module.name for module in pkgutil.walk_packages(openvino.__path__, "openvino.", onerror=lambda name: None)}
    pending: list[ModuleType] = [importlib.import_module("openvino._pyopenvino")]
    while pending:
        module = pending.pop()
        inner = [v for v in vars(module).values() if inspect.ismodule(v) and v.__name__.startswith(module.__name__)]
        found.add(module.__name__)
        pending += [each for each in inner if each.__name__ not in found]
    return sorted(found | {"openvino"})


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module that OpenVINO defines, without modules and objects of other packages."""
    names = []
    for name in dir(module):
        value = getattr(module, name)
        origin = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
        if not name.startswith("_") and not inspect.ismodule(value) and str(origin).startswith("openvino"):
            names.append(name)
    return names


def counterpart(name: str) -> ModuleType | None:
    """Return irexec's module that corresponds to a module of OpenVINO."""
    try:
        return importlib.import_module("irexec" + name.removeprefix("openvino"))
    except ImportError:
        return None


def compare() -> Missing:
    """Return the public names of OpenVINO that irexec lacks."""
    found = Missing([], [], {}, 0)
    compared = 0
    for name in modules():
        reason = next((why for prefix, why in NO_MODULES.items() if name.startswith(prefix)), None)
        if reason is not None:
            found.excused[name] = reason
            continue
        try:
            theirs = sys.modules.get(name) or importlib.import_module(name)
        except ImportError:
            continue  # The module needs a package that is not installed.
        mine = counterpart(name)
        if mine is None:
            found.modules.append(name)
            continue
        for each in public_names(theirs):
            compared += 1
            if hasattr(mine, each):
                continue
            full = f"{name}.{each}"
            # The base of a class in OpenVINO's Python part is the compiled class of the same name.
            base = each.endswith("Base") and hasattr(mine, each.removesuffix("Base"))
            if full in NO_NAMES:
                found.excused[full] = NO_NAMES[full]
            elif not base and not _is_elsewhere(getattr(theirs, each), each):
                found.names.append(full)
    return found._replace(compared=compared)


def _is_elsewhere(value: object, name: str) -> bool:
    """Return whether a module imported the name, and irexec has it where OpenVINO defines it."""
    home = getattr(value, "__module__", "") or ""
    if not home.startswith("openvino"):
        return False
    module = counterpart(home)
    return module is not None and hasattr(module, getattr(value, "__name__", name))


def main() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = compare()
    for name, reason in missing.excused.items():
        print(f"not offered: {name}: {reason}")
    for name in missing.modules:
        print(f"missing module: {name}")
    for name in missing.names:
        print(f"missing name: {name}")
    names = len(NO_NAMES.keys() & missing.excused.keys())
    print(
        f"{missing.compared} names compared: {len(missing.modules)} modules and {len(missing.names)} names are missing "
        f"without a reason, {len(missing.excused) - names} modules and {names} names with one"
    )
    return int(bool(missing.modules or missing.names))


if __name__ == "__main__":
    sys.exit(main())
