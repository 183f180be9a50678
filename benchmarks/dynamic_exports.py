"""Exports of torchvision, timm and transformers with random weights and dynamic dimensions, for benchmarks/shapes.py.

python benchmarks/dynamic_exports.py FOLDER [PATTERN ...]

Every second model of images is an IR, written by openvino.convert_model, the others are ONNX files with names for their
dimensions. Files that FOLDER has are kept. Needs the packages of `pip install '.[models]'`.
"""

from __future__ import annotations

import gc
import sys
import warnings
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from exported_nets import NETS, TOKENS

TORCHVISION = {
    "resnet18": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "squeezenet1_1": 64, "densenet121": 64,
    "shufflenet_v2_x0_5": 64, "efficientnet_b0": 64, "googlenet": 64, "mnasnet0_5": 64, "regnet_x_400mf": 64,
    "convnext_tiny": 64, "alexnet": 96, "inception_v3": 160, "vgg11": 64, "swin_t": 224, "maxvit_t": 224,
}  # fmt: skip
SEGMENTATION = {
    "deeplabv3_mobilenet_v3_large": 64, "lraspp_mobilenet_v3_large": 64, "fcn_resnet50": 64,
}  # fmt: skip
TIMM = {
    "test_vit": 160, "test_resnet": 160, "test_byobnet": 160, "test_efficientnet": 160, "test_convnext": 160,
    "mobilevit_xxs": 256, "mobilevitv2_050": 256, "swin_tiny_patch4_window7_224": 224, "edgenext_xx_small": 256,
    "poolformer_s12": 224, "mixer_s32_224": 224, "res2net50_26w_4s": 64, "ghostnet_050": 64, "lcnet_050": 64,
    "mobileone_s0": 64, "efficientvit_b0": 224, "tf_efficientnet_b0": 64, "tf_mobilenetv3_small_minimal_100": 64,
    "halonet26t": 256, "eca_botnext26ts_256": 256, "pvt_v2_b0": 224, "crossvit_tiny_240": 240, "convit_tiny": 224,
    "levit_128s": 224, "repvit_m0_9": 224, "fastvit_t8": 256, "coat_tiny": 224, "deit_tiny_patch16_224": 224,
    "pit_ti_224": 224, "cspresnet50": 64, "hrnet_w18_small": 64, "dla34": 64, "dpn48b": 64, "nfnet_l0": 64,
    "xcit_nano_12_p8_224": 224, "inception_v4": 160, "regnetz_005": 64, "selecsls42": 64, "vovnet39a": 64,
    "maxxvit_rmlp_nano_rw_256": 256, "volo_d1_224": 224, "visformer_tiny": 224, "gmlp_ti16_224": 224,
}  # fmt: skip
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100,
    "max_position_embeddings": 48, "num_key_value_heads": 2, "pad_token_id": 0,
}  # fmt: skip
TEXTS: dict[str, dict[str, Any]] = {
    "Bert": {}, "Roberta": {}, "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}, "Albert": {},
    "Electra": {}, "DebertaV2": {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["c2p", "p2c"]},
    "MPNet": {}, "FNet": {}, "MobileBert": {}, "SqueezeBert": {"embedding_size": 32}, "ConvBert": {}, "Esm": {},
    "GPT2": {"n_positions": 48, "n_embd": 32, "n_layer": 2, "n_head": 4}, "OPT": {"word_embed_proj_dim": 32},
    "GPTNeoX": {}, "Bloom": {"n_layer": 2, "n_head": 4}, "Llama": {}, "Mistral": {"sliding_window": 16}, "Qwen2": {},
    "Gemma": {"head_dim": 8}, "Phi": {}, "XLNet": {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    "CLIPText": {}, "RoFormer": {"embedding_size": 32},
    "Nystromformer": {"num_landmarks": 4, "segment_means_seq_len": 16},
    "T5Encoder": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
}  # fmt: skip
PATCHES = {"image_size": 32, "patch_size": 8}
STAGES = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}
WINDOWS = {"embed_dim": 16, "window_size": 4}
VISION: dict[str, dict[str, Any]] = {
    "ViT": PATCHES, "Beit": PATCHES, "CLIPVision": PATCHES, "SiglipVision": PATCHES, "Dinov2": PATCHES,
    "Data2VecVision": PATCHES, "Yolos": PATCHES | {"image_size": [32, 48]},
    "Swin": {"image_size": 64, "depths": [1, 1], "num_heads": [2, 2]} | WINDOWS,
    "Swin2SR": {"image_size": 32, "depths": [1], "num_heads": [2]} | WINDOWS, "PoolFormer": {},
    "Segformer": STAGES, "ConvNext": STAGES, "ResNet": STAGES | {"embedding_size": 8}, "MobileViT": {"image_size": 64},
    "MobileNetV2": {},
}  # fmt: skip
SOUND: dict[str, dict[str, Any]] = {
    "Wav2Vec2": {}, "Hubert": {}, "SEW": {}, "WavLM": {}, "UniSpeech": {},
    "ASTModel": {}, "WhisperEncoder": {}, "Speech2TextEncoder": {},
}  # fmt: skip
SPEECH = {
    "conv_dim": (8, 8, 8), "conv_kernel": (10, 3, 2), "conv_stride": (5, 2, 2), "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
}  # fmt: skip


