"""Look-up of the operator for a file's type and version, by the table of contents and the rules of OpenVINO's opsets.

Source: OpenVINO's opset tables. Tables are cumulative: `version="opsetN"` means the newest operator of that type
introduced at or before N. Only the last table, which is incomplete, is not cumulative: see BEGUN.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator

from irexec.core.diagnostics.nearest import nearest
from irexec.ops.spec.operator import REGISTRY, Operator

# A line for each module below irexec.ops: its types as files write them, each with the opsets that introduced it.
# Generated from the declarations: python docs/stored.py
with open(os.path.join(os.path.dirname(__file__), "table.txt"), encoding="ascii") as _table:
    _LINES = _table.read().splitlines()
CONTENTS: dict[str, tuple[str, tuple[int, ...]]] = {
    type: (module, tuple(map(int, versions)))
    for module, types in (line.split(": ") for line in _LINES)
    for type, *versions in (entry.split("-") for entry in types.split())
}
"""Type as a file writes it → the module below irexec.ops, and the opsets that introduced a version."""

NEWEST = max(version for _, versions in CONTENTS.values() for version in versions)
OPSETS = {f"opset{number}": number for number in range(1, NEWEST + 1)}
"""Version text → opset number; no other spelling names an opset."""

ONNX_OPSETS = {f"onnx{number}": number for number in range(1, 29)}
"""Version text → ONNX opset number. Opsets are cumulative; irexec supports only operators that IR cannot express."""

# The opsets inside of OpenVINO's compiler.
_INTERNAL = frozenset({"ie_internal_opset", "cpu_plugin_opset", "SnippetsOpset"})
INSIDE = {
    "BlockSparseAttention", "GatedDeltaNet", "MOE", "PagedAttentionExtension", "PagedCausalConv1D",
    "PagedGatedDeltaNet", "PagedSelectiveSSM", "SelectiveSSM", "SparseAttentionIndexer",
}  # fmt: skip
"""The operators inside of OpenVINO's compiler to which dumps give the version "extension"."""

RENAMED = {"Constant": "Const", "PRelu": "PReLU", "Relu": "ReLU", "Softmax": "SoftMax"}
"""The names of types in OpenVINO's node objects, which its reader accepts as well → in files."""
_IN_API = {file: api for api, file in RENAMED.items()}

# Exceptions to the cumulative rule: types that an opset lacks, and types that it contains before their version.
ABSENT = {2: {"RNNCell", "ShuffleChannels"}, **{n: {"Reverse", "Xor"} for n in range(3, NEWEST + 1)}}
ABSENT[2] |= {"Reverse", "Xor"}
# An opset that is incomplete in OpenVINO: a file may use only the types that it introduced, and these older ones.
BEGUN: dict[int, set[str]] = {17: {"Convert", "Parameter", "ShapeOf"}}
EARLY = {("LogicalXor", 1): 2, ("MVN", 1): 2, ("ROIPooling", 1): 2, ("ReorgYolo", 1): 2}

_FOLDED = {name.lower(): name for name in CONTENTS} | {old.lower(): new for old, new in RENAMED.items()}


def type_name(type: str) -> str:
    """Return the name in OpenVINO's nodes of a type in a file: `Const` → `Constant`."""
    return _IN_API.get(type, type)


def file_type(name: str) -> str:
    """Return the type in a file for the name in OpenVINO's nodes: `Constant` → `Const`."""
    return RENAMED.get(name, name)


def is_internal(version: str) -> bool:
    """Return True for the name of an opset inside of OpenVINO's compiler."""
    return version in _INTERNAL or version.startswith("type_relaxed_")


def canonical_type(text: str) -> str | None:
    """Return the type as written in files, for any letter case that OpenVINO accepts; None for a type of no opset."""
    return text if text in CONTENTS else RENAMED.get(text) or _FOLDED.get(text.lower())


def nearest_types(text: str) -> list[str]:
    """Return known types that are similar to the text, best match first."""
    by_folded = _FOLDED | {type.lower(): type for type, _ in REGISTRY}
    return list(dict.fromkeys(by_folded[folded] for folded in nearest(text, by_folded, 3)))


