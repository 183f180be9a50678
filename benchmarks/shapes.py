"""Accepted sizes against brute force: `irexec.shapes` and OpenVINO's `reshape` at the same combinations of sizes.

python benchmarks/shapes.py [--count N] [--cache FILE.json] [MODEL.xml ...]

Without models, those of dynamic_models.py and _2 to _8; dynamic_exports.py writes others. For each model: the time of
the study, the combinations at which both agree, those that irexec accepts and OpenVINO refuses, and the reverse, and
output sizes that differ or are not known. What OpenVINO's `reshape` accepts and running refuses counts as refused.
`--cache` keeps OpenVINO's answers for later runs. At the end: how many models of each kind are described exactly.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import irexec
from irexec.core.types import PartialShape

LARGEST_RUN = 20_000_000
"""The number of elements of inputs up to which OpenVINO also runs combinations that irexec refuses; larger ones are not
compared.
"""
LIKELY = (1, 2, 3, 7, 8, 14, 16, 32, 33, 48, 50, 64, 96, 100, 128, 160, 224, 256, 384, 512, 513)


def combinations(shapes: irexec.Shapes, count: int) -> list[tuple[int, ...]]:
    """Return sizes to compare: accepted ones, neighbours of these, and likely sizes of all dimensions."""
    chance = random.Random(7)
    accepted = shapes.sample(12, seed=3) if shapes.has_sizes else []
    seeds = [tuple(list(shape.values())[dim.input][dim.axis] for dim in shapes.dims) for shape in accepted]
    found: set[tuple[int, ...]] = set()
    for _ in range(20 * count):
        kind = chance.random()
        if seeds and kind < 0.75:
            sizes = list(chance.choice(seeds))
            for _ in range(0 if kind < 0.35 else chance.choice((1, 1, 2))):
                place = chance.randrange(len(sizes))
                own = sizes[place]
                sizes[place] = chance.choice(
                    (1, 2, 3, own + 1, own - 1, own * 2, own + 16, chance.randint(1, 64), chance.choice(sizes))
                )
        else:
            usual = chance.choice(LIKELY)
            sizes = [chance.choice((1, 2, 3, usual, usual, usual, chance.choice(LIKELY))) for _ in shapes.dims]
        if all(size > 0 and dim.allows(size) for size, dim in zip(sizes, shapes.dims, strict=True)):
            found.add(tuple(sizes))
        if len(found) == count:
            break
    return sorted(found)


class Oracle:
    """OpenVINO's answers for the models of a run, kept in a file if one is given."""

    def __init__(self, cache: str | None) -> None:
        self._cache = None if cache is None else Path(cache)
        known = self._cache is not None and self._cache.exists()
        self._answers: dict[str, dict[str, Any]] = json.loads(self._cache.read_text()) if known and self._cache else {}

    def read(self, path: str) -> None:
        """Read the model for the following questions."""
        import openvino

        digest = hashlib.sha256(openvino.get_version().encode())
        for file in (Path(path), Path(path).with_suffix(".bin")):
            digest.update(file.read_bytes() if file.exists() else b"")
        self._path, self._model = path, None
        self._own = self._answers.setdefault(digest.hexdigest(), {})

    def save(self) -> None:
        if self._cache is not None:
            self._cache.write_text(json.dumps(self._answers))

    def outputs(self, given: list[PartialShape]) -> list[list[int | None] | None] | None:
        """Return the output shapes that OpenVINO infers; None if it refuses the inputs."""
        key = "; ".join(map(str, given))
        if key not in self._own:
            self._own[key] = self._outputs(given)
        found: list[list[int | None] | None] | None = self._own[key]
        return found

    def runs(self, given: list[PartialShape]) -> bool | None:
        """Return whether OpenVINO also runs the model at these shapes; None for inputs that are too large.

        Its layers check some constraints only then, and `reshape` changes the target of a Reshape before a MatMul.
        """
        if sum(math.prod(shape.to_shape()) for shape in given) > LARGEST_RUN:
            return None
        key = "run " + "; ".join(map(str, given))
        if key not in self._own:
            self._own[key] = self._runs(given)
        return bool(self._own[key])

    def _outputs(self, given: list[PartialShape]) -> list[list[int | None] | None] | None:
        import openvino

        if self._model is None:
            self._model = openvino.Core().read_model(self._path)
        model = self._model.clone()
        try:
            model.reshape({port: openvino.PartialShape(str(s)) for port, s in zip(model.inputs, given, strict=True)})
        except RuntimeError:
            return None
        shapes = [port.partial_shape for port in model.outputs]
        return [[d.get_length() if d.is_static else None for d in s] if s.rank.is_static else None for s in shapes]

    def _runs(self, given: list[PartialShape]) -> bool:
        import numpy as np
        import openvino

        try:
            # With a single thread, OpenVINO returns empty results where a layer fails.
            compiled = openvino.Core().compile_model(self._path, "CPU", {"INFERENCE_NUM_THREADS": 2})
            inputs = zip(given, compiled.inputs, strict=True)
            compiled([np.ones(shape.to_shape(), port.element_type.to_dtype()) for shape, port in inputs])
        except RuntimeError:
            return False
        return True


