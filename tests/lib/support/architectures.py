"""The models that are exported for comparisons: of torchvision, timm, transformers, and quantized models.

Small configurations, so that each is created in seconds and without a network connection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
"""Name → height and width of the image."""

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
"""The ways in which a small convolutional and a small attention model are quantized."""

NAMES = (
    *(f"torchvision/{name}" for name in TORCHVISION),
    *(f"timm/{name}" for name in TIMM),
    *(f"transformers/{name}" for name in TRANSFORMERS),
    *(f"nncf/{kind}" for kind in NNCF),
)