def introduced(type: str, opset: int) -> int | None:
    """Return the opset that introduced the operator of this type in opset `opset`; None if the opset lacks the type."""
    if type not in CONTENTS or type in ABSENT.get(opset, ()):
        return None
    versions = [v for v in CONTENTS[type][1] if v <= opset]
    if opset in BEGUN and opset not in versions and type not in BEGUN[opset]:
        return None
    return max(versions) if versions else EARLY.get((type, opset))


def opsets_with(type: str) -> list[int]:
    """Return the opsets in which a file may use this type."""
    return [n for n in range(1, NEWEST + 1) if introduced(type, n) is not None]


def versioned(type: str, number: int | None) -> str | None:
    """Return the version text of the operator that a page calls `type-number`; without a number, of the newest version.

    A page's number may be lower than the opset's (ScatterNDUpdate-3 was introduced in opset4): then the next higher
    opset with the operator is used.
    """
    own = [version for name, version in REGISTRY if name == type]
    if type not in CONTENTS:
        return own[-1] if own else None
    versions = CONTENTS[type][1]
    if number is None:
        return f"opset{versions[-1]}"
    return f"opset{next((v for v in versions if v >= number), versions[-1])}"


def category_of(type: str) -> str:
    """Return the category of an operator's page, without its subcategory; an empty text for other operators."""
    return CONTENTS.get(type, ("",))[0].split(".")[0]


def find(type: str, version: str) -> Operator | None:
    """Return the operator of a canonical type and a version text; None if it does not exist or is not implemented."""
    if (type, version) in REGISTRY:
        return REGISTRY[type, version]
    number = OPSETS.get(version)
    if number is None:
        return _find_foreign(type, version)
    found = introduced(type, number)
    return None if found is None else load(type, found)


def load(type: str, opset: int) -> Operator | None:
    """Return the operator introduced in exactly this opset; None if it is not implemented."""
    key = (type, f"opset{opset}")
    if key not in REGISTRY:
        module = f"irexec.ops.{CONTENTS[type][0]}"
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
    return REGISTRY.get(key)


def _find_foreign(type: str, version: str) -> Operator | None:
    """Return an operator of another origin: ONNX, or an experimental or extension namespace."""
    if version in ("experimental", "extension") and type in _EXPERIMENTAL:
        return load(type, introduced(type, 6) or 6)
    if version == "extension" and type in TOKENIZERS:
        importlib.import_module("irexec.ops.tokenizers")
    if version in ONNX_OPSETS:
        importlib.import_module("irexec.ops.onnx")
        since = [n for name, n in ONNX_OPSETS.items() if n <= ONNX_OPSETS[version] and (type, name) in REGISTRY]
        version = f"onnx{max(since)}" if since else version
    return REGISTRY.get((type, version))


_EXPERIMENTAL = {*(type for type in CONTENTS if type.startswith("Experimental")), "GRUCell", "RNNCell", "Proposal"}

TOKENIZERS = {
    "BPETokenizer", "ByteFallback", "BytesToChars", "CaseFold", "CharsMapNormalization", "CharsToBytes",
    "CombineSegments", "EqualStr", "FuzeRagged", "NormalizeUnicode", "RaggedTensorPack", "RaggedToDense",
    "RaggedToRagged", "RaggedToSparse", "RegexNormalization", "RegexSplit", "SpecialTokensSplit", "TrieTokenizer",
    "Truncate", "UTF8Validate", "UnigramTokenizer", "VocabDecoder", "VocabEncoder", "WordpieceTokenizer",
}  # fmt: skip
"""The operators of OpenVINO Tokenizers that irexec supports, all of version "extension"."""
OTHER_TOKENIZERS = {
    "ContribStringJoin", "ContribStringSplit", "NumericToString", "SentencepieceDetokenizer",
    "SentencepieceStreamDetokenizer", "SentencepieceTokenizer", "StringToHashBucket",
}  # fmt: skip
"""The operators of OpenVINO Tokenizers that irexec lacks, all of version "extension"."""
ONCE_TOKENIZERS = {"StringTensorPack", "StringTensorUnpack"}
"""Operators of OpenVINO Tokenizers that became operators of an opset."""


def everything() -> Iterator[tuple[str, int, Operator | None]]:
    """Return (type, opset, operator or None if it is not implemented) for every operator, sorted by type."""
    for type, (_, versions) in sorted(CONTENTS.items()):
        for version in versions:
            yield type, version, load(type, version)