class Description:
    """The output of `--format json`, evaluated as another program would."""

    def __init__(self, shapes: irexec.Shapes) -> None:
        answer = shapes.to_dict()
        named = {dim["id"]: dim["symbol"] for dim in answer["dims"]}
        self._symbols = [named[dim.id] for dim in shapes.dims]
        self._accepts = [[compile(text, "accepts", "eval") for text in each] for each in answer["accepts"]]
        self._outputs = [
            [compile(str(size), "outputs", "eval") if size != "?" else None for size in dims] if dims != "?" else []
            for dims in answer["outputs"]
        ]

    def accepts(self, sizes: tuple[int, ...]) -> bool:
        names = dict(zip(self._symbols, sizes, strict=True))
        if any(names[symbol] != size for symbol, size in zip(self._symbols, sizes, strict=True)):
            return False
        return any(all(eval(condition, {}, names) for condition in each) for each in self._accepts)

    def outputs(self, sizes: tuple[int, ...]) -> list[list[int | None]]:
        names = dict(zip(self._symbols, sizes, strict=True))
        return [[None if size is None else eval(size, {}, names) for size in dims] for dims in self._outputs]


def compare(path: str, count: int, oracle: Oracle) -> tuple[int, int, int, int, int]:
    """Print a row for a model; return the numbers of combinations that agree, are wrongly accepted and wrongly refused,
    of output sizes that differ, and of wrongly accepted combinations whose conditions are proved.
    """
    begin = time.perf_counter()
    shapes = irexec.shapes(path)
    seconds = time.perf_counter() - begin
    description = Description(shapes)
    oracle.read(path)
    agreeing = accepted = refused = sizes_differ = 0
    for sizes in combinations(shapes, count):
        given = shapes.inputs_at(sizes)
        theirs, own = oracle.outputs(given), description.accepts(sizes)
        if theirs is not None and not own and (ran := oracle.runs(given)) is not True:
            if ran is None:
                continue
            theirs = None
        agreeing += own is (theirs is not None)
        accepted += own and theirs is None
        refused += not own and theirs is not None
        if own and theirs is not None:
            for dims, found in zip(description.outputs(sizes), theirs, strict=False):
                sizes_differ += found is not None and len(dims) != len(found)
                sizes_differ += sum(
                    size is not None and own != size for own, size in zip(dims, found or [], strict=False)
                )
    oracle.save()
    name = Path(path).stem
    print(
        f"{name[-40:]:40} {len(shapes.model.nodes):6} layers {seconds:7.2f} s {shapes.probes:6} probes  "
        f"{shapes.evidence:10}  agree {agreeing:4}  accepted {accepted:3}  "
        f"refused {refused:3}  output sizes {sizes_differ:3}",
        flush=True,
    )
    return agreeing, accepted, refused, sizes_differ, accepted if shapes.evidence == "proved" else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.xml")
    parser.add_argument(
        "--count", type=int, default=100, metavar="N", help="combinations for each model (default: 100)"
    )
    parser.add_argument("--cache", metavar="FILE.json", help="a file that keeps OpenVINO's answers for later runs")
    args = parser.parse_args()
    oracle = Oracle(args.cache)
    totals = [0, 0, 0, 0, 0]
    kinds: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in args.models or own_models(Path(folder)):
            found = compare(path, args.count, oracle)
            totals = [total + each for total, each in zip(totals, found, strict=True)]
            kinds.setdefault(Path(path).stem.partition("__")[0], []).append(found[1] + found[2] == 0)
    print(
        f"\nagree {totals[0]}, wrongly accepted {totals[1]} ({totals[4]} where proved), wrongly refused {totals[2]}, "
        f"output sizes {totals[3]}"
    )
    for kind, exact in kinds.items():
        print(f"{kind:14} {sum(exact):3} of {len(exact)} exactly")
    print(f"all            {sum(map(sum, kinds.values())):3} of {sum(map(len, kinds.values()))} exactly")


def own_models(folder: Path) -> list[str]:
    import dynamic_models_2  # noqa: F401
    import dynamic_models_3  # noqa: F401
    import dynamic_models_4  # noqa: F401
    import dynamic_models_5  # noqa: F401
    import dynamic_models_6  # noqa: F401
    import dynamic_models_7  # noqa: F401
    import dynamic_models_8  # noqa: F401
    from dynamic_models import MODELS

    for name, make in MODELS.items():
        irexec.save_model(make(), folder / f"{name.replace('/', '__')}.xml")
    return [str(folder / f"{name.replace('/', '__')}.xml") for name in MODELS]


if __name__ == "__main__":
    main()
