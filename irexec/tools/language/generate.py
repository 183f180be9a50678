"""Generating text: the tokens that a model prefers, one after another, with their times and the memory they take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.structure import CONST
from irexec.core.types import Array
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel, Listener
from irexec.runtime.lowering.backend import Backend
from irexec.tools.inspect.summary import stored_bytes
from irexec.tools.language.decoder import Decoder
from irexec.tools.language.folder import Folder, unusable
from irexec.tools.language.images import unknown
from irexec.tools.language.text import Texts, as_chat


@dataclass(slots=True)
class Step:
    """One call: its inputs, the logits of the next token, the token that the model prefers, the time that the call took
    and the bytes of the caches after it.
    """

    inputs: list[Array]
    logits: Array
    token: int
    seconds: float
    cache: int


def steps(
    decoder: Decoder,
    compiled: CompiledModel,
    most: int,
    *,
    forced: Sequence[int] = (),
    listeners: Sequence[Listener] = (),
) -> Iterator[Step]:
    """Yield the calls of a greedy generation: the prompt, then one token each; a token that ends the text is last.

    `compiled`: the model of the decoder. `forced`: the tokens that the steps choose, instead of the preferred ones.
    Raises IRError.
    """
    request, ends = compiled.create_infer_request(listeners), decoder.folder.ends
    tokens, past, results = decoder.start, 0, list[Array]()
    for number in range(most):
        inputs = decoder.inputs(tokens, past, results)
        begin = time.perf_counter()
        results = list(request.infer(inputs).to_tuple())
        seconds = time.perf_counter() - begin
        logits = decoder.scores(results)
        token = forced[number] if forced else int(logits.argmax())
        states = sum(state.state.nbytes for state in request.query_state())
        yield Step(inputs, logits, token, seconds, states + decoder.cached(results))
        if token in ends:
            return
        if decoder.rereads:
            tokens = np.concatenate([tokens, [[token]]], axis=1)
        else:
            past += tokens.shape[1]
            tokens = np.array([[token]])


@dataclass(slots=True)
class Generated:
    """A text that a model continued. `seconds`: of the prompt, and of all later tokens; `memory` in bytes: weights,
    caches at the end, and the peak of the process, if the system reports it.
    """

    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    seconds: list[float] = field(default_factory=list)
    memory: dict[str, int] = field(default_factory=dict)
    ended: bool = False

    @property
    def rate(self) -> float | None:
        """The number of tokens per second after the prompt; None if there are none."""
        later = sum(self.seconds[1:])
        return (len(self.seconds) - 1) / later if later else None

    def to_dict(self) -> dict[str, Any]:
        """Return the text for JSON."""
        return {
            "kind": "generated",
            "text": self.text,
            "prompt": self.prompt,
            "tokens": self.tokens,
            "ended": self.ended,
            "seconds": self.seconds,
            "rate": self.rate,
            "memory": self.memory,
        }


def generate(
    folder: Folder,
    prompt: str,
    most: int,
    *,
    raw: bool = False,
    pixels: Array | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Generated:
    """Return the greedy continuation of a prompt. `raw`: without the chat template; `pixels`: an image in the text, or
    what an encoder reads. Raises IRError.
    """
    texts = Texts(folder)
    tokens = texts.tokens(prompt if raw else as_chat(folder, prompt, image=pixels is not None))
    decoder = Decoder(folder, tokens, pixels=pixels)
    if decoder.alone:
        raise unusable("U012", unknown(decoder.alone), folder.path)
    found = Generated(decoder.prompt[0].tolist())
    compiled = CompiledModel(decoder.model, Backend())
    for step in steps(decoder, compiled, most):
        found.seconds.append(step.seconds)
        found.ended = step.token in folder.ends
        if not found.ended:
            found.tokens.append(step.token)
        found.memory["cache"] = step.cache
        progress(f"{len(found.seconds)} tokens")
    found.text = texts.text(found.tokens)
    found.memory["weights"] = sum(map(weights, folder.models))
    if (peak := _peak()) is not None:
        found.memory["peak"] = peak
    return found


def weights(model: Model) -> int:
    """Return the bytes of the constants of a model, as the file stores them."""
    return sum(stored_bytes(node) for node in model.walk() if node.type == CONST)


def _peak() -> int | None:
    """Return the largest number of bytes that the process had in memory; None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
