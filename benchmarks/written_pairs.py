"""Verdicts on networks written twice: `python benchmarks/written_pairs.py [NET ...]`.

Compares the networks of written_nets.py with variants that contain a fault, as a person would make it, and with
variants that compute the same in another way. `--dump`: through a dump; `--openvino f32|bf16`: with OpenVINO, which
runs the variant. Prints the wrong verdicts (`--verbose`: all) and a table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import written_boxes  # noqa: F401  (each registers its network)
import written_counts  # noqa: F401
import written_decoder  # noqa: F401
import written_encoder  # noqa: F401
import written_experts  # noqa: F401
import written_folds  # noqa: F401
import written_images  # noqa: F401
import written_sequences  # noqa: F401
import written_signals  # noqa: F401
import written_transducer  # noqa: F401
import written_unet  # noqa: F401
import written_windows  # noqa: F401
from verdicts import _ROUNDED, Planted, effect, judged, largest, rounding, through
from written_nets import FAULTS, HARMLESS, NETS

from irexec.core.diagnostics import IRError
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Runtime
from irexec.tools.run.record import Reference


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=[*NETS])
    parser.add_argument("--only", help="this fault or change only")
    parser.add_argument("--dump", action="store_true", help="compare through a dump")
    parser.add_argument("--openvino", metavar="TYPE", help="compare with OpenVINO that computes in this type")
    parser.add_argument("--verbose", action="store_true", help="print every verdict")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.nets:
            model, steps = NETS[name]("")
            run = Reference(model, steps)
            noise = 0.0
            if args.openvino:
                noise = 4 * max(largest(run, Planted(model, args.openvino)), _ROUNDED.get(args.openvino, 32.0))
            changes = [(f, frozenset(names.split())) for f, names in FAULTS[name].items()]
            changes += [(f, None) for f in ["", *HARMLESS[name]]]
            for change, names in changes:
                if args.only is not None and change != args.only:
                    continue
                try:
                    other = NETS[name](change)[0]
                    there = names is not None and effect(run, Reference(other, steps)) is not False
                    if there and noise:
                        there = largest(run, OtherModel("other.xml", other)) > noise
                    runtime: Runtime = (
                        Planted(other, args.openvino) if args.openvino else OtherModel("other.xml", other)
                    )
                    if args.dump:
                        runtime = through(runtime, run, Path(temporary) / "dump")
                    outcome, verdict = judged(run, runtime, names or frozenset(), there)
                except (CannotRun, IRError, ValueError) as error:
                    outcome, verdict = "refused", str(error)
                if outcome == "false agreement" and args.dump and rounding(run, runtime):
                    outcome = "no effect"  # The difference cannot be distinguished from sums in another order.
                if outcome == "false alarm" and names is not None:
                    outcome = "no effect"  # The layer was named although its effect is smaller than the other noise.
                if outcome == "no effect" and names is None:
                    outcome = "agrees"
                total[outcome] += 1
                if args.verbose or outcome not in ("exact", "group", "no effect", "agrees"):
                    print(f"{name}: {change}: {outcome}: {verdict}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in total.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
