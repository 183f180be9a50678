"""Functions that create the networks of tests/lib/support/torch_exports.py, with the same weights in every call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))


def __getattr__(name: str) -> Callable[[], Any]:
    import torch
    from support.torch_exports import ARCHITECTURES

    def make() -> Any:
        torch.manual_seed(0)
        return ARCHITECTURES[name]()[0]

    if name not in ARCHITECTURES:
        raise AttributeError(name)
    return make
