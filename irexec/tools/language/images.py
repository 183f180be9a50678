"""An image in a text: its embeddings, computed by the models of a folder, and the places and positions they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Model
from irexec.tools.language.folder import MERGER, OF_IMAGES, VISION, Folder, filled, known_name, unusable

_TOKENS = ("image_token_id", "image_token_index", "img_context_token_id")
"""The settings that name the token in whose places the embeddings are put."""
_AROUND = (("vision_start_token_id", "vision_end_token_id"), ("boi_token_index", "eoi_token_index"))
"""The settings that name the tokens before and after an image."""
_OF_MERGER = {"hidden_states", "attention_mask", "rotary_pos_emb", "window_attention_mask", "window_index"}

Run = Callable[[str, list[Array]], Array]
"""Returns the first result of a model of the folder for its inputs."""


class Image(NamedTuple):
    """The embeddings of an image [count, width], and the token in whose places they are put. `around`: the tokens
    before and after them; `begin`: the token that begins a text. `grid`: the rows and columns of the embeddings in
    models whose positions have three axes.
    """

    embedded: Array
    token: int
    around: tuple[list[int], list[int]]
    begin: Any
    grid: tuple[int, int] | None = None

    def named(self, tokens: Array) -> Array:
        """Return the tokens [1, n] of a prompt with the image: in the place of its token, or else before the text."""
        text, places = tokens[0].tolist(), np.flatnonzero(tokens[0] == self.token)
        whole = [self.token] * len(self.embedded)
        if len(places):
            text[places[0] : places[-1] + 1] = whole
        else:
            first, last = self.around
            start = int(text[0] == self.begin)
            text[start:start] = [*first, *whole, *last]
        return np.array([text], np.int64)

    def placed(self, tokens: Array) -> Array:
        """Return where the tokens [batch, n] of a first call name the image."""
        named: Array = tokens == self.token
        return named & (named.cumsum(axis=1) <= len(self.embedded))

    def into(self, embedded: Array, tokens: Array) -> Array:
        """Return the embeddings of the tokens of a first call, with those of the image in their places."""
        found = embedded.astype(np.float32)
        for row, places in zip(found, self.placed(tokens), strict=True):
            row[places] = self.embedded[: places.sum()]
        return found

    def positions(self, counted: Array, tokens: Array | None) -> Array:
        """Return the positions in time, height and width [3, batch, n]. `counted`: those in a text; `tokens`: those of
        a first call. An image takes as many positions as its longer side.
        """
        found = np.stack([counted] * 3)
        if self.grid is None:
            return found
        rest = max(self.grid) - len(self.embedded)
        if tokens is None:
            return found + rest
        for row, places in enumerate(self.placed(tokens)):
            if not places.any():
                continue
            begin = int(places.argmax())
            found[:, row, begin + int(places.sum()) :] += rest
            rows, columns = np.divmod(np.arange(places.sum()), self.grid[1])
            found[:, row, places] = counted[row, begin] + np.stack([np.zeros_like(rows), rows, columns])
        return found


def seen(folder: Folder, pixels: Array, run: Run) -> Image | None:
    """Return the image that the models of a folder compute of pixels [images, channels, height, width]; None if irexec
    does not know how these models are put together. Raises IRError.
    """
    token = next((found for name in _TOKENS if isinstance(found := folder.setting(name), int)), None)
    parts = [name for name in folder.files if name in OF_IMAGES]
    if token is None or VISION not in parts:
        return None
    if parts == [VISION] and _rank(folder.part(VISION)) == 4:
        embedded, grid = (
            run(VISION, filled(folder.part(VISION), {known_name(folder.part(VISION).inputs[0]): pixels})),
            None,
        )
    elif parts == [VISION, MERGER] and _rank(folder.part(VISION)) == 2 and _merges(folder.part(MERGER)):
        patches = Patches(folder, pixels)
        embedded, grid = run(MERGER, list(patches.inputs(run(VISION, [patches.values])))), patches.grid
    else:
        return None
    return Image(embedded.reshape(-1, embedded.shape[-1]), token, _around(folder), folder.setting("bos_token_id"), grid)


def unknown(parts: Sequence[str]) -> str:
    """Return a sentence about models that are not put together."""
    return f"the image is not put into the text: irexec does not know how to run {' and '.join(parts)} on it"


def _rank(model: Model) -> int | None:
    """Return the rank of the only input of a model."""
    return model.inputs[0].type.shape.rank if len(model.inputs) == 1 else None


def _merges(model: Model) -> bool:
    return _OF_MERGER.issuperset(map(known_name, model.inputs))


def _around(folder: Folder) -> tuple[list[int], list[int]]:
    """Return the tokens before and after an image that a prompt does not name."""
    for names in _AROUND:
        first, last = map(folder.setting, names)
        if isinstance(first, int) and isinstance(last, int):
            return [first], [last]
    return [], []


class Patches:
    """The patches of an image as Qwen2-VL reads them: in squares that one embedding merges. `grid`: rows and columns
    of the embeddings. Settings raise IRError if they are missing or do not divide the image.
    """

    def __init__(self, folder: Folder, pixels: Array) -> None:
        self._folder = folder
        self._inputs = list(map(known_name, folder.part(MERGER).inputs))
        self._side, self._merged = self._setting("patch_size"), self._setting("spatial_merge_size")
        if len(pixels) != 1 or any(extent % (self._side * self._merged) for extent in pixels.shape[2:]):
            allowed = f"[1, channels, height, width], both multiples of {self._side * self._merged}"
            raise unusable("U006", f"the image has the shape {list(pixels.shape)}", folder.files[VISION], allowed)
        self._pixels = pixels
        height, width = (extent // self._side for extent in pixels.shape[2:])
        self.grid = height // self._merged, width // self._merged

    def _setting(self, *names: str) -> int:
        config = self._folder.settings("config.json").get("vision_config")
        known = config if isinstance(config, dict) else {}
        found = next((known[name] for name in names if isinstance(known.get(name), int) and known[name] > 0), None)
        if found is None:
            message = f"config.json does not state the {names[0]} of vision_config"
            raise unusable("U006", message, self._folder.path / "config.json")
        return int(found)

    @property
    def values(self) -> Array:
        """The patches [count, channels * times * side * side]: an image is a film of equal pictures."""
        times, side, merged, (rows, columns) = self._setting("temporal_patch_size"), self._side, self._merged, self.grid
        film = np.repeat(self._pixels.astype(np.float32), times, axis=0)
        cut = film.reshape(times, -1, rows, merged, side, columns, merged, side)
        return cut.transpose(2, 5, 3, 6, 1, 0, 4, 7).reshape(rows * columns * merged**2, -1)

    def inputs(self, hidden: Array) -> Iterator[Array]:
        """Yield the inputs of the model that merges the patches. All patches of an image see each other, in models with
        windows those of a window.
        """
        order, windows = self._windows()
        within = np.where(windows[:, None] == windows, np.float32(0), np.float32("-inf"))
        known: dict[str, Any] = {
            "hidden_states": hidden,
            "attention_mask": np.zeros((1, len(hidden), len(hidden)), np.float32),
            "rotary_pos_emb": self._angles(),
            "window_attention_mask": within[None],
            "window_index": order,
        }
        for name, port in zip(self._inputs, self._folder.part(MERGER).inputs, strict=True):
            yield known[name].astype(port.element_type.dtype or np.float32, copy=False)

    def _windows(self) -> tuple[Array, Array]:
        """Return the order in which the windows follow each other, of squares of patches, and the window of each patch
        in this order.
        """
        size = 1
        if "window_index" in self._inputs:
            size = max(1, self._setting("window_size") // (self._side * self._merged))
        rows, columns = np.divmod(np.arange(self.grid[0] * self.grid[1]), self.grid[1])
        window = rows // size * self.grid[1] + columns // size
        order = np.argsort(window, kind="stable")
        return order, np.repeat(window[order], self._merged**2)

    def _angles(self) -> Array:
        """Return the angles of the rotation of each patch, of its row and of its column."""
        width = self._setting("embed_dim", "hidden_size") // self._setting("num_heads") // 2
        steps = (10000.0 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
        places = np.indices([extent * self._merged for extent in self.grid]).astype(np.float32)
        angles = np.stack([self._in_squares(each) for each in places], axis=1)[..., None] * steps
        return angles.reshape(len(angles), -1)

    def _in_squares(self, places: Array) -> Array:
        rows, columns = self.grid
        return places.reshape(rows, self._merged, columns, self._merged).transpose(0, 2, 1, 3).reshape(-1)
