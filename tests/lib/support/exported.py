"""Models of torchvision, timm and transformers with random weights, and quantized models of NNCF, exported to IR.

Small configurations, created without a network connection: `NAMES` lists all, `export(name, folder)` writes one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from support.architectures import NAMES, NNCF, TIMM, TORCHVISION, TRANSFORMERS

__all__ = ["NAMES", "NNCF", "Exported", "export", "import_torchvision", "load", "widened", "write"]


class Exported(NamedTuple):
    """The IR files of a model by variant, and inputs for each."""

    files: dict[str, Path]
    inputs: dict[str, list[np.ndarray]]


def export(name: str, folder: Path) -> Exported:
    """Write a model of `NAMES` to `folder`: as converted ("dynamic"), "static", "reshaped" to two samples, and "f16".

    Needs torch, openvino and the library that the name begins with. Variants that a model does not allow are omitted.
    """
    library, _, model = name.partition("/")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _MAKERS[library](model, folder)


def _export_torch(model: Any, example: tuple[Any, ...], folder: Path) -> Exported:
    import openvino as ov
    import torch

    model.eval()
    with torch.no_grad():
        converted = ov.convert_model(model, example_input=example)
    return write(converted, [tensor.numpy() for tensor in example], folder)


def write(converted: Any, arrays: list[np.ndarray], folder: Path) -> Exported:
    """Return the variants of an OpenVINO model, for inputs of one sample and of two."""
    import openvino as ov

    folder.mkdir(parents=True, exist_ok=True)
    twice = [np.concatenate([array, np.flip(array, -1)]) for array in arrays]
    files, inputs = {}, {}

    def keep(kind: str, model: Any, given: list[np.ndarray], *, compress: bool = False) -> None:
        files[kind], inputs[kind] = folder / f"{kind}.xml", given
        ov.save_model(model, files[kind], compress_to_fp16=compress)

    keep("dynamic", converted, arrays)
    for kind, given in (("reshaped", twice), ("static", arrays)):
        other = ov.Core().read_model(files["dynamic"])
        try:
            other.reshape({port: list(array.shape) for port, array in zip(other.inputs, given, strict=True)})
        except RuntimeError:
            continue
        keep(kind, other, given)
    keep("f16", ov.Core().read_model(files.get("static", files["dynamic"])), arrays, compress=True)
    np.savez(folder / "inputs.npz", **{f"{k}_{i}": a for k, given in inputs.items() for i, a in enumerate(given)})
    return Exported(files, inputs)


def load(folder: Path) -> Exported | None:
    """Return a model that `export` wrote to a folder earlier."""
    if not (folder / "inputs.npz").is_file():
        return None
    files = {path.stem: path for path in sorted(folder.glob("*.xml"))}
    with np.load(folder / "inputs.npz") as stored:
        inputs = {kind: [stored[f"{kind}_{i}"] for i in range(_count(stored, kind))] for kind in files}
    return Exported(files, inputs)


def _count(stored: Any, kind: str) -> int:
    return sum(key.rpartition("_")[0] == kind for key in stored)


def _torchvision(name: str, folder: Path) -> Exported:
    import_torchvision()
    import torch
    import torchvision

    torch.manual_seed(0)
    module, _, function = name.rpartition(".")
    make = getattr(getattr(torchvision.models, module) if module else torchvision.models, function)
    options: dict[str, Any] = {"weights": None}
    if name == "googlenet":
        options |= {"aux_logits": False, "init_weights": False}
    if module:
        options |= {"weights_backbone": None}
    return _export_torch(_varied(make(**options)), (torch.rand(1, 3, TORCHVISION[name], TORCHVISION[name]),), folder)


def _timm(name: str, folder: Path) -> Exported:
    import_torchvision()
    import timm
    import torch

    torch.manual_seed(0)
    side = TIMM[name]
    try:
        model = timm.create_model(name, pretrained=False, img_size=side)
    except TypeError:
        model = timm.create_model(name, pretrained=False)
    return _export_torch(_varied(model), (torch.rand(1, 3, side, side),), folder)


def _varied(model: Any) -> Any:
    """Return the model with varied weights, because random ones often give nearly equal results: normalizations get
    statistics, zero weights get values.
    """
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.uniform_(-0.1, 0.1)
    return model


def _transformers(name: str, folder: Path) -> Exported:
    import_torchvision()  # transformers searches for it.
    import torch
    import transformers

    torch.manual_seed(0)
    family = TRANSFORMERS[name]
    prefix = family.prefix
    config = getattr(transformers, f"{prefix}Config")(**family.config)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    config._attn_implementation = "sdpa" if name not in ("deberta", "deberta_v2") else "eager"
    try:
        model = getattr(transformers, prefix + family.model)(config)
    except ValueError:  # A model that supports only plain attention.
        config._attn_implementation = "eager"
        model = getattr(transformers, prefix + family.model)(config)
    if name == "whisper_encoder":
        model = model.encoder
    given = _example(family.input)
    return _export_torch(_first_result(_varied(model), tuple(given), family.input), tuple(given.values()), folder)


def _first_result(model: Any, names: tuple[str, ...], kind: str) -> Any:
    """Return a model of arrays whose result is one array; masks are inputs, because those that models make cannot
    be traced.
    """
    import torch

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            given = dict(zip(names, inputs, strict=True))
            if kind == "continued words":
                given["attention_mask"] = _causal_mask(given["input_ids"])
            elif kind == "two texts":
                given["attention_mask"] = _causal_mask(given["input_ids"])[:, :, -1:]  # A row that masks nothing.
                given["decoder_attention_mask"] = _causal_mask(given["decoder_input_ids"])
            return self.model(**given)[0]

    return First()


def _causal_mask(words: Any) -> Any:
    import torch

    count = words.shape[1]
    return torch.full((count, count), -1e4).triu(1)[None, None].expand(words.shape[0], 1, count, count)


def _example(kind: str) -> dict[str, Any]:
    import torch

    words = torch.randint(2, 90, (1, 8))
    return {
        "words": {"input_ids": words},
        "continued words": {"input_ids": words},
        "two texts": {"input_ids": words, "decoder_input_ids": torch.randint(2, 90, (1, 5))},
        "image": {"pixel_values": torch.rand(1, 3, 32, 32)},
        "sound": {"input_values": torch.rand(1, 1600)},
        "spectrum": {"input_features": torch.rand(1, 8, 32)},
    }[kind]


def _nncf(kind: str, folder: Path) -> Exported:
    import nncf
    import openvino as ov
    import torch

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # It cannot be traced.

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(64, 128)
            self.layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.0)
            self.head = torch.nn.Linear(128, 64)

        def forward(self, ids: Any) -> Any:
            return self.head(self.layer(self.words(ids)))

    class Image(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers = [torch.nn.Conv2d(3, 16, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, 1, 1, groups=16)]
            self.layers = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 1), torch.nn.SiLU())
            self.head = torch.nn.Linear(32, 10)

        def forward(self, image: Any) -> Any:
            return self.head(self.layers(image).mean((2, 3)))

    from_torch: Callable[..., Any] = ov.convert_model
    if kind in ("int8", "fp8_e4m3", "fp8_e5m2"):
        model = from_torch(Image().eval(), example_input=torch.rand(1, 3, 32, 32), input=[1, 3, 32, 32])
        samples = [np.random.default_rng(i).random((1, 3, 32, 32), np.float32) for i in range(8)]
        mode = None if kind == "int8" else nncf.QuantizationMode(kind)
        quantized = nncf.quantize(model, nncf.Dataset(samples), mode=mode, subset_size=8)
        return write(quantized, samples[:1], folder)
    ids = torch.randint(0, 64, (1, 16))
    model = from_torch(Attention().eval(), example_input=ids)
    modes = nncf.CompressWeightsMode
    mode, options = {
        "int8_weights": (modes.INT8_SYM, {}),
        "int8_weights_asymmetric": (modes.INT8_ASYM, {}),
        "int4": (modes.INT4_SYM, {"group_size": 32, "all_layers": True}),
        "int4_asymmetric": (modes.INT4_ASYM, {"group_size": 32, "all_layers": True}),
        "nf4": (modes.NF4, {"group_size": 32, "all_layers": True}),
        "mxfp4": (modes.MXFP4, {"group_size": 32, "all_layers": True}),
    }[kind]
    return write(nncf.compress_weights(model, mode=mode, **options), [ids.numpy()], folder)


_MAKERS: dict[str, Callable[[str, Path], Exported]] = {
    "torchvision": _torchvision,
    "timm": _timm,
    "transformers": _transformers,
    "nncf": _nncf,
}

_library: Any = None


def import_torchvision() -> None:
    """Import torchvision even if its compiled operators cannot be loaded with a CPU build of torch.

    Its Python part then only lacks the declarations of these operators, which the models here do not use.
    """
    global _library
    import torch

    if _library is None:
        try:
            import torchvision  # noqa: F401

            _library = True
        except RuntimeError:
            for module in [module for module in sys.modules if module.partition(".")[0] == "torchvision"]:
                del sys.modules[module]
            _library = torch.library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            for name in ("roi_align", "ps_roi_align", "roi_pool", "ps_roi_pool", "deform_conv2d"):
                _library.define(f"{name}(Tensor input) -> Tensor")
                _library.define(f"_{name}_backward(Tensor input) -> Tensor")


def widened(path: Path) -> Path:
    """Return a copy of a model whose compressed weights are decompressed in f32 instead of f16.

    OpenVINO's CPU plugin computes them in this way, whatever the file declares: it fuses the layers that decompress.
    """
    import openvino as ov
    from openvino import opset13

    model = ov.Core().read_model(path)
    for node in model.get_ordered_ops():
        kind, wide = node.get_type_name(), None
        if kind in ("Convert", "Multiply", "Subtract") and node.get_output_element_type(0) == ov.Type.f16:
            inputs = [opset13.convert(value.get_source_output(), "f32") for value in node.inputs()]
            make = {"Multiply": opset13.multiply, "Subtract": opset13.subtract}.get(kind)
            wide = inputs[0] if make is None else make(*inputs)
        if wide is not None:
            for target in node.output(0).get_target_inputs():
                target.replace_source_output(wide.output(0))
    model.validate_nodes_and_infer_types()
    ov.save_model(model, path.with_name("widened.xml"), compress_to_fp16=False)
    return path.with_name("widened.xml")
