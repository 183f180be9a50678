"""Finding the pass of OpenVINO's compiler that changes the results of a model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from irexec.ir.weights.file import weights_beside
from irexec.model.graph.model import Model
from irexec.tools.compare.noise import Noise
from irexec.tools.compare.runtimes.hosted import LIMIT
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import CannotRun, Died
from irexec.tools.passes.dumps import Folder, taking
from irexec.tools.passes.judging import Judge, read_dump
from irexec.tools.passes.result import Kernels, PassesFound
from irexec.tools.run.record import Reference
from irexec.tools.status import Progress


def device_of(runtime: str) -> str:
    """Return the device in the name of a runtime, `openvino` or `openvino:DEVICE`. Raises CannotRun for others."""
    kind, _, device = runtime.partition(":")
    if kind != "openvino":
        raise CannotRun(f"{runtime!r} does not write the graphs after its passes; OpenVINO does", "U005")
    return device or "CPU"


def find_passes(
    reference: Reference,
    *,
    device: str = "CPU",
    config: Mapping[str, str] | None = None,
    limit: float | None = LIMIT,
    progress: Progress | None = None,
    compiling: Callable[[int], None] = lambda passes: None,
) -> PassesFound:
    """Compile a model with OpenVINO, run the graph after each pass that changed it, and judge passes and kernels.

    `progress` is called with the number of
    graphs that were run, and of all; before, `compiling` with the number of passes. Raises IRError if irexec cannot run
    the model, CannotRun if OpenVINO refuses it.
    """
    judge = Judge(reference)
    with ExitStack() as cleanup:
        path = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="irexec-passes-"))
        original = _original(reference.model)
        folder = cleanup.enter_context(closing(Folder(Path(path), _own_files(original))))
        runtime = OpenVINO(device, config, original, limit=limit, tracing=path)
        try:
            found, results, noise = PassesFound(runtime.name, reference.model.file, 0), [], None
            try:
                with taking(folder, lambda: runtime.worker.pid, compiling):
                    loaded = runtime.load(reference.model)
            except Died as error:
                folder.take(all_complete=True)
                if not folder.total:
                    raise
                found.ended, found.last = str(error), folder.last
            else:
                try:
                    results = loaded.results(reference.steps)
                    noise = Noise.of(loaded.precision, loaded.about)
                except CannotRun as error:
                    found.kernels = Kernels(False, reason=str(error))
            found.total = folder.total
        finally:
            runtime.close()
        weights = folder.constants.weights()
        for number, dump in enumerate(folder.dumps):
            if progress is not None:
                progress(number, len(folder.dumps))
            model, reason = read_dump(dump, weights)
            if model is None or not judge.is_of_model(model):
                found.bodies += 1
                continue
            one = judge.judge(dump, model, reason)
            if one.outcome != "same" or one.changes:
                found.passes.append(one)
        if results:
            plain = OpenVINO(device, config, reference.model, limit=limit)
            try:
                found.kernels = judge.kernels(plain, results, noise)
            finally:
                plain.close()
    return found


def _original(model: Model) -> Model | None:
    """Return a model whose own file OpenVINO reads, which saves a copy of its weights: an IR, whose names it keeps."""
    is_ir = model.file is not None and model.file.lower().endswith(".xml")
    return model if is_ir else None


def _own_files(model: Model | None) -> tuple[Path, Path] | None:
    """Return the file and the weights of a model that OpenVINO reads itself."""
    if model is None or model.file is None or not model.has_own_weights:
        return None
    weights = Path(weights_beside(model.file))
    return (Path(model.file), weights) if weights.is_file() else None
