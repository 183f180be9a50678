"""`irexec compare FOLDER --prompt --settings`: how far apart two sides are with each setting that matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from irexec.tools.bisect.settings import OPENVINO
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.language.distributions import Tried
from irexec.tools.language.prompt import OfRuntime, Teacher, distances

_MATTER = {
    "INFERENCE_PRECISION_HINT",
    "KV_CACHE_PRECISION",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "EXECUTION_MODE_HINT",
    "SNIPPETS_MODE",
}
"""The properties that change how a language model is computed: types, caches, activations, kernels of attention."""


def tried(
    teacher: Teacher, given: Mapping[str, str], side_of: Callable[[Mapping[str, str]], OfRuntime]
) -> Iterator[Tried]:
    """Yield the outcome of each setting. `given`: the properties that the user set, which are kept."""
    for setting in OPENVINO:
        if not _MATTER.issuperset(setting.config) or not setting.config or given.keys() & setting.config:
            continue
        try:
            yield Tried(setting.name, distances(teacher, side_of({**given, **setting.config}).logits(teacher)))
        except CannotRun as error:
            yield Tried(setting.name, [], str(error))
