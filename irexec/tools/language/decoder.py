"""The model of a folder that computes the next token, and what its inputs are, derived from their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.model.graph.model import Model, Value
from irexec.model.graph.ports import port_name
from irexec.runtime.engine import CompiledModel
from irexec.tools.language.folder import EMBEDDINGS, ENCODER, OF_IMAGES, PER_LAYER, Folder, filled, known_name, unusable
from irexec.tools.language.images import Image, seen

_PAST = re.compile(r"past_key_values\.(.{1,40})")
"""The name of an input with a cache, which the output `present.` with the same end extends."""
IDS = ("input_ids", "decoder_input_ids")
EMBEDDED = ("inputs_embeds", "decoder_inputs_embeds")


class _Call(NamedTuple):
    """What the inputs of a call are made of: see `Decoder.inputs`."""

    tokens: Array
    past: int
    padding: int
    caches: Sequence[Array]

    @property
    def mask(self) -> Array:
        made = np.ones((len(self.tokens), self.past + self.tokens.shape[1]), np.int64)
        made[-1, : self.padding] = 0
        return made

    @property
    def positions(self) -> Array:
        counted = np.maximum(self.mask.cumsum(axis=1) - 1, 0)
        found: Array = counted[:, self.past :]
        return found


class Decoder:
    """A model that computes the next token. `tokens` are those of the prompt; those of an encoder go to the encoder.

    `prompt`: these tokens, with those of an image; `start`: the tokens of the first call. `names`: one name of each
    input. `before`: the inputs of the first call of each other model that computes what the decoder reads. `alone`: the
    models of images, if irexec does not know how they are put together. Raises IRError.
    """

    def __init__(self, folder: Folder, tokens: Array, seed: int = 0, pixels: Array | None = None) -> None:
        self.folder, self.name = folder, folder.generating
        self.model = folder.part(self.name)
        self.names = list(map(known_name, self.model.inputs))
        self.prompt = self.start = tokens
        self.before: dict[str, list[Array]] = {}
        self.alone: list[str] = []
        self._image: Image | None = None
        self._fixed: dict[str, Array] = {}
        self._parts: dict[str, CompiledModel] = {}
        if "encoder_hidden_states" in self.names:
            self._encode(tokens, seed, pixels)
        elif pixels is not None:
            self._look(pixels)

    def _encode(self, tokens: Array, seed: int, pixels: Array | None) -> None:
        """Run the encoder on the tokens of the prompt, or on an image or sound, of typical values if none is given."""
        model = self.folder.part(ENCODER)
        names = list(map(known_name, model.inputs))
        known = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        if pixels is not None:
            known |= {name: pixels for name in names[:1] if name not in known}
        hidden = self.run(ENCODER, filled(model, {n: known[n] for n in names if n in known}, seed))
        mask = np.ones(hidden.shape[:2], np.int64)
        self._fixed = {"encoder_hidden_states": hidden, "encoder_attention_mask": mask}
        if "input_ids" in names:
            begin = self.folder.setting("decoder_start_token_id")
            begin = begin if isinstance(begin, int) else self.folder.setting("pad_token_id")
            self.start = np.array([[begin if isinstance(begin, int) else 0]], np.int64)

    def _look(self, pixels: Array) -> None:
        """Put an image into the text."""
        parts = [name for name in self.folder.files if name in OF_IMAGES]
        if not parts or EMBEDDINGS not in self.folder.files:
            raise unusable("U012", "the folder contains no models of images", self.folder.path)
        self._image = seen(self.folder, pixels, self.run)
        if self._image is None:
            self.alone = parts
        else:
            self.prompt = self.start = self._image.named(self.start)

    def inputs(
        self, tokens: Array, past: int, caches: Sequence[Array] = (), padding: int = 0, model: Model | None = None
    ) -> list[Array]:
        """Return the inputs for the tokens [batch, n] that follow `past` others. `caches`: the results of the call
        before. `padding`: the tokens at the beginning of the last text that are padding. Of several texts, a call after
        others continues each with the caches of the next one. `model`: another model of later tokens that takes them.
        """
        call = _Call(tokens, past, padding, caches)
        return [
            self._input(port, known_name(port), call).astype(port.element_type.dtype or np.float32, copy=False)
            for port in (model or self.model).inputs
        ]

    def _input(self, port: Value, name: str, call: _Call) -> Array:
        batch, count = call.tokens.shape
        image = None if call.past else self._image
        if name in IDS:
            return call.tokens
        if name in self._fixed:
            return np.repeat(self._fixed[name], batch, axis=0)
        if name in ("attention_mask", "decoder_attention_mask"):
            return call.mask[:, call.past :] if self._window else call.mask
        if name == "position_ids":
            return call.positions if port.type.shape.rank != 3 else self._positions(port, call)
        if name == "cache_position":
            # Models such as Mamba keep the last tokens of a text, which a first call of any length fills.
            return np.arange(call.past, call.past + (count if call.past else self._window or count))
        if name == "beam_idx":
            return np.roll(np.arange(batch), 1) if call.past else np.arange(batch)
        if name == "token_type_ids":
            return np.zeros_like(call.tokens) if image is None else image.placed(call.tokens)
        if name in EMBEDDED:
            embedded = self.run(EMBEDDINGS, [call.tokens])
            return embedded if image is None else image.into(embedded, call.tokens)
        if name == "per_layer_inputs":
            return self.run(PER_LAYER, [call.tokens])
        if name == "visual_pos_masks":
            return np.zeros_like(call.tokens)
        if name == "deepstack_visual_embeds":
            shape = port.type.shape
            return np.zeros([d.value if d.is_static else batch * count for d in shape])
        if (cache := _PAST.fullmatch(name)) is not None:
            return self._cache(port, cache[1], call)
        raise self._refused(port, name)

    def _positions(self, port: Value, call: _Call) -> Array:
        """Return the positions in time, height and width, which are the same in a text."""
        if self._image is not None:
            return self._image.positions(call.positions, None if call.past else call.tokens)
        axes = port.type.shape[0]
        return np.broadcast_to(call.positions, (axes.value if axes.is_static else 3, *call.positions.shape))

    @property
    def _window(self) -> int:
        """The number of tokens that a causal convolution reads, in models that take positions in it; 0 in others."""
        found = self.folder.setting("conv_kernel") if "cache_position" in self.names else None
        return found if isinstance(found, int) else 0

    @property
    def has_caches_as_inputs(self) -> bool:
        """Whether the caches are inputs, so that a step does not depend on the calls before it."""
        return any(map(_PAST.fullmatch, self.names))

    @property
    def rereads(self) -> bool:
        """Whether the model keeps nothing between calls, so that each call reads the whole text."""
        return not self.has_caches_as_inputs and not any(node.has_state for node in self.model.nodes)

    @property
    def reorders(self) -> bool:
        """Whether the model takes several texts, whose caches change places as an input says."""
        return "beam_idx" in self.names

    def run(self, part: str, inputs: list[Array]) -> Array:
        """Return the first result of another model of the folder."""
        if part not in self._parts:
            self._parts[part] = CompiledModel(self.folder.part(part))
            self.before[part] = inputs
        found: Array = self._parts[part](inputs)[0]
        return found

    def _cache(self, port: Value, end: str, call: _Call) -> Array:
        """Return the value of an input that is a cache: of the call before, or without any token."""
        outputs = [port_name(value) for value in self.model.outputs]
        if call.caches and f"present.{end}" in outputs:
            return call.caches[outputs.index(f"present.{end}")]
        shape = port.type.shape
        if shape.rank is None:
            raise self._refused(port, port_name(port))
        batch = len(call.tokens)
        # The extent that grows is 0.
        return np.zeros([d.value if d.is_static else 0 if axis else batch for axis, d in enumerate(shape)], np.float32)

    def cached(self, results: Sequence[Array]) -> int:
        """Return the bytes of the caches among the results of a call."""
        names = (port_name(value) for value in self.model.outputs)
        return sum(array.nbytes for name, array in zip(names, results, strict=True) if name.startswith("present."))

    def _refused(self, port: Value, name: str) -> IRError:
        findings = Findings(file=self.model.file)
        message = f"the input {name!r} is none that irexec knows of language models: its values for a text are unknown"
        findings.add("U006", message, layer=port.node.ref, allowed=f"e.g. {', '.join(IDS + EMBEDDED)}")
        return IRError(findings.report)

    def scores(self, results: Sequence[Array]) -> Array:
        """Return the logits of the next token, after the last of the given tokens, in f32."""
        outputs = [known_name(value) for value in self.model.outputs]
        logits = results[outputs.index("logits") if "logits" in outputs else 0]
        if logits.ndim < 2 or not logits.size:
            raise unusable("U012", f"{self.name}.xml computes no logits", self.folder.files[self.name])
        found: Array = logits.reshape(-1, logits.shape[-1])[-1].astype(np.float32)
        return found


def is_language_model(model: Model) -> bool:
    """Return whether a model reads tokens or their embeddings, and keeps caches in variables."""
    names = {name for port in model.inputs for name in port.names}
    return not names.isdisjoint(IDS + EMBEDDED) and any(node.has_state for node in model.nodes)
