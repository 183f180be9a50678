"""Small networks of kinds that packages only have in large sizes, for dynamic_exports.py: U-Net, YOLO, detectors of
torchvision, readers of text lines, upscalers, decoders of texts.

A network with inputs other than an image lists them in `examples`, each with its dynamic axes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

# The fused attention of PyTorch has no counterpart in ONNX.
torch.backends.mha.set_fastpath_enabled(False)
Examples = dict[str, tuple[torch.Tensor, dict[int, str]]]
IMAGE = {0: "batch", 2: "H", 3: "W"}


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU())  # noqa: E731
        self.down = nn.ModuleList([block(3, 8), block(8, 16), block(16, 32)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.after = nn.ModuleList([block(32, 16), block(16, 8)])

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        skips = []
        for number, block in enumerate(self.down):
            image = block(image if not number else nn.functional.max_pool2d(image, 2))
            skips.append(image)
        for up, after, skip in zip(self.up, self.after, skips[-2::-1], strict=True):
            image = after(torch.cat([up(image), skip], 1))
        return image


class Yolo(nn.Module):
    """A detector with heads of three strides that are joined, followed by the selection of the best boxes."""

    def __init__(self, suppressed: bool) -> None:
        super().__init__()
        import torchvision

        self.nms = torchvision.ops.nms
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.SiLU())  # noqa: E731
        self.stem, self.stages = (
            nn.Sequential(conv(3, 8), conv(8, 8)),
            nn.ModuleList([conv(8, 16)] + [conv(16, 16)] * 2),
        )
        self.lateral, self.head, self.suppressed = nn.Conv2d(32, 16, 1), nn.Conv2d(16, 6, 1), suppressed

    def forward(self, image: torch.Tensor) -> Any:
        levels = []
        data = self.stem(image)
        for stage in self.stages:
            data = stage(data)
            levels.append(data)
        for number in (1, 0):
            up = nn.functional.interpolate(levels[number + 1], scale_factor=2.0)
            levels[number] = self.lateral(torch.cat([up, levels[number]], 1))
        found = torch.cat([self.head(level).flatten(2) for level in levels], 2).transpose(1, 2)
        if not self.suppressed:
            return found
        boxes, scores = found[0, :, :4], found[0, :, 4].sigmoid()
        corners = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:].exp()], 1)
        kept = self.nms(corners, scores, 0.5)
        return corners[kept], scores[kept]


def step(given: int, made: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(given, made, 3, stride, 1), nn.BatchNorm2d(made), nn.ReLU())


class Trunk(nn.Sequential):
    """A trunk for the detectors of torchvision, whose result has an eighth of the image's size."""

    out_channels: Any

    def __init__(self, channels: int = 16) -> None:
        super().__init__(step(3, 8, 2), step(8, 16, 2), step(16, channels, 2))
        self.out_channels = channels


