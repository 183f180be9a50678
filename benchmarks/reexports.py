"""Folders for verdicts.py: `python benchmarks/reexports.py FOLDER [PATTERN ...] [--older PYTHON ...]`.

Exports networks of torchvision, timm, transformers and support.torch_exports (own/...) in several ways: by TorchScript
(model.xml, with io.npz), by torch.export, and as ONNX of two opsets by each of torch's exporters; the ONNX files are
also converted by OpenVINO, and by the older releases that `--older` names by their interpreters. verdicts.py compares
model.xml with all of them: they are the same network. Models of NNCF are one file each, for planted faults. Needs
torch, openvino, nncf, onnx, onnxscript and the libraries.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import traceback
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / "lib"), str(Path(__file__).parent.parent)]

import numpy as np  # noqa: E402
from support import exported  # noqa: E402

NAMES = ("timm/resnet10t", "timm/vit_tiny_patch16_224", "timm/convnextv2_atto", "timm/mobilevit_xxs")
NAMES += ("torchvision/shufflenet_v2_x0_5", "torchvision/mobilenet_v3_small", "torchvision/swin_t")
NAMES += ("transformers/bert", "transformers/gpt2", "transformers/t5", "transformers/llama", "transformers/wav2vec2")
NAMES += ("own/unet", "own/lstm", "own/decoder", "nncf/int8", "nncf/int4")
OPSETS = (14, 17)
_CONVERT = (
    "import sys, openvino as ov; ov.save_model(ov.convert_model(sys.argv[1]), sys.argv[2], compress_to_fp16=False)"
)


def ways(model: Any, example: tuple[Any, ...], folder: Path, older: list[str]) -> Iterator[str]:
    """Export a network in all ways, and yield a line for each."""
    import openvino as ov
    import torch

    def save(name: str, converted: Any) -> None:
        ov.save_model(converted, folder / f"{name}.xml", compress_to_fp16=False)

    def script() -> None:
        save("model", ov.convert_model(model, example_input=example))
        np.savez(folder / "io.npz", **{f"in{k}": tensor.numpy() for k, tensor in enumerate(example)})

    def traced() -> None:
        save("torch_export", ov.convert_model(torch.export.export(model, example)))

    def onnx(opset: int, dynamo: bool) -> None:
        path = folder / f"{'dynamo' if dynamo else 'script'}_{opset}.onnx"
        options: dict[str, Any] = {"external_data": False} if dynamo else {}
        torch.onnx.export(model, example, str(path), opset_version=opset, dynamo=dynamo, verbose=False, **options)
        for number, python in enumerate([sys.executable, *older]):
            target = path.with_name(f"{path.stem}_converted{number or ''}.xml")
            subprocess.run([python, "-c", _CONVERT, str(path), str(target)], check=True, capture_output=True)

    steps: dict[str, Any] = {"TorchScript": script, "torch.export": traced}
    for opset in OPSETS:
        steps[f"ONNX {opset}"] = lambda opset=opset: onnx(opset, False)
    steps["ONNX 18, dynamo"] = lambda: onnx(18, True)
    for name, step in steps.items():
        try:
            with torch.no_grad():
                step()
            yield f"{name}: exported"
        except Exception:
            yield f"{name}: {traceback.format_exc(limit=-1).splitlines()[-1][:150]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--older", nargs="*", default=[], metavar="PYTHON", help="interpreters with older releases")
    args = parser.parse_args()
    for name in NAMES:
        if not any(fnmatch(name, pattern) for pattern in args.names):
            continue
        folder = args.folder / name.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)

        def several(model: Any, example: tuple[Any, ...], _: Path, folder: Path = folder) -> exported.Exported:
            model.eval()
            for line in ways(model, example, folder, args.older):
                print(f"{folder.name}: {line}", flush=True)
            return exported.Exported({}, {})

        def alone(converted: Any, arrays: list[np.ndarray], _: Path, folder: Path = folder) -> exported.Exported:
            import openvino as ov

            ov.save_model(converted, folder / "model.xml", compress_to_fp16=False)
            np.savez(folder / "io.npz", **{f"in{k}": array for k, array in enumerate(arrays)})
            return exported.Exported({}, {})

        exported._export_torch, exported.write = several, alone
        try:
            if name.startswith("own/"):
                import torch
                from support.torch_exports import ARCHITECTURES

                torch.manual_seed(0)
                several(*ARCHITECTURES[name.removeprefix("own/")](), folder)
            else:
                exported.export(name, folder)
        except Exception as error:
            print(f"{folder.name}: {error}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
