"""Models of torchvision, timm and transformers with random weights, and quantised ones of NNCF, exported to IR.

Small configurations, made without any network: `NAMES` are all there are, `export(name, folder)` writes one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TORCHVISION = {
    "alexnet": 64,
    "vgg11": 32,
    "resnet18": 64,
    "squeezenet1_1": 64,
    "densenet121": 64,
    "googlenet": 64,
    "shufflenet_v2_x0_5": 64,
    "mnasnet0_5": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "efficientnet_b0": 64,
    "regnet_y_400mf": 64,
    "convnext_tiny": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "segmentation.lraspp_mobilenet_v3_large": 64,
    "segmentation.deeplabv3_mobilenet_v3_large": 64,
}
"""Name → height and width of its image."""

TIMM = {
    "resnet10t": 64,
    "vit_tiny_patch16_224": 64,
    "deit_tiny_patch16_224": 64,
    "swin_tiny_patch4_window7_224": 224,
    "convnextv2_atto": 64,
    "regnetx_002": 64,
    "ghostnet_050": 64,
    "lcnet_035": 64,
    "hrnet_w18_small": 64,
    "xcit_nano_12_p16_224": 64,
    "poolformer_s12": 64,
    "levit_128s": 224,
    "mixer_s32_224": 224,
    "cait_xxs24_224": 64,
    "pit_ti_224": 224,
    "twins_pcpvt_small": 64,
    "visformer_tiny": 224,
    "nfnet_l0": 64,
    "rexnet_100": 64,
    "dla34": 64,
    "edgenext_xx_small": 64,
    "mobilevit_xxs": 64,
    "mobilevitv2_050": 64,
    "efficientformer_l1": 224,
    "fastvit_t8": 64,
    "repvgg_a0": 64,
    "halonet26t": 64,
    "botnet26t_256": 256,
    "lambda_resnet26t": 64,
    "volo_d1_224": 224,
    "focalnet_tiny_srf": 64,
    "davit_tiny": 64,
    "tiny_vit_5m_224": 224,
    "mambaout_femto": 64,
    "skresnet18": 64,
    "resnest14d": 64,
    "gcresnext26ts": 64,
    "tf_efficientnetv2_b0": 64,
    "eva02_tiny_patch14_224": 56,
}

_TEXT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99}
_GROUPED = _TEXT | {"num_key_value_heads": 2, "max_position_embeddings": 64}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
_BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4} | {
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 99,
}
_IMAGE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64} | {
    "image_size": 32,
    "patch_size": 8,
}


class Family(NamedTuple):
    """A model of transformers: the prefix of its classes, the model's own class, a small configuration, its input."""

    prefix: str
    model: str
    config: dict[str, Any]
    input: str = "words"


