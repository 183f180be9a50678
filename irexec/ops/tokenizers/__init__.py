"""The operators of the package OpenVINO Tokenizers; in files they have version="extension"."""

import importlib

for _module in ("models", "normalization", "segments", "splitting", "vocabulary"):
    importlib.import_module(f"irexec.ops.tokenizers.{_module}")
