"""Requirements of tests of f16 in compiled code on the processor. To be imported only if llvmlite is installed."""

from __future__ import annotations

import pytest

from irexec.runtime.lowering.llvm import compiler

needs_half = pytest.mark.skipif(not compiler().converts_halves, reason="the machine has no instructions for f16")
