"""Networks of PyTorch compared with their exports: the modules that are paired, and the inserted faults that are named.

    python benchmarks/modules.py [--faults N] [NAME ...]

Each architecture of tests/lib/support/torch_exports.py is exported by TorchScript, torch.export and ONNX, converted by
OpenVINO, and compared with the network itself. Then faults of conversion are inserted into some of the exports: one
weight or attribute of a random layer is changed. A fault counts as named if the first wrong layers include the changed
layer, or if the change has no effect on the results. Needs torch, openvino and onnx.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from networks import __file__ as NETWORKS

import irexec
from irexec.tools.compare.compare import compare
from irexec.tools.compare.pytorch.runtime import Network, Torch
from irexec.tools.compare.result import Comparison
from irexec.tools.run.record import Reference

KINDS = ("script", "export", "onnx", "dynamo")


def exported(name: str, kind: str, folder: Path) -> tuple[Path, list[Any]]:
    """Return the IR of an export, and the inputs with which it was exported."""
    import openvino as ov
    import torch
    from support.torch_exports import ARCHITECTURES

    torch.backends.mha.set_fastpath_enabled(False)
    torch.manual_seed(0)
    module, inputs = ARCHITECTURES[name]()
    module.eval()
    path = folder / f"{name}-{kind}.xml"
    if kind in ("onnx", "dynamo"):
        source = path.with_suffix(".onnx")
        torch.onnx.export(module, inputs, str(source), dynamo=kind == "dynamo", verbose=False)
        converted = ov.convert_model(source)
    elif kind == "export":
        converted = ov.convert_model(torch.export.export(module, inputs))
    else:
        converted = ov.convert_model(module, example_input=inputs)
    ov.save_model(converted, path, compress_to_fp16=False)
    return path, [tensor.numpy() for tensor in inputs]


class Kept(Torch):
    """A holder of the network that was loaded last, to query its pairs."""

    def load(self, model: Any) -> Network:
        self.loaded = super().load(model)
        return self.loaded


def compared(runtime: Kept, model: Any, inputs: list[Any]) -> Comparison:
    given = [np.asarray(a, port.element_type.dtype) for a, port in zip(inputs, model.inputs, strict=True)]
    return compare(Reference(model, [given]), runtime)


def modules(network: Network) -> tuple[int, int, int, list[str]]:
    """Return the number of modules that affect the results, the numbers of paired modules and of modules paired
    together with others, and the remaining ones.
    """
    computing = sum(any(call.results) for call in network.calls) - len(network.idle)
    merged = sum(any(network.calls[number].results) for number in network.merged)
    return computing, computing - len(network.unpaired), merged, network.unpaired


def damages(model: Any) -> list[tuple[str, Any, Callable[[], None]]]:
    """Return faults that a conversion may have: a title, the layer, and the function that applies the fault."""
    found: list[tuple[str, Any, Callable[[], None]]] = []
    values = {
        "epsilon": lambda v: 0.1, "eps": lambda v: 0.1, "approximation_mode": lambda v: "TANH" if v == "ERF" else "ERF",
        "coordinate_transformation_mode": lambda v: "asymmetric", "rounding_type": lambda v: "floor",
        "exclude-pad": lambda v: not v, "normalize_variance": lambda v: not v,
        "axis": lambda v: v - 1 if v > 1 else v + 1,
    }  # fmt: skip
    for node in model.nodes:
        for name, other in values.items():
            if node.type not in ("Const", "Split", "Concat", "Gather", "TopK", "Unsqueeze") and name in node.attributes:
                new = other(node.attributes[name])

                def change(node: Any = node, name: str = name, new: Any = new) -> None:
                    node.attributes[name] = new

                if new != node.attributes[name]:
                    found.append((f"{name}={new}", node, change))
        if node.type in ("Convolution", "GroupConvolution", "MatMul", "Add", "Multiply"):
            for place, value in enumerate(node.inputs):
                if value is None or value.node.type != "Const" or value.element_type.name != "f32":
                    continue
                array = np.asarray(value.node.constant)

                def weight(node: Any = node, place: int = place, array: Any = array) -> None:
                    changed = array.copy()
                    changed.reshape(-1)[: max(1, changed.size // 3)] *= 1.5
                    node.set_argument(place, irexec.opset15.constant(changed))

                if np.any(array):
                    found.append((f"weights of input {place}", node, weight))
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--faults", type=int, default=30)
    args = parser.parse_args()
    from support.torch_exports import ARCHITECTURES

    names = args.names or [*ARCHITECTURES]
    sums = Sums()
    with tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(names):
            planted = args.faults * (place + 1) // len(names) - args.faults * place // len(names)
            one_network(name, Path(folder), planted, sums)
    paired = 100 * sums.paired / max(sums.modules, 1)
    print(
        f"{sums.exports} exports, {sums.agree} agree; {sums.paired} of {sums.modules} modules paired ({paired:.1f} %), "
        f"{sums.merged} of them together with another"
    )
    print(f"{sums.named} of {sums.planted} faults named, {sums.idle} without effect")
    return 0


@dataclass
class Sums:
    exports: int = 0
    agree: int = 0
    modules: int = 0
    paired: int = 0
    merged: int = 0
    planted: int = 0
    named: int = 0
    idle: int = 0


def one_network(name: str, folder: Path, faults: int, sums: Sums) -> None:
    """Compare the exports of a network, and plant faults in some of them."""
    runtime = Kept(f"{NETWORKS}:{name}")
    kept = []
    for kind in KINDS:
        try:
            path, inputs = exported(name, kind, folder)
            found = compared(runtime, irexec.read_model(path), inputs)
        except Exception as error:
            print(f"{name:20} {kind:7} {type(error).__name__}: {str(error).strip().splitlines()[0][:90]}", flush=True)
            continue
        total, there, merged, lost = modules(runtime.loaded)
        sums.exports, sums.agree = sums.exports + 1, sums.agree + found.agrees
        sums.modules, sums.paired, sums.merged = sums.modules + total, sums.paired + there, sums.merged + merged
        print(f"{name:20} {kind:7} {there:3} of {total:3} {found.verdict[:44]:44} {' '.join(lost[:3])}", flush=True)
        kept.append((kind, path, inputs))
    drawn = random.Random(name)
    left = faults
    while kept and left:
        kind, path, inputs = drawn.choice(kept)
        model = irexec.read_model(path)
        choices = damages(model)
        if not choices:
            break
        title, node, damage = drawn.choice(choices)
        damage()
        try:
            model.validate_nodes_and_infer_types()
        except irexec.IRError:  # A conversion cannot have this fault: the operator does not allow the value.
            continue
        found = compared(runtime, model, inputs)
        left, sums.planted = left - 1, sums.planted + 1
        layers = found.culprit.nodes if found.culprit is not None else []
        right = node in layers
        wide = len(layers)
        idle = found.agrees and not right
        sums.named, sums.idle = sums.named + right, sums.idle + idle
        mark = "-" if idle else " " if right else "x"
        where = f"{title} of {node.friendly_name} ({node.type})"
        print(f"{mark} {name} {kind}: {where}: {wide} layers: {found.verdict[:150]}", flush=True)
    runtime.close()


if __name__ == "__main__":
    sys.exit(main())
