"""Full-size architectures with random weights, as PyTorch exports them to ONNX.

Needs torch, torchvision and transformers: `pip install '.[test,models]'`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

import torch
from support.exported import import_torchvision
from torch import Tensor, nn
from torch.nn import functional as F

Made = tuple[nn.Module, tuple[Tensor, ...]]


def _torchvision(name: str) -> Made:
    import_torchvision()
    import torchvision

    return getattr(torchvision.models, name)(weights=None), (torch.rand(1, 3, 224, 224),)


def _words(count: int, most: int) -> tuple[Tensor, Tensor]:
    """Return tokens and their mask."""
    return torch.randint(0, most, (1, count)), torch.ones(1, count, dtype=torch.int64)


class First(nn.Module):
    """A model of transformers that returns its first result as an array."""

    def __init__(self, model: nn.Module, result: str, **names: Any) -> None:
        super().__init__()
        self.model, self.result, self.names = model, result, names

    def forward(self, *inputs: Tensor) -> Tensor:
        given = dict(zip(self.names, inputs, strict=True))
        return self.model(**given)[self.result]


def bert_base() -> Made:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(attn_implementation="eager"))
    # The token types are given: those that the model creates itself require a Gather that onnx.reference cannot run.
    words, mask = _words(128, 30000)
    given = First(model, "last_hidden_state", input_ids=1, attention_mask=1, token_type_ids=1)
    return given, (words, mask, torch.zeros_like(words))


def gpt2_small() -> Made:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", use_cache=False))
    return First(model, "logits", input_ids=1, attention_mask=1), _words(64, 50000)


def vit_base() -> Made:
    from transformers import ViTConfig, ViTModel

    model = ViTModel(ViTConfig(attn_implementation="eager"))
    return First(model, "last_hidden_state", pixel_values=1), (torch.rand(1, 3, 224, 224),)


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.layers = nn.Embedding(1000, 128), nn.LSTM(128, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 20)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, (h, _) = self.layers(self.words(x))
        return self.head(y), h


def lstm() -> Made:
    return Lstm(), (torch.randint(0, 1000, (1, 64)),)


def _conv(i: int, o: int, k: int = 1, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU())


class Split(nn.Module):
    """A block in which half of the channels pass through inner blocks, and all intermediate values are concatenated."""

    def __init__(self, i: int, o: int, blocks: int, shortcut: bool = True) -> None:
        super().__init__()
        half = o // 2
        self.enter, self.leave, self.shortcut = _conv(i, o), _conv((2 + blocks) * half, o), shortcut
        self.blocks = nn.ModuleList(nn.Sequential(_conv(half, half, 3), _conv(half, half, 3)) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.blocks:
            made = block(parts[-1])
            parts.append(parts[-1] + made if self.shortcut else made)
        return self.leave(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A detector with three scales, similar to YOLOv8n."""

    def __init__(self) -> None:
        super().__init__()
        down = [(3, 16), (16, 32), (32, 64), (64, 128), (128, 256)]
        self.down = nn.ModuleList(_conv(i, o, 3, 2) for i, o in down)
        self.stages = nn.ModuleList(Split(w, w, n) for w, n in [(32, 1), (64, 2), (128, 2), (256, 1)])
        self.narrow, self.wide = _conv(256, 128), _conv(512, 256)
        self.up = nn.ModuleList([Split(384, 128, 1, False), Split(192, 64, 1, False)])
        self.again = nn.ModuleList([_conv(64, 64, 3, 2), _conv(128, 128, 3, 2)])
        self.low = nn.ModuleList([Split(192, 128, 1, False), Split(384, 256, 1, False)])
        heads = [nn.Sequential(_conv(w, 64, 3), _conv(64, 64, 3), nn.Conv2d(64, 84, 1)) for w in (64, 128, 256)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down[0](x)
        made = []
        for down, stage in zip(self.down[1:], self.stages, strict=True):
            x = stage(down(x))
            made.append(x)
        x = self.narrow(x)
        pooled = [x]
        for _ in range(3):
            pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
        deep = self.wide(torch.cat(pooled, 1))
        middle = self.up[0](torch.cat([F.interpolate(deep, scale_factor=2.0), made[2]], 1))
        fine = self.up[1](torch.cat([F.interpolate(middle, scale_factor=2.0), made[1]], 1))
        middle = self.low[0](torch.cat([self.again[0](fine), middle], 1))
        deep = self.low[1](torch.cat([self.again[1](middle), deep], 1))
        flat = [head(level).flatten(2) for head, level in zip(self.heads, (fine, middle, deep), strict=True)]
        boxes, classes = torch.cat(flat, 2).split([4, 80], 1)
        return torch.cat([boxes, classes.sigmoid()], 1)


ARCHITECTURES: dict[str, Callable[[], Made]] = {
    "resnet18": lambda: _torchvision("resnet18"),
    "resnet50": lambda: _torchvision("resnet50"),
    "mobilenet_v2": lambda: _torchvision("mobilenet_v2"),
    "yolo": lambda: (Yolo(), (torch.rand(1, 3, 320, 320),)),
    "bert_base": bert_base,
    "gpt2_small": gpt2_small,
    "vit_base": vit_base,
    "lstm": lstm,
}


def exported(folder: Path) -> list[Path]:
    """Return the ONNX files of all architectures; existing files in the folder are used."""
    paths = []
    for name, make in ARCHITECTURES.items():
        paths.append(folder / f"{name}.onnx")
        if paths[-1].exists():
            continue
        torch.manual_seed(0)
        module, inputs = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module.eval(), inputs, str(paths[-1]), dynamo=False)
    return paths