class Detector(nn.Module):
    """A detector of torchvision for one image: boxes, scores and labels."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        from torchvision.models import detection
        from torchvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator

        anchors = AnchorGenerator(sizes=((16, 32),), aspect_ratios=((0.5, 1.0, 2.0),))
        limits = {"min_size": 64, "max_size": 96}
        if kind == "faster_rcnn":
            self.model = detection.FasterRCNN(Trunk(), 4, rpn_anchor_generator=anchors, **limits)
        elif kind == "mask_rcnn":
            self.model = detection.MaskRCNN(Trunk(), 4, rpn_anchor_generator=anchors, **limits)
        elif kind == "retinanet":
            self.model = detection.RetinaNet(Trunk(32), 4, anchor_generator=anchors, **limits)
        elif kind == "fcos":
            single = AnchorGenerator(sizes=((8,),), aspect_ratios=((1.0,),))
            self.model = detection.FCOS(Trunk(32), 4, anchor_generator=single, **limits)
        else:
            trunk = Trunk()
            trunk.out_channels = [16]
            self.model = detection.ssd.SSD(trunk, DefaultBoxGenerator([[2]]), (64, 64), 4)
        self.examples = {"image": (torch.ones(3, 72, 80), {1: "H", 2: "W"})}

    def forward(self, image: torch.Tensor) -> Any:
        found = self.model([image])[0]
        return found["boxes"], found["scores"], found["labels"]


class Lines(nn.Module):
    """A reader of text lines (CRNN): columns of features, a recurrent layer in both directions, classes of each."""

    def __init__(self, recurrent: type[nn.RNNBase] = nn.LSTM) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            step(1, 8), nn.MaxPool2d(2), step(8, 16), nn.MaxPool2d((2, 1)), step(16, 16), nn.MaxPool2d((2, 1))
        )
        self.reader, self.classes = recurrent(64, 8, bidirectional=True, batch_first=True), nn.Linear(16, 20)
        self.examples = {"line": (torch.ones(2, 1, 32, 100), {0: "batch", 3: "W"})}

    def forward(self, line: torch.Tensor) -> torch.Tensor:
        columns = self.trunk(line).flatten(1, 2).transpose(1, 2)
        return self.classes(self.reader(columns)[0]).log_softmax(-1)


class Upscaler(nn.Module):
    """Super-resolution by PixelShuffle, beside an interpolated image."""

    def __init__(self, factor: int, padded: int = 1) -> None:
        super().__init__()
        self.factor, self.padded = factor, padded
        self.body = nn.Sequential(step(3, 8), nn.Conv2d(8, 3 * factor * factor, 3, 1, 1), nn.PixelShuffle(factor))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        height, width = image.shape[-2:]
        rest = ((-height) % self.padded, (-width) % self.padded)
        whole = nn.functional.pad(image, (0, rest[1], 0, rest[0]), "reflect") if self.padded > 1 else image
        made = self.body(whole)[..., : height * self.factor, : width * self.factor]
        return made + nn.functional.interpolate(image, scale_factor=float(self.factor), mode="bilinear")


class Unshuffled(nn.Module):
    """Denoising in blocks of pixels: PixelUnshuffle, layers, PixelShuffle."""

    def __init__(self, block: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.PixelUnshuffle(block), step(3 * block * block, 8), nn.Conv2d(8, 3 * block * block, 1),
            nn.PixelShuffle(block),
        )  # fmt: skip

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image + self.body(image)


class Pyramid(nn.Module):
    """Levels of a feature pyramid that are upsampled to the next level's size, or by a factor of 2."""

    def __init__(self, to_size: bool) -> None:
        super().__init__()
        self.stages = nn.ModuleList([step(3, 8, 2), step(8, 8, 2), step(8, 8, 2)])
        self.to_size = to_size

    def forward(self, image: torch.Tensor) -> Any:
        levels = []
        for stage in self.stages:
            image = stage(image)
            levels.append(image)
        for number in (1, 0):
            given = {"size": levels[number].shape[-2:]} if self.to_size else {"scale_factor": 2.0}
            levels[number] = levels[number] + nn.functional.interpolate(levels[number + 1], **given)
        return tuple(levels)


class Detr(nn.Module):
    """Queries that read an image's features with sines of its rows and columns, as DETR does."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.queries = Trunk(), nn.Parameter(torch.randn(1, 10, 16))
        self.rows, self.columns = nn.Parameter(torch.randn(20, 8)), nn.Parameter(torch.randn(20, 8))
        self.encoder = nn.MultiheadAttention(16, 2, batch_first=True)
        self.decoder, self.head = nn.MultiheadAttention(16, 2, batch_first=True), nn.Linear(16, 6)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        data = self.trunk(image)
        height, width = data.shape[-2:]
        rows, columns = (
            self.rows[:height, None].expand(-1, width, -1),
            self.columns[None, :width].expand(height, -1, -1),
        )
        places = torch.cat([rows, columns], -1).flatten(0, 1)[None]
        tokens = data.flatten(2).transpose(1, 2)
        tokens = tokens + self.encoder(tokens + places, tokens + places, tokens, need_weights=False)[0]
        queries = self.queries.expand(len(image), -1, -1)
        return self.head(self.decoder(queries, tokens + places, tokens, need_weights=False)[0])


class Windows(nn.Module):
    """Attention within windows of an image that is padded to a multiple of the window, as in Swin and SAM."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.patches = size, nn.Conv2d(3, 16, 4, 4)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        data, size = self.patches(image).permute(0, 2, 3, 1), self.size
        batch, height, width, channels = data.shape
        data = nn.functional.pad(data, (0, 0, 0, (-width) % size, 0, (-height) % size))
        rows, columns = data.shape[1] // size, data.shape[2] // size
        parts = data.view(batch, rows, size, columns, size, channels).transpose(2, 3).reshape(-1, size * size, channels)
        parts = self.attention(parts, parts, parts, need_weights=False)[0]
        parts = parts.view(batch, rows, columns, size, size, channels)
        return parts.transpose(2, 3).reshape(batch, rows * size, columns * size, channels)[:, :height, :width]


