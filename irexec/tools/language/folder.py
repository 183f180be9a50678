"""A folder that optimum-intel or openvino.genai's exporter wrote: the models in it, and its settings in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from irexec.core.diagnostics import IRError, Place
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.frontends.reading import accepted, read
from irexec.ir.beside import Unreadable, json_of
from irexec.model.arrays.given import Given
from irexec.model.graph.model import Model, Value
from irexec.model.graph.ports import port_name
from irexec.tools.run.run import complete

PARTS = {
    "openvino_tokenizer": "tokenizer",
    "openvino_detokenizer": "detokenizer",
    "openvino_encoder_model": "encoder",
    "openvino_decoder_model": "decoder",
    "openvino_decoder_with_past_model": "decoder of later tokens, in older exports",
    "openvino_model": "language model",
    "openvino_language_model": "language model, of embeddings",
    "openvino_text_embeddings_model": "embeddings of tokens",
    "openvino_text_embeddings_per_layer_model": "embeddings of tokens for each block",
    "openvino_vision_embeddings_model": "embeddings of images",
    "openvino_vision_embeddings_merger_model": "blocks of the vision encoder",
    "openvino_vision_embeddings_pos_model": "positions in images",
    "openvino_vision_projection_model": "projection of images",
    "openvino_vision_resampler_model": "resampler of images",
    "openvino_multi_modal_projector_model": "projection of images",
    "openvino_resampler_model": "resampler of images",
}
"""The name of a model in a folder → what it computes."""
(TOKENIZER, DETOKENIZER, ENCODER, _DECODER, WITH_PAST, _WHOLE, _OF_EMBEDDINGS, EMBEDDINGS, PER_LAYER, *OF_IMAGES) = (
    PARTS
)
VISION, MERGER = OF_IMAGES[:2]
GENERATING = (_DECODER, _OF_EMBEDDINGS, _WHOLE)
"""The models that compute the next token; a folder has one of them."""


def unusable(code: str, message: str, path: Path, hint: str | None = None) -> IRError:
    """Return the error about a folder that cannot be used for a text."""
    findings = Findings()
    findings.add(code, message, place=Place(str(path)), hint=hint)
    return IRError(findings.report)


def known_name(port: Value) -> str:
    """Return the name of a port under which exporters refer to it: the longest, as others are often numbers."""
    return max((*port.names, port_name(port)), key=len)


def filled(model: Model, known: Mapping[str, Array], seed: int = 0) -> list[Array]:
    """Return the inputs of a model: those that are known by name, and typical values. An array without the first axis,
    that of several texts or images, gets it. Raises IRError.
    """
    ranks = {known_name(port): port.type.shape.rank for port in model.inputs}
    given = {name: array[None] if array.ndim + 1 == ranks[name] else array for name, array in known.items()}
    findings = Findings(file=model.file)
    inputs = complete(model, Given(given, seed=seed, typical=True), findings)
    if not findings.report.ok:
        raise IRError(findings.report)
    return [entry.array for entry in inputs if entry.array is not None]


class Folder:
    """The parts of a language model. Models are read when they are asked for; then errors raise IRError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._models: dict[str, Model] = {}

    @cached_property
    def files(self) -> dict[str, Path]:
        """The models in the folder, by name: those of PARTS first, in their order."""
        found = {path.stem: path for path in sorted(self.path.glob("*.xml"))}
        return {name: found[name] for name in sorted(found, key=lambda name: [*PARTS, name].index(name))}

    def part(self, name: str) -> Model:
        """Return a model of the folder."""
        if name not in self._models:
            if name not in self.files:
                hint = "convert_tokenizer of OpenVINO Tokenizers writes it" if name == TOKENIZER else None
                raise unusable("U001", f"the folder contains no {name}.xml", self.path, hint)
            self._models[name] = accepted(read(self.files[name]))
        return self._models[name]

    @property
    def models(self) -> list[Model]:
        """The models that have been read."""
        return list(self._models.values())

    @property
    def generating(self) -> str:
        """The name of the model that computes the next token."""
        for name in GENERATING:
            if name in self.files:
                return name
        names = ", ".join(f"{name}.xml" for name in reversed(GENERATING))
        raise unusable("U012", f"the folder contains no model that generates text: none of {names}", self.path)

    def settings(self, file: str) -> dict[str, Any]:
        """Return the contents of a JSON file of the folder; empty if there is none, or if it holds something else."""
        with suppress(OSError, Unreadable):
            found = json_of(self.path / file)
            return found if isinstance(found, dict) else {}
        return {}

    def setting(self, name: str) -> Any:
        """Return a setting of generation: of generation_config.json, or of config.json, also of its text model."""
        config = self.settings("config.json")
        for known in (self.settings("generation_config.json"), config, config.get("text_config")):
            if isinstance(known, dict) and known.get(name) is not None:
                return known[name]
        return None

    @property
    def ends(self) -> set[int]:
        """The tokens that end a text."""
        found = self.setting("eos_token_id")
        return {end for end in (found if isinstance(found, list) else [found]) if isinstance(end, int)}
