"""Campaigns: the runtime, and the choice and order of the cases, until all are done or the time is over."""

from __future__ import annotations

import fnmatch
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.core.diagnostics.nearest import likely_names
from irexec.tools.conformance.block import JudgeBlock
from irexec.tools.conformance.drawing import operators
from irexec.tools.conformance.grown import NAME as GROWN
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.names import UnreadableName

BLOCK = 8
_BLOCKS, _FEWEST_ITEMS = 8, 16
"""The number of blocks in an item, during which no process waits for others; fewer if a round has too few blocks for
this number of items."""
PART, PART_OF_MANY = 8, 64
"""The number of blocks after which a campaign checks the time, with one process and with several processes, which are
started anew for each part."""
GROWN_SHARE = 32
"""The number of blocks of grown graphs for each block of an operator."""
QUICK, FULL = 16, 400
"""The number of cases of each operator in the quick and in the full list."""
_EXACT = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "KV_CACHE_PRECISION": "f32"}


@dataclass(frozen=True)
class Extent:
    """The number of cases for each operator and pattern, or the seconds after which a campaign ends."""

    cases: int | None = None
    seconds: float | None = None


def task_of(
    runtime: str,
    config: Mapping[str, str],
    *,
    device: str = "CPU",
    mode: str = "lowered",
    python: str = "",
    seed: int = 0,
    limit: float | None = 60.0,
) -> JudgeBlock:
    """Return the task that judges cases in a runtime, with the settings that its cases need.

    `runtime`: openvino on a device, irexec in a mode, onnxruntime, reference, or FILE.py:Class.
    """
    base: dict[str, Any] = {"openvino": {"device": device}, "irexec": {"mode": mode}}.get(runtime, {})
    own = {"f32": {**base, **config}, "default": {**base, **config}}
    if runtime == "openvino":
        further = {"f32": {}, "one-thread": {"INFERENCE_NUM_THREADS": "1"}, "requests": {"NUM_STREAMS": "2"}}
        own |= {name: {**base, **_EXACT, **more, **config} for name, more in further.items()}
    if ".py:" in runtime:
        file, _, name = runtime.rpartition(":")
        runtime = f"{os.path.abspath(file)}:{name}"
    return JudgeBlock(runtime, json.dumps(own), python, seed, limit)


def items_of(
    names: Sequence[str], only: Sequence[str], extent: Extent, frontend: str = "ir", seed: int = 0, *, part: int = PART
) -> Iterable[list[str]]:
    """Return the items of the cases with these names, or of those that `only` selects, in parts (see `rounds`). Raises
    UnreadableName.
    """
    if names and only:
        raise UnreadableName("--case names cases and --only operators: give one of them")
    for name in names:
        case_named(name)
    found = families(only, frontend)
    if not found:
        near = likely_names(only[0], families(frontend=frontend))
        hint = f": {near}" if near else ""
        raise UnreadableName(f"--only {' '.join(only)}: no operator or pattern matches{hint}")
    return [[*names]] if names else rounds(found, extent, seed, part=part)


def families(only: Sequence[str] = (), frontend: str = "ir") -> list[str]:
    """Return the operators and graph patterns whose names match one of the patterns in `only`; all if it is empty. Case
    does not matter, and an operator's name without a version stands for all its versions. `frontend`: "onnx" for the
    operators of ONNX, whose prefix `onnx.` may be left out.
    """
    if frontend == "onnx":
        from irexec.tools.conformance.onnx_cases import onnx_operators

        names = onnx_operators()
    else:
        from irexec.tools.conformance.graphs import patterns

        names = [*map(str, operators()), *patterns(), GROWN]
    if not only:
        return names
    wanted = [pattern.lower().removeprefix("onnx.") for pattern in only]
    plain = {name: name.lower().removeprefix("onnx.") for name in names}
    forms = {name: (text, text.rpartition("-")[0]) for name, text in plain.items()}
    return [name for name in names if any(fnmatch.fnmatchcase(f, w) for f in forms[name] for w in wanted)]


def rounds(
    names: Sequence[str],
    extent: Extent,
    seed: int = 0,
    *,
    part: int = PART,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[list[str]]:
    """Yield the items of `JudgeBlock`, each with some blocks, in parts. A round has a block of every operator and
    pattern, in an order drawn from the seed, so that a campaign that ends early has covered a part of every operator
    and pattern. `graph.grown` has more cases than other patterns. `part`: the number of blocks after which the time is
    checked."""
    begun, first = clock(), 0
    while extent.cases is None or first < extent.cases:
        count = BLOCK if extent.cases is None else min(BLOCK, extent.cases - first)
        blocks = [f"{name}#{first}+{count}" for name in names if name != GROWN]
        if GROWN in names:
            begin = first * GROWN_SHARE
            blocks += [f"{GROWN}#{begin + number * count}+{count}" for number in range(GROWN_SHARE)]
        blocks = [blocks[int(place)] for place in np.random.default_rng([seed, first]).permutation(len(blocks))]
        size = min(_BLOCKS, max(1, len(blocks) // _FEWEST_ITEMS))
        for begin in range(0, len(blocks), part):
            if extent.seconds is not None and clock() - begun >= extent.seconds:
                return
            chosen = blocks[begin : begin + part]
            yield [" ".join(chosen[start : start + size]) for start in range(0, len(chosen), size)]
        first += count
