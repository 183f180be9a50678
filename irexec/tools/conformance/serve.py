"""The process of a runtime that is judged: complete in itself, for any Python from 3.8 on with NumPy and the runtime.

    python -I serve.py FILE.py:Class CONFIG_JSON PATH_JSON

A message is eight bytes with the length of a JSON object, this object, and the bytes of its arrays. The class has
`describe()`, `load(path, cache)` and `infer(inputs)`, which returns arrays; optional are `reset()`, which sets
variables to their initial values, `infer_at_once(inputs, count)`, `about()`, which describes the loaded model, and
the attribute `forks`: True if the process may fork after it has imported the file, so that a process that has died is
replaced faster.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import platform
import re
import struct
import sys
import warnings
from typing import IO, Any, Dict, List, Optional, Tuple  # noqa: UP035

import numpy as np

DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "boolean": "bool", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bf16": "uint16",
}  # fmt: skip
"""NumPy's types; a type that NumPy lacks is an unsigned integer with the same bits."""
NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "bf16"}


def read(stream: IO[bytes]) -> Optional[Tuple[Dict[str, Any], List[Any]]]:  # noqa: UP006, UP045
    """Return the next message and its arrays; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    message = json.loads(stream.read(struct.unpack("<q", head)[0]))
    return message, [_array(item, stream) for item in message.pop("arrays")]


def write(stream: IO[bytes], message: Dict[str, Any], arrays: Any) -> None:  # noqa: UP006
    """Send a message with its arrays."""
    found: List[Any] = []  # noqa: UP006
    blobs: List[bytes] = []  # noqa: UP006
    for array in arrays:
        array = np.asarray(array)
        if array.dtype.kind in "UOTS":
            found.append({"type": "string", "shape": list(array.shape), "values": [str(v) for v in array.reshape(-1)]})
            continue
        data = np.ascontiguousarray(array).tobytes()
        kind = NAMES.get(array.dtype.name, "u8" if array.dtype.itemsize == 1 else "u16")
        found.append({"type": kind, "shape": list(array.shape), "bytes": len(data)})
        blobs.append(data)
    text = json.dumps(dict(message, arrays=found)).encode()
    stream.write(struct.pack("<q", len(text)) + text + b"".join(blobs))
    stream.flush()


def _array(item: Dict[str, Any], stream: IO[bytes]) -> Any:  # noqa: UP006
    if item["type"] == "string":
        return np.array(item["values"], dtype=np.str_).reshape(item["shape"])
    raw = stream.read(item["bytes"])
    return np.frombuffer(raw, DTYPES.get(item["type"], "uint8")).reshape(item["shape"]).copy()


class MissingClass(Exception):
    """Raised for a class that the file does not define."""


def class_of(name: str) -> Any:
    """Return the class of the runtime in a file. Raises MissingClass."""
    file, _, attribute = name.rpartition(":")
    spec: Any = importlib.util.spec_from_file_location("judged_runtime", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, attribute):
        names = [key for key, value in vars(module).items() if isinstance(value, type)]
        near = difflib.get_close_matches(attribute, names, 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise MissingClass(f"{os.path.basename(file)} has no class {attribute!r}{hint}")
    return getattr(module, attribute)


def fork(sink: IO[bytes]) -> None:
    """Return in a forked process. This process waits for it, reports its death, and forks another one."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about other threads: NumPy's do not matter here.
            child = os.fork()
        if not child:
            return
        status = os.waitpid(child, 0)[1]
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if code == 0:
            os._exit(0)
        write(sink, {"ended": code}, [])


def answer(runtime: Any, message: Dict[str, Any], arrays: List[Any]) -> Any:  # noqa: UP006
    """Run the calls of a model, in order and on one request. Return the reply and the arrays of all calls."""
    stage = "load"
    try:
        runtime.load(message["path"], bool(message.get("cache")))
        stage = "infer"
        inputs: List[Any] = []  # noqa: UP006
        results: List[Any] = []  # noqa: UP006
        count = message["inputs"]
        for begin in range(0, len(arrays), count) if count else [0]:
            inputs.append(arrays[begin : begin + count])
        calls = list(message["calls"])
        if message.get("reset") and hasattr(runtime, "reset"):
            calls += [None, *calls]
        for call in calls:
            if call is None:
                runtime.reset()
            elif message.get("requests", 1) > 1 and hasattr(runtime, "infer_at_once"):
                results += runtime.infer_at_once(inputs[call], message["requests"])
            else:
                results.append(runtime.infer(inputs[call]))
    except Exception as error:
        return {"refused": stage, "message": " ".join(str(error).split())[-600:], "kind": type(error).__name__}, []
    reply = {"outputs": [len(call) for call in results]}
    if message.get("about") and hasattr(runtime, "about"):
        reply["about"] = runtime.about()
    return reply, [array for call in results for array in call]


def processor() -> str:
    """Return the name of this machine's processor; on systems that do not state it, the name of its architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            found = re.search(r"^model name\s*+:\s*+(.*)", stream.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].rstrip() if found else platform.processor() or platform.machine()


def main() -> None:
    """Answer messages until there are no more."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Text that a runtime prints must not be read as an answer.
    name, config, path = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    sys.path[:0] = path
    try:
        runtime_class = class_of(name)
        if getattr(runtime_class, "forks", False) and hasattr(os, "fork"):
            fork(sink)
        runtime = runtime_class(**config)
        write(sink, {"described": dict({"processor": processor()}, **runtime.describe())}, [])
    except Exception as error:
        kind = "" if isinstance(error, MissingClass) else f"{type(error).__name__}: "
        write(sink, {"unusable": f"{kind}{error}"}, [])
        return
    while True:
        message = read(source)
        if message is None:
            return
        reply, results = answer(runtime, *message)
        write(sink, dict(reply, number=message[0].get("number")), results)


if __name__ == "__main__":
    main()