class Speech(nn.Module):
    """Sound in frames that overlap, a masked encoder, and scores for each eighth of a second."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = nn.Sequential(nn.Conv1d(1, 16, 10, 5), nn.GELU(), nn.Conv1d(16, 16, 3, 2), nn.GELU())
        self.layer, self.head = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), nn.Linear(16, 12)
        self.examples = {"sound": (torch.ones(2, 400), {0: "batch", 1: "samples"})}

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        sound = (sound - sound.mean(-1, keepdim=True)) / (sound.std(-1, keepdim=True) + 1e-5)
        tokens = self.frames(sound[:, None]).transpose(1, 2)
        mask = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        return self.head(self.layer(tokens, src_mask=mask))


class Spectrum(nn.Module):
    """A spectrogram, its mean over time, and layers on both."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.register = nn.Conv1d(17, 8, 3, 2, 1), torch.hann_window(32)
        self.examples = {"sound": (torch.ones(2, 400), {0: "batch", 1: "samples"})}

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        parts = torch.stft(sound, 32, 8, window=self.register, center=False, return_complex=True)
        levels = torch.log(torch.view_as_real(parts).square().sum(-1) + 1e-3)
        return self.layers(levels - levels.mean(2, keepdim=True))


class T5(nn.Module):
    """The encoder and the decoder of T5."""

    def __init__(self) -> None:
        super().__init__()
        import transformers

        config = transformers.T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, use_cache=False,
            decoder_start_token_id=0,
        )  # fmt: skip
        self.model = transformers.T5ForConditionalGeneration(config).eval()
        ids = torch.ones(2, 9, dtype=torch.long)
        self.examples: Examples = {
            "ids": (ids, {0: "batch", 1: "seq"}),
            "decoder_ids": (ids[:, :7], {0: "batch", 1: "steps"}),
        }

    def forward(self, ids: torch.Tensor, decoder_ids: torch.Tensor) -> torch.Tensor:
        states = self.model.encoder(ids)[0]
        return self.model.lm_head(self.model.decoder(decoder_ids, encoder_hidden_states=states)[0])


class Pairs(nn.Module):
    """A tower for images and one for texts, and their similarities (CLIP)."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.words, self.places = Trunk(), nn.Embedding(50, 16), nn.Embedding(24, 16)
        self.examples = {
            "image": (torch.ones(2, 3, 64, 64), IMAGE),
            "ids": (torch.ones(4, 9, dtype=torch.long), {0: "texts", 1: "seq"}),
        }

    def forward(self, image: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        texts = (self.words(ids) + self.places(torch.arange(ids.shape[1]))).mean(1)
        images = self.image(image).mean((2, 3))
        return nn.functional.normalize(images, dim=-1) @ nn.functional.normalize(texts, dim=-1).T


NETS: dict[str, Callable[[], nn.Module]] = {
    "unet": UNet, "yolo": partial(Yolo, False), "yolo_suppressed": partial(Yolo, True),
    "upscaler_2": partial(Upscaler, 2), "upscaler_3": partial(Upscaler, 3), "upscaler_padded": partial(Upscaler, 2, 8),
    "unshuffled_2": partial(Unshuffled, 2), "unshuffled_4": partial(Unshuffled, 4),
    "pyramid_size": partial(Pyramid, True), "pyramid_factor": partial(Pyramid, False), "detr": Detr,
    "windows_4": partial(Windows, 4), "windows_7": partial(Windows, 7),
}  # fmt: skip
TOKENS: dict[str, Callable[[], nn.Module]] = {
    **{kind: partial(Detector, kind) for kind in ("faster_rcnn", "mask_rcnn", "retinanet", "fcos", "ssd")},
    "lines_lstm": Lines, "lines_gru": partial(Lines, nn.GRU), "speech": Speech, "spectrum": Spectrum,
    "t5": T5, "pairs": Pairs,
}  # fmt: skip
