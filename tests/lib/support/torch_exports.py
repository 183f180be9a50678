"""Small architectures with random weights, as PyTorch's exporters write them. Needs torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Made = tuple[nn.Module, tuple[Tensor, ...]]
ARCHITECTURES: dict[str, Callable[[], Made]] = {}


def architecture(function: Callable[[], Made]) -> Callable[[], Made]:
    ARCHITECTURES[function.__name__] = function
    return function


def image(size: int = 32, channels: int = 3, batch: int = 2) -> Tensor:
    return torch.randn(batch, channels, size, size)


class Of(nn.Module):
    """A module whose forward is a function of its parts."""

    def __init__(self, forward: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(parts)
        self.function = forward

    def forward(self, *inputs: Tensor) -> Any:
        return self.function(self.parts, *inputs)


def conv(i: int, o: int, k: int = 3, **options: Any) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(i, o, k, padding=k // 2, bias=False, **options), nn.BatchNorm2d(o), nn.ReLU())


@architecture
def perceptron() -> Made:
    return nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Dropout(), nn.Linear(20, 5), nn.Softmax(-1)), (
        torch.randn(4, 10),
    )


@architecture
def lenet() -> Made:
    features = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2)
    )
    return nn.Sequential(features, nn.Flatten(), nn.Linear(400, 84), nn.Linear(84, 10)), (image(32, 1),)


@architecture
def vgg() -> Made:
    features = nn.Sequential(conv(3, 8), nn.MaxPool2d(2), conv(8, 16), nn.MaxPool2d(3, 2, ceil_mode=True))
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)), (image(30),)


@architecture
def resnet() -> Made:
    parts = {
        "stem": conv(3, 8, 7, stride=2),
        "a": conv(8, 8),
        "b": nn.Conv2d(8, 8, 3, padding=1),
        "c": nn.Conv2d(8, 16, 1, stride=2),
    }

    def forward(p: Any, x: Tensor) -> Tensor:
        x = F.max_pool2d(p["stem"](x), 3, 2, 1)
        return p["c"](F.relu(x + p["b"](p["a"](x)))).mean((2, 3))

    return Of(forward, **parts), (image(),)


@architecture
def mobilenet() -> Made:
    block = nn.Sequential(conv(8, 24, 1), conv(24, 24, 3, groups=24), nn.Conv2d(24, 8, 1), nn.BatchNorm2d(8))
    head = nn.Sequential(nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Hardsigmoid())
    return Of(lambda p, x: p["h"](p["s"](x) + p["b"](p["s"](x))), s=conv(3, 8, stride=2), b=block, h=head), (image(),)


@architecture
def squeeze_and_excite() -> Made:
    gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid())
    return Of(lambda p, x: p["c"](x) * p["g"](p["c"](x)), c=conv(3, 8), g=gate), (image(),)


@architecture
def densenet() -> Made:
    return Of(lambda p, x: p["b"](torch.cat([x, p["a"](x)], 1)), a=conv(3, 5), b=conv(8, 4)), (image(),)


@architecture
def inception() -> Made:
    branches = {
        "a": conv(3, 4, 1),
        "b": conv(3, 4),
        "c": conv(3, 4, 5),
        "d": nn.AvgPool2d(3, 1, 1, count_include_pad=False),
    }
    return Of(lambda p, x: torch.cat([p[n](x) for n in "abcd"], 1), **branches), (image(),)


@architecture
def unet() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        top = p["down"](x)
        return p["out"](torch.cat([top, p["up"](p["low"](F.max_pool2d(top, 2)))], 1))

    up = nn.ConvTranspose2d(16, 8, 2, stride=2)
    return Of(forward, down=conv(3, 8), low=conv(8, 16), up=up, out=nn.Conv2d(16, 2, 1)), (image(),)


@architecture
def generator() -> Made:
    up = [
        nn.ConvTranspose2d(8, 4, 4, 2, 1),
        nn.BatchNorm2d(4),
        nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1),
    ]
    return nn.Sequential(*up, nn.Tanh()), (image(5, 8),)


@architecture
def yolo() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        low = p["b"](p["a"](x))
        pooled = torch.cat([low, F.max_pool2d(low, 5, 1, 2), F.max_pool2d(low, 9, 1, 4)], 1)
        fine = torch.cat([F.interpolate(p["s"](pooled), scale_factor=2, mode="nearest"), p["a"](x)], 1)
        boxes = p["h"](fine).flatten(2).transpose(1, 2)
        xy, wh, rest = boxes.split([2, 2, 4], -1)
        return torch.cat([xy.sigmoid() * 2 - 0.5, wh.exp(), rest.sigmoid()], -1)

    parts = {"a": conv(3, 8, stride=2), "b": conv(8, 8, stride=2), "s": conv(24, 8, 1), "h": nn.Conv2d(16, 8, 1)}
    return Of(forward, **parts), (image(),)


@architecture
def convnext() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        x = p["stem"](x)
        y = p["depth"](x).permute(0, 2, 3, 1)
        return x + p["two"](F.gelu(p["one"](p["norm"](y)))).permute(0, 3, 1, 2)

    parts = {"stem": nn.Conv2d(3, 8, 4, 4), "depth": nn.Conv2d(8, 8, 7, padding=3, groups=8), "norm": nn.LayerNorm(8)}
    return Of(forward, **parts, one=nn.Linear(8, 32), two=nn.Linear(32, 8)), (image(),)


@architecture
def norms() -> Made:
    layers = [
        nn.GroupNorm(2, 8),
        nn.InstanceNorm2d(8, affine=True),
        nn.LocalResponseNorm(4),
        nn.PReLU(8),
        nn.ELU(),
        nn.SELU(),
    ]
    return nn.Sequential(nn.Conv2d(3, 8, 3), *layers), (image(),)


@architecture
def super_resolution() -> Made:
    return nn.Sequential(conv(3, 12), nn.PixelShuffle(2), nn.Upsample(scale_factor=1.5, mode="bicubic")), (image(16),)


@architecture
def resized() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        a = F.interpolate(x, size=(20, 24), mode="bilinear", align_corners=True)
        return a + F.interpolate(x, size=(20, 24), mode="bilinear", align_corners=False)

    return Of(forward), (image(13),)


@architecture
def spatial_transformer() -> Made:
    def forward(p: Any, x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(p["c"](x), grid, align_corners=False, padding_mode="border")

    return Of(forward, c=conv(3, 4)), (image(12), torch.rand(2, 8, 8, 2) * 2 - 1)


@architecture
def video() -> Made:
    layers = [nn.Conv3d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.AdaptiveAvgPool3d(1), nn.Flatten()]
    return nn.Sequential(*layers), (torch.randn(1, 3, 4, 8, 8),)


@architecture
def wavenet() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        for name in ("a", "b"):
            filtered, gate = p[name](x).chunk(2, 1)
            x = x[..., : filtered.shape[-1]] + filtered.tanh() * gate.sigmoid()
        return x

    return Of(forward, a=nn.Conv1d(4, 8, 3, dilation=2), b=nn.Conv1d(4, 8, 3, dilation=4)), (torch.randn(2, 4, 40),)


@architecture
def lstm() -> Made:
    return nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True), (torch.randn(3, 7, 6),)


@architecture
def gru() -> Made:
    return nn.GRU(6, 5, bidirectional=True), (torch.randn(7, 3, 6),)


@architecture
def elman() -> Made:
    return nn.RNN(6, 5, nonlinearity="relu", batch_first=True), (torch.randn(3, 7, 6),)


@architecture
def transformer() -> Made:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 5, 16),)


class Attention(nn.Module):
    """Causal attention with rotary positions and a cache, as in decoders."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, x: Tensor, past_k: Tensor, past_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        normal = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q, k, v = (part.unflatten(-1, (4, 4)).transpose(1, 2) for part in self.qkv(normal).chunk(3, -1))
        places = torch.arange(x.shape[1]) + past_k.shape[2]
        angles = places[:, None] * torch.tensor([1.0, 0.1])
        q, k = (self.turned(part, angles.cos(), angles.sin()) for part in (q, k))
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
        mask = torch.arange(k.shape[2])[None] <= places[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.out(y.transpose(1, 2).flatten(2)), k, v

    @staticmethod
    def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


@architecture
def decoder() -> Made:
    past = torch.randn(2, 4, 3, 4)
    return Attention(), (torch.randn(2, 2, 16), past, past.flip(0))


@architecture
def bert() -> Made:
    def forward(p: Any, ids: Tensor, mask: Tensor) -> Tensor:
        x = p["norm"](p["words"](ids) + p["places"](torch.arange(ids.shape[1])))
        x, _ = p["attention"](x, x, x, key_padding_mask=mask == 0, need_weights=False)
        return p["out"](x[:, 0]).tanh()

    parts = {"words": nn.Embedding(30, 16), "places": nn.Embedding(8, 16), "norm": nn.LayerNorm(16)}
    attention = nn.MultiheadAttention(16, 2, batch_first=True)
    inputs = (torch.randint(0, 30, (2, 6)), torch.tensor([[1, 1, 1, 1, 0, 0], [1] * 6]))
    return Of(forward, **parts, attention=attention, out=nn.Linear(16, 16)), inputs


@architecture
def vit() -> Made:
    def forward(p: Any, x: Tensor) -> Tensor:
        patches = p["patch"](x).flatten(2).transpose(1, 2)
        return p["head"](p["block"](patches).mean(1))

    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return Of(forward, patch=nn.Conv2d(3, 16, 8, 8), block=block, head=nn.Linear(16, 10)), (image(),)


@architecture
def ranking() -> Made:
    def forward(p: Any, x: Tensor) -> Any:
        scores, places = p["l"](x).topk(3, dim=-1)
        order = torch.argsort(scores.sum(-1))
        return scores[order], places, x.cumsum(1).clamp(-1, 1), torch.where(x > 0, x, x.exp()), x.gather(1, places)

    return Of(forward, l=nn.Linear(6, 6)), (torch.randn(4, 6),)


@architecture
def autoencoder() -> Made:
    down = nn.Sequential(nn.Conv2d(3, 6, 3, 2, 1), nn.GELU(approximate="tanh"), nn.Conv2d(6, 4, 3, 2, 1))
    up = nn.Sequential(
        nn.Upsample(scale_factor=2), nn.Conv2d(4, 6, 3, padding=1), nn.Mish(), nn.ZeroPad2d(1), nn.Conv2d(6, 3, 3)
    )
    return nn.Sequential(down, up), (image(),)


def export(name: str, path: Path, dynamo: bool) -> tuple[Tensor, ...]:
    """Write the architecture with random weights; return the inputs with which it was exported."""
    torch.manual_seed(0)
    module, inputs = ARCHITECTURES[name]()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module.eval(), inputs, str(path), dynamo=dynamo, verbose=False)
    finally:
        logging.disable(logging.NOTSET)
    return inputs
