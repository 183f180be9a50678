"""Exported models of torchvision, timm, transformers and NNCF: validated, run, and compared with OpenVINO in f32.

    python benchmarks/exports.py                      all models, which takes minutes to an hour
    python benchmarks/exports.py 'timm/*' nncf/int8   some models

Prints a line for each model: the findings of `irexec.validate` (none are expected), the difference of the results of
each variant (as converted, static, reshaped, f16 weights) from OpenVINO's relative to the largest value, and times.
Needs `pip install '.[test,models]'`. Exports are kept in the folder given with --cache.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / "lib"), str(Path(__file__).parent.parent)]

import numpy as np  # noqa: E402
from support import exported  # noqa: E402

WITHOUT_HINTS = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
TOLERANCE = 1e-3
"""The largest difference, relative to the largest value of a result, that adding f32 numbers in another order causes.
"""


def difference(theirs: np.ndarray, ours: np.ndarray) -> float:
    """Return the largest difference of two results relative to the largest value; infinite if their shapes or NaN
    differ.
    """
    if theirs.shape != ours.shape or theirs.dtype != ours.dtype:
        return float("inf")
    theirs, ours = theirs.astype(np.float64), ours.astype(np.float64)
    finite = np.isfinite(theirs)
    if not np.array_equal(theirs[~finite], ours[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(theirs - ours)[finite].max() / max(np.abs(theirs[finite]).max(), 1e-30))


def examine(name: str, cache: Path) -> dict[str, Any]:
    """Export a model, unless it is in the cache, and compare all its variants with OpenVINO."""
    import openvino as ov

    import irexec

    folder = cache / name
    model = exported.load(folder) or exported.export(name, folder)
    core = ov.Core()
    told: dict[str, Any] = {"name": name, "findings": {}, "apart": {}, "errors": [], "seconds": [0.0, 0.0]}
    for kind, path in model.files.items():
        for finding in irexec.validate(path):
            told["findings"][f"{finding.code} {finding.severity}"] = str(finding)[:200]
        begin = time.perf_counter()
        theirs = core.compile_model(path, "CPU", WITHOUT_HINTS)(model.inputs[kind])
        middle = time.perf_counter()
        try:
            ours = irexec.compile_model(path)(model.inputs[kind])
        except Exception:
            told["errors"].append(f"{kind}: {traceback.format_exc(limit=-3)[-600:]}")
            continue
        told["seconds"][0] += time.perf_counter() - middle
        told["seconds"][1] += middle - begin
        told["apart"][kind] = max(difference(theirs[i], ours[i]) for i in range(len(theirs)))
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], help="patterns of model names")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "irexec-exports")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one model")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(examine(args.one, args.cache)))
        return 0
    chosen = [name for name in exported.NAMES if any(fnmatch(name, pattern) for pattern in args.names)]
    agree = 0
    print(f"{'model':45} {'findings':20} {'dynamic':>9} {'static':>9} {'reshaped':>9} {'f16':>9} {'s':>6} {'OV s':>6}")
    for name in chosen:
        command = [sys.executable, __file__, "--one", name, "--cache", str(args.cache)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout)
        except subprocess.TimeoutExpired:
            print(f"{name:45} no end after {args.timeout} s")
            continue
        if done.returncode:
            print(f"{name:45} not exported: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}")
            continue
        told = json.loads(done.stdout.splitlines()[-1])
        agree += report(told)
        sys.stdout.flush()
    print(f"{agree} of {len(chosen)} models: no findings, and all variants agree")
    return 0 if agree == len(chosen) else 1


def report(told: dict[str, Any]) -> bool:
    """Print the outcome for one model; return whether it has no findings and its results agree."""
    apart = [told["apart"].get(kind) for kind in ("dynamic", "static", "reshaped", "f16")]
    shown = " ".join(f"{'-' if value is None else format(value, '.1e'):>9}" for value in apart)
    codes = ",".join(sorted(told["findings"])) or "none"
    print(f"{told['name']:45} {codes:20} {shown} {told['seconds'][0]:6.2f} {told['seconds'][1]:6.2f}")
    for text in [*told["errors"], *told["findings"].values()]:
        print("    " + text.strip().replace("\n", "\n    "))
    return not told["errors"] and not told["findings"] and all(v is None or v < TOLERANCE for v in apart)


if __name__ == "__main__":
    sys.exit(main())
