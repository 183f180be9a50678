"""Steps of libraries that use OpenVINO, on small models with random weights; prints their results as JSON, by name.

A program: with OpenVINO, or with irexec in its place (in_openvinos_place.py). The argument is a folder for models; a
library that is not installed has no results.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
STEPS: dict[str, Callable[[Path], Any]] = {}


def step(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    STEPS[function.__name__.replace("_", " ")] = function
    return function


def small_model(ov: Any, classes: int = 5) -> Any:
    """Return a classifier of images."""
    ops = ov.opset13
    rng = np.random.default_rng(0)
    x = ops.parameter([1, 3, 16, 16], np.float32, name="image")
    kernel = rng.normal(size=(8, 3, 3, 3)).astype(np.float32)
    h = ops.relu(ops.convolution(x, kernel, [2, 2], [1, 1], [1, 1], [1, 1]))
    h = ops.reduce_mean(h, ops.constant(np.int64([2, 3])), False)
    y = ops.matmul(h, rng.normal(size=(8, classes)).astype(np.float32), False, False)
    y.output(0).tensor.set_names({"logits"})
    result = ops.result(y, name="logits")
    return ov.Model([result], [x], "classifier")


@step
def model_api_classifies(folder: Path) -> Any:
    models = importlib.import_module("model_api.models")
    import openvino as ov

    model = small_model(ov)
    for key, value in {
        "model_type": "Classification",
        "labels": "a b c d e",
        "mean_values": "1 2 3",
        "scale_values": "2 2 2",
        "topk": "3",
        "resize_type": "standard",
        "output_raw_scores": "True",
    }.items():
        model.set_rt_info(value, ["model_info", key])
    path = folder / "classifier.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    wrapper = models.Model.create_model(str(path), device="CPU", preload=True)
    image = np.random.default_rng(1).integers(0, 255, (24, 20, 3)).astype(np.uint8)
    found = wrapper(image)
    return [[label.name, float(label.confidence)] for label in found.top_labels]


@step
def sentence_transformers_embeds(folder: Path) -> Any:
    made = importlib.import_module("sentence_transformers")
    model = made.SentenceTransformer(str(folder / "sentences"), backend="openvino", model_kwargs=OF_SENTENCES)
    return np.asarray(model.encode(["hello world", "the quick brown fox"])).astype(float).tolist()


OF_SENTENCES = {"device": "CPU", "ov_config": F32}


def language_model(folder: Path) -> Any:
    optimum = importlib.import_module("optimum.intel")
    return optimum.OVModelForCausalLM.from_pretrained(folder / "causal", ov_config=F32, device="CPU")


@step
def optimum_generates_greedily(folder: Path) -> Any:
    torch = importlib.import_module("torch")
    model = language_model(folder)
    ids = torch.tensor([[5, 9, 33, 7]])
    return model.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0, eos_token_id=None).tolist()


@step
def optimum_generates_with_beams(folder: Path) -> Any:
    torch = importlib.import_module("torch")
    model = language_model(folder)
    ids = torch.tensor([[5, 9, 33, 7]])
    return model.generate(ids, max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=0).tolist()


@step
def optimum_saves_and_loads(folder: Path) -> Any:
    optimum = importlib.import_module("optimum.intel")
    torch = importlib.import_module("torch")
    model = language_model(folder)
    kept = folder / f"saved-{os.getpid()}"
    model.save_pretrained(kept)
    model = optimum.OVModelForCausalLM.from_pretrained(kept, ov_config=F32, device="CPU")
    with torch.no_grad():
        return model(torch.tensor([[1, 2, 3]])).logits[0, -1, :8].tolist()


@step
def optimum_generates_from_a_text(folder: Path) -> Any:
    optimum = importlib.import_module("optimum.intel")
    torch = importlib.import_module("torch")
    model = optimum.OVModelForSeq2SeqLM.from_pretrained(folder / "text to text", ov_config=F32, device="CPU")
    ids = torch.tensor([[5, 9, 33, 7], [8, 3, 4, 1]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": 8, "do_sample": False}
    return [model.generate(**given, num_beams=beams).tolist() for beams in (1, 3)]


@step
def optimum_compresses_to_8_bits(folder: Path) -> Any:
    optimum = importlib.import_module("optimum.intel")
    torch = importlib.import_module("torch")
    config = optimum.OVWeightQuantizationConfig(bits=8)
    exact = F32 | {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    model = optimum.OVModelForCausalLM.from_pretrained(
        folder / "causal", quantization_config=config, ov_config=exact, device="CPU"
    )
    with torch.no_grad():
        return model(torch.tensor([[1, 2, 3]])).logits[0, -1, :8].tolist()


@step
def optimum_extracts_features(folder: Path) -> Any:
    optimum = importlib.import_module("optimum.intel")
    torch = importlib.import_module("torch")
    model = optimum.OVModelForFeatureExtraction.from_pretrained(folder / "sentences", ov_config=F32, device="CPU")
    ids = torch.tensor([[2, 9, 11, 3]])
    found = model(input_ids=ids, attention_mask=torch.ones_like(ids), token_type_ids=torch.zeros_like(ids))
    return found.last_hidden_state[0, 0, :8].tolist()


def export(folder: Path) -> None:
    """Write the models of the steps, which only OpenVINO can convert from PyTorch."""
    transformers = importlib.import_module("transformers")
    optimum = importlib.import_module("optimum.intel")
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    source = folder / "source"
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 48}
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "the", "quick", "brown", "fox", "a"]
    source.mkdir(parents=True)
    (source / "vocab.txt").write_text("\n".join(words))
    tokenizer = transformers.BertTokenizerFast(str(source / "vocab.txt"))
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=len(words), max_position_embeddings=64, **sizes))
    bert.save_pretrained(source)
    tokenizer.save_pretrained(source)
    made = optimum.OVModelForFeatureExtraction.from_pretrained(source, export=True, compile=False)
    made.save_pretrained(folder / "sentences")
    tokenizer.save_pretrained(folder / "sentences")
    layers = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    t5 = transformers.T5Config(vocab_size=64, decoder_start_token_id=0, eos_token_id=None, **layers)
    transformers.T5ForConditionalGeneration(t5).save_pretrained(folder / "t5")
    made = optimum.OVModelForSeq2SeqLM.from_pretrained(folder / "t5", export=True, compile=False)
    made.save_pretrained(folder / "text to text")
    llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=64, max_position_embeddings=64, **sizes))
    llama.generation_config.pad_token_id = 0
    llama.save_pretrained(folder / "llama")
    made = optimum.OVModelForCausalLM.from_pretrained(folder / "llama", export=True, compile=False)
    made.save_pretrained(folder / "causal")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2:] == ["export"]:
        export(place)
    else:
        results = {}
        for name, run in STEPS.items():
            try:
                results[name] = run(place)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith(("openvino", "irexec")):
                    raise
        print(json.dumps(results), file=sys.__stderr__)
