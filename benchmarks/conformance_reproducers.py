"""The page of reproducers: `python benchmarks/conformance_reproducers.py > docs/conformance/reproducers.md`.

The scripts are what `irexec conformance --reproducers docs/conformance/reproducers` wrote.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "conformance" / "reproducers"
HEAD = """# Reproducers

Failures of OpenVINO 2026.4.1 on CPU that `irexec conformance` found. Each script runs a reduced case with `openvino`
and NumPy alone, and prints `reproduced`, `not here` or `something else`:

```sh
python docs/conformance/reproducers/Exp_1_f32_x_3_3_data_edges_seed719.py
```

Some failures depend on the processor, or on memory that nothing has written. On AMD EPYC with AVX-512, all scripts
print `reproduced` except for Convert-1 and graph.unchanged with form=convert (`not here`), and GatherND-8 and RDFT-9,
which print `something else` when the memory holds other values. On a processor that has AVX2 and no AVX-512, Greater-1
prints `not here` as well.

`python benchmarks/conformance_reproducers.py` generates this page from the scripts.
"""
_DETAIL = 140


def main() -> int:
    print(HEAD)
    for script in sorted(FOLDER.glob("*.py")):
        name, _, detail = message(script).partition(": ")
        operators = name.partition("/")[0]
        if operators == "graph.grown":
            layers = name.split("/")[3].removeprefix("layers=").split(",")
            operators = " and ".join(layer.partition(".")[0] for layer in layers)
        print(f"- **{operators}**, {_plain(detail)[:_DETAIL].strip()}\n\n  `{name}`\n\n  `reproducers/{script.name}`\n")
    return 0


def message(script: Path) -> str:
    """Return a script's description of its failure: the name of the case, the verdict and the error."""
    for statement in ast.parse(script.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "MESSAGE":
            return str(ast.literal_eval(statement.value))
    raise ValueError(f"{script}: no reproducer of irexec conformance")


def _plain(text: str) -> str:
    return text.replace("|", "/").replace("<", "(").replace("*", "")


if __name__ == "__main__":
    sys.exit(main())
