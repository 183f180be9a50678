"""What OpenVINO's ONNX front end ignores or refuses: each attribute away from its default and each optional input of
each ONNX operator, as `irexec conformance --frontend onnx` generates them.

    python benchmarks/openvino_onnx.py                    write irexec/frontends/onnx/openvino_RELEASE.json
    python benchmarks/openvino_onnx.py --only LSTM GRU    print the table of some operators

RELEASE is that of the package openvino of this interpreter: for another release, run it in a virtual environment with
that package, onnx and what irexec requires.

Each case runs with the attribute or input and without it, in OpenVINO and in irexec. OpenVINO *ignores* it if it
computes the same with and without, although irexec does not; *refuses* it if it rejects only the case with it;
*differs* if it computes something else. Cases that make no difference in irexec, or that irexec rejects, say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HOME = Path(__file__).parent.parent
sys.path.insert(0, str(HOME))

from irexec.core.diagnostics import IRError  # noqa: E402
from irexec.core.types import Array  # noqa: E402
from irexec.tools.compare.adapters.openvino import OpenVINO  # noqa: E402
from irexec.tools.conformance.case import Case  # noqa: E402
from irexec.tools.conformance.names import UnreadableName  # noqa: E402
from irexec.tools.conformance.onnx_calls import OnnxCall, calls  # noqa: E402
from irexec.tools.conformance.onnx_cases import onnx_case, onnx_operators  # noqa: E402
from irexec.tools.conformance.onnx_changes import UNCHANGED, changes  # noqa: E402
from irexec.tools.run.record import Reference  # noqa: E402

MOST_CALLS, SAYS, SECONDS = 12, 6, 600
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32"}
BAD = ("ignored", "refused", "differs")
_OTHER = ("omit:", "type:", "rank:", "size:")


def questions(call: OnnxCall) -> Iterator[tuple[str, str, str, str]]:
    """Yield an attribute or `input NAME`, its value, and the changes of the call with it and without it."""
    ports = dict(zip(call.node.input, (port.name for port in call.definition.ports), strict=False))
    given = {attribute.name for attribute in call.node.attribute}
    for group in changes(call):
        for text in group:
            kind, _, rest = text.partition(":") if text.startswith(_OTHER) else ("", "", text)
            name, equal, value = rest.partition("=")
            if kind == "omit" and rest in call.node.input:
                yield f"input {ports.get(rest, rest)}", "", UNCHANGED, text
            elif not kind and equal:
                yield name, value, text, f"omit:{name}" if name in given else UNCHANGED
            elif kind == "omit" and (shown := _value_of(call, name)) is not None:
                yield name, shown, UNCHANGED, text


def _value_of(call: OnnxCall, name: str) -> str | None:
    """Return the value of an attribute as text; None for a tensor or graph."""
    from onnx import helper

    value = next(helper.get_attribute_value(a) for a in call.node.attribute if a.name == name)
    if isinstance(value, list):
        return ",".join(map(str, value))
    if not isinstance(value, (bytes, int, float)):
        return None
    return value.decode() if isinstance(value, bytes) else str(value)


class Run(NamedTuple):
    """A case: irexec's results, and OpenVINO's; None if OpenVINO rejects it."""

    expected: Sequence[Array]
    found: Sequence[Array] | None

    @property
    def is_right(self) -> bool:
        return self.found is not None and _same(self.expected, self.found, 1e-3)


class Runs:
    """The runs of cases, by name; None for a case that irexec rejects."""

    def __init__(self) -> None:
        self._openvino = OpenVINO(**SETTINGS)
        self._known: dict[str, Run | None] = {}

    def of(self, name: str) -> Run | None:
        if name not in self._known:
            self._known[name] = self._run(name)
        return self._known[name]

    def _run(self, name: str) -> Run | None:
        try:
            case = onnx_case(name)
            expected = None if case.flags else Reference(case.model, case.inputs).results()[0]
        except (UnreadableName, IRError):
            return None
        return None if expected is None else Run(expected, self._answer(case))

    def _answer(self, case: Case) -> Sequence[Array] | None:
        source = case.source or b""
        found = self._answer_of(source, case)
        # OpenVINO may reject an operator only because of an output that models rarely use.
        return self._answer_of(_first_output(source), case) if found is None else found

    def _answer_of(self, source: bytes, case: Case) -> Sequence[Array] | None:
        path = Path(tempfile.gettempdir()) / f"irexec-{os.getpid()}.onnx"
        path.write_bytes(source)
        try:
            self._openvino.load(str(path), False)
            made = self._openvino.infer([_raw(array) for array in case.inputs[0]])
        except Exception:  # OpenVINO rejects the model, or fails
            return None
        finally:
            path.unlink()
        kinds = [value.inputs[0].element_type.dtype for value in case.model.results if value.inputs[0] is not None]
        return [_typed(array, kind) for array, kind in zip(made, kinds, strict=False)]


def _first_output(source: bytes) -> bytes:
    """Return a model of one node with its first output alone."""
    import onnx

    model = onnx.load_model_from_string(source)
    del model.graph.output[1:], model.graph.node[0].output[1:]
    return model.SerializeToString()


def _raw(array: Array) -> Array:
    plain = array.dtype.isbuiltin == 1 or array.dtype.kind == "T"
    return array if plain else array.view(f"u{array.dtype.itemsize}")


def _typed(array: Any, kind: Any) -> Array:
    found = np.asarray(array)
    if found.dtype.kind in "OUS":
        return found.astype(np.dtypes.StringDType())
    raw = kind is not None and kind.isbuiltin != 1 and found.dtype == np.dtype(f"u{kind.itemsize}")
    return found.view(kind) if raw else found


def verdict(run: Run | None, without: Run | None) -> str:
    """Return what OpenVINO does with an attribute or input: a word of BAD, `right`, or an empty text."""
    if run is None:
        return ""
    matters = without is None or not _same(run.expected, without.expected)
    pair = None if without is None or run.found is None or without.found is None else (run.found, without.found)
    if not matters and (pair is None or _same(*pair)):
        return ""
    if run.is_right:
        return "right"
    # Without a case that lacks it, nothing shows that it is the reason.
    if without is None or without.found is None:
        return ""
    if run.found is None:
        return "refused"
    return "" if not without.is_right else "ignored" if _same(run.found, without.found) else "differs"


def _same(first: Sequence[Array], second: Sequence[Array], tolerance: float = 1e-5) -> bool:
    for a, b in zip(map(np.asarray, first), map(np.asarray, second), strict=False):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind in "bOSTU" or not a.size:
            if not np.array_equal(a, b):
                return False
        elif not np.allclose(a.astype("f8"), b.astype("f8"), tolerance, tolerance, True):
            return False
    return True


def table_of(operator: str) -> dict[str, dict[str, str]]:
    """Return attribute or `input NAME` → value → what OpenVINO does; the operator itself if OpenVINO refuses it."""
    runs, found = Runs(), defaultdict[str, dict[str, set[str]]](lambda: defaultdict(set))
    tried: dict[tuple[str, str], int] = defaultdict(int)
    accepted = False
    for name, call in calls()[operator].items():
        asked = [entry for entry in questions(call) if tried[entry[:2]] < MOST_CALLS]
        if not asked and accepted:
            continue
        plain = runs.of(f"{operator}/{name}/{UNCHANGED}")
        accepted |= plain is None or plain.found is not None
        for what, value, having, lacking in asked:
            word = verdict(runs.of(f"{operator}/{name}/{having}"), runs.of(f"{operator}/{name}/{lacking}"))
            # A case that says nothing counts little.
            tried[what, value] += SAYS if word else 1
            if word:
                found[what][_short(value)].add(word)
    if not accepted:
        return {"": {"": "refused"}}
    # A value that OpenVINO computes rightly in one call is not listed; nor one with different answers.
    listed = {what: {v: min(w) for v, w in values.items() if len(w) == 1} for what, values in found.items()}
    return {what: values for what, values in sorted(listed.items()) if set(values.values()) & set(BAD)}


def _short(value: str) -> str:
    """Return a value as nodes are shown, and the word of a list of equal words."""
    parts = value.split(",")
    if parts[0].replace("_", "").isalpha() and len(set(parts)) == 1:
        return parts[0]
    return f"{float(value):.6g}" if "." in value and len(parts) == 1 else value


def separately(operator: str) -> dict[str, dict[str, str]]:
    """Return the table of an operator, measured in a child process, which OpenVINO may end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(SECONDS)  # ends the process
        with os.fdopen(write, "w") as file:
            json.dump(table_of(operator), file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="TYPE", help="print the table of these operators")
    args = parser.parse_args()
    names = [n for n in onnx_operators() if not args.only or n.removeprefix("onnx.").rpartition("-")[0] in args.only]
    found = {}
    for name in names:
        if table := separately(name):
            found[name.removeprefix("onnx.")] = table
        print(name, json.dumps(table), flush=True)
    if not args.only:
        import onnx
        import openvino

        release = openvino.get_version().split("-")[0]
        made = {"openvino": release, "onnx": onnx.__version__, "operators": found}
        path = HOME / "irexec" / "frontends" / "onnx" / f"openvino_{release.rpartition('.')[0]}.json"
        path.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