class Result(torch.nn.Module):
    """A model with its first result, or all tensors of it, as a tuple."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> Any:
        given = dict(zip(self.names, inputs, strict=True)) if self.names else {}
        found = self.model(**given) if given else self.model(*inputs)
        if isinstance(found, dict):
            found = next(iter(found.values()))
        return found[0] if isinstance(found, tuple) else found


def image_model(name: str) -> tuple[torch.nn.Module, int]:
    family, _, own = name.partition("/")
    if family == "torchvision":
        import torchvision

        place, extra = torchvision.models, {}
        if own in SEGMENTATION:
            place, extra = torchvision.models.segmentation, {"weights_backbone": None}
        elif own in ("googlenet", "inception_v3"):
            extra = {"init_weights": False, "aux_logits": False}
        return getattr(place, own)(weights=None, **extra), {**TORCHVISION, **SEGMENTATION}[own]
    if family == "timm":
        import timm

        return timm.create_model(own, pretrained=False), TIMM[own]
    return NETS[own](), 64


def transformer(own: str) -> tuple[torch.nn.Module, dict[str, tuple[torch.Tensor, dict[int, str]]]]:
    import transformers

    config_name = own.removesuffix("Encoder").removesuffix("Model") + "Config"
    settings = {**TEXTS, **VISION, **SOUND}[own]
    if own in TEXTS:
        config = getattr(transformers, config_name)(**{**SMALL, **settings})
        model = getattr(transformers, own + "Model")(config)
        ids = torch.ones(2, 16, dtype=torch.long)
        return model, {"input_ids": (ids, {0: "batch", 1: "seq"}), "attention_mask": (ids, {0: "batch", 1: "seq"})}
    small = {key: value for key, value in SMALL.items() if key not in ("vocab_size", "max_position_embeddings")}
    if own in VISION:
        given = {**small, **settings} if "patch_size" in settings else settings
        config = getattr(transformers, config_name)(**given)
        size = settings.get("image_size", 64)
        height, width = size if isinstance(size, list) else (size, size)
        image = torch.ones(2, 3, height, width)
        return getattr(transformers, own + "Model")(config), {"pixel_values": (image, {0: "batch", 2: "H", 3: "W"})}
    if own == "ASTModel":
        model = transformers.ASTModel(transformers.ASTConfig(**small, max_length=64, num_mel_bins=16, patch_size=8))
        return model, {"input_values": (torch.ones(2, 64, 16), {0: "batch", 1: "frames"})}
    if own.endswith("Encoder"):
        kind = own.removesuffix("Encoder")
        config = getattr(transformers, config_name)(
            d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, num_mel_bins=16,
            max_source_positions=32, conv_channels=32, input_feat_per_channel=16,
        )  # fmt: skip
        model = getattr(transformers, kind + "Model")(config).encoder
        data = torch.ones(2, 16, 64) if kind == "Whisper" else torch.ones(2, 64, 16)
        return model, {"input_features": (data, {0: "batch", 2 if kind == "Whisper" else 1: "frames"})}
    config = getattr(transformers, config_name)(**{**small, **SPEECH, "squeeze_factor": 2})
    return getattr(transformers, own + "Model")(config), {
        "input_values": (torch.ones(2, 2000), {0: "batch", 1: "samples"})
    }


def save(name: str, is_onnx: bool, path: Path) -> None:
    if name.startswith("transformers/"):
        model, inputs = transformer(name.partition("/")[2])
        model.config.return_dict = True
        if hasattr(model.config, "use_cache"):
            model.config.use_cache = False
        module = Result(model.eval(), tuple(inputs))
    else:
        own = name.partition("/")[2]
        model, size = (TOKENS[own](), 0) if own in TOKENS else image_model(name)
        inputs = {"image": (torch.ones(2, 3, size, size), {0: "batch", 2: "H", 3: "W"})}
        inputs = getattr(model, "examples", inputs)
        module = Result(model.eval())
    examples = tuple(tensor for tensor, _ in inputs.values())
    axes = {key: names for key, (_, names) in inputs.items()}
    program: Any = module
    if name.startswith("transformers/") or name == "torch/t5":
        shapes = tuple(dict.fromkeys(names, torch.export.Dim.AUTO) for names in axes.values())
        program = torch.export.export(module, examples, dynamic_shapes={"inputs": shapes}, strict=False)
    if is_onnx and program is not module:
        torch.onnx.export(program, (), path, dynamo=True, external_data=False, verbose=False)
    elif is_onnx:
        torch.onnx.export(
            module, examples, path, input_names=[*inputs], dynamic_axes=axes, dynamo=False, opset_version=17
        )
    else:
        import openvino

        if program is not module:
            converted = openvino.convert_model(program)
        else:
            shapes = [
                openvino.PartialShape([-1 if axis in names else size for axis, size in enumerate(tensor.shape)])
                for tensor, names in inputs.values()
            ]
            converted = openvino.convert_model(module, example_input=examples, input=shapes)
        openvino.save_model(converted, path)


def names() -> list[str]:
    images = [*(f"torchvision/{each}" for each in (*TORCHVISION, *SEGMENTATION)), *(f"timm/{each}" for each in TIMM)]
    own = [f"torch/{each}" for each in (*NETS, *TOKENS)]
    return [*own[:3], *(f"transformers/{each}" for each in (*TEXTS, *VISION, *SOUND)), *images, *own[3:]]


def main() -> None:
    warnings.filterwarnings("ignore")
    folder, patterns = Path(sys.argv[1]), sys.argv[2:] or ["*"]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for number, name in enumerate(names()):
        is_onnx = number % 2 == 1
        path = folder / f"{name.replace('/', '__')}.{'onnx' if is_onnx else 'xml'}"
        if path.exists() or not any(fnmatch(name, pattern) for pattern in patterns):
            continue
        try:
            with torch.no_grad():
                save(name, is_onnx, path)
            print(f"{name}: saved", flush=True)
        except Exception as error:
            print(f"{name}: not exported: {type(error).__name__}: {str(error).strip().splitlines()[-1:]}", flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