TRANSFORMERS = {
    "bert": Family("Bert", "Model", _TEXT),
    "roberta": Family("Roberta", "Model", _TEXT),
    "albert": Family("Albert", "Model", _TEXT | {"embedding_size": 16}),
    "distilbert": Family("DistilBert", "Model", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "deberta": Family("Deberta", "Model", _TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "deberta_v2": Family("DebertaV2", "Model", _TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "electra": Family("Electra", "Model", _TEXT | {"embedding_size": 16}),
    "mpnet": Family("MPNet", "Model", _TEXT),
    "fnet": Family("FNet", "Model", _TEXT),
    "nystromformer": Family("Nystromformer", "Model", _TEXT),
    "squeezebert": Family("SqueezeBert", "Model", _TEXT | {"embedding_size": 32}),
    "esm": Family("Esm", "Model", _TEXT | {"pad_token_id": 1, "max_position_embeddings": 64}),
    "gpt2": Family(
        "GPT2", "LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}, "continued words"
    ),
    "gpt_neo": Family(
        "GPTNeo",
        "Model",
        {"hidden_size": 32, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
        | {"attention_types": [[["global", "local"], 1]]},
        "continued words",
    ),
    "gptj": Family(
        "GPTJ", "Model", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "vocab_size": 99}, "continued words"
    ),
    "llama": Family("Llama", "ForCausalLM", _GROUPED, "continued words"),
    "mistral": Family("Mistral", "ForCausalLM", _GROUPED | {"sliding_window": 4}, "continued words"),
    "mixtral": Family("Mixtral", "ForCausalLM", _GROUPED | {"num_local_experts": 4}, "continued words"),
    "qwen2": Family("Qwen2", "ForCausalLM", _GROUPED, "continued words"),
    "qwen3": Family("Qwen3", "ForCausalLM", _GROUPED | {"head_dim": 8}, "continued words"),
    "gemma2": Family(
        "Gemma2", "ForCausalLM", _GROUPED | {"head_dim": 8, "query_pre_attn_scalar": 8}, "continued words"
    ),
    "phi3": Family("Phi3", "ForCausalLM", _GROUPED | {"pad_token_id": 0}, "continued words"),
    "falcon": Family("Falcon", "ForCausalLM", _TEXT),
    "bloom": Family("Bloom", "ForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}),
    "stablelm": Family("StableLm", "ForCausalLM", _GROUPED, "continued words"),
    "mamba": Family(
        "Mamba", "ForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4} | {"vocab_size": 99}
    ),
    "t5_encoder": Family("T5", "EncoderModel", _T5),
    "t5": Family("T5", "Model", _T5, "two texts"),
    "bart": Family("Bart", "Model", _BART, "two texts"),
    "pegasus": Family("Pegasus", "Model", _BART, "two texts"),
    "vit": Family("ViT", "Model", _IMAGE, "image"),
    "beit": Family("Beit", "Model", _IMAGE, "image"),
    "dinov2": Family("Dinov2", "Model", _IMAGE, "image"),
    "clip_vision": Family("CLIPVision", "Model", _IMAGE, "image"),
    "siglip_vision": Family("SiglipVision", "Model", _IMAGE, "image"),
    "convnext": Family("ConvNext", "Model", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}, "image"),
    "segformer": Family(
        "Segformer",
        "ForSemanticSegmentation",
        {"hidden_sizes": [8, 16, 16, 32]}
        | {"depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16},
        "image",
    ),
    "dpt": Family(
        "DPT",
        "ForDepthEstimation",
        _IMAGE
        | {"num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3]}
        | {"neck_hidden_sizes": [8, 16, 16, 32], "fusion_hidden_size": 16},
        "image",
    ),
    "wav2vec2": Family(
        "Wav2Vec2",
        "Model",
        _TEXT | {"conv_dim": [16] * 7} | {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4},
        "sound",
    ),
    "whisper_encoder": Family(
        "Whisper", "Model", _BART | {"vocab_size": 51865, "max_source_positions": 16, "num_mel_bins": 8}, "spectrum"
    ),
}

NNCF = (
    "int8",
    "int8_weights",
    "int8_weights_asymmetric",
    "int4",
    "int4_asymmetric",
    "nf4",
    "mxfp4",
    "fp8_e4m3",
    "fp8_e5m2",
)
"""A small convolutional and a small attention model, quantised in these ways."""

NAMES = (
    *(f"torchvision/{name}" for name in TORCHVISION),
    *(f"timm/{name}" for name in TIMM),
    *(f"transformers/{name}" for name in TRANSFORMERS),
    *(f"nncf/{kind}" for kind in NNCF),
)


class Exported(NamedTuple):
    """The IR files of a model by what was done to it, and inputs for each."""

    files: dict[str, Path]
    inputs: dict[str, list[np.ndarray]]


def export(name: str, folder: Path) -> Exported:
    """Write a model of `NAMES` to `folder`: as converted ("dynamic"), "static", "reshaped" to two samples, and "f16".

    Needs torch, openvino and the library that the name begins with. What a model does not allow is left out.
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
    """The variants of an OpenVINO model, for inputs of one sample and of two."""
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
    """What `export` wrote to a folder earlier."""
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
    """Fresh weights often make every result nearly the same: normalisations get statistics, zero weights get values."""
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
    import_torchvision()  # transformers looks for it.
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
    except ValueError:  # A model that knows only the plain attention.
        config._attn_implementation = "eager"
        model = getattr(transformers, prefix + family.model)(config)
    if name == "whisper_encoder":
        model = model.encoder
    given = _example(family.input)
    return _export_torch(_first_result(_varied(model), tuple(given), family.input), tuple(given.values()), folder)


def _first_result(model: Any, names: tuple[str, ...], kind: str) -> Any:
    """A model of arrays in and one array out; the mask of a decoder is given: its own is made as no tracer follows."""
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
    torch.backends.mha.set_fastpath_enabled(False)  # No tracer follows that.

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
        quantised = nncf.quantize(model, nncf.Dataset(samples), mode=mode, subset_size=8)
        return write(quantised, samples[:1], folder)
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
    """Import torchvision where its compiled operators cannot be loaded beside a CPU build of torch.

    Its Python part then only misses the declarations of these operators, which the models here do not use.
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
    """A copy of a model whose compressed weights are decompressed in f32 instead of f16.

    That is how OpenVINO's CPU plugin computes them, whatever the file declares: it fuses the layers that decompress.
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
