"""What holds for every test: a shape rule that fails is a fault of ours, and no finding."""

from __future__ import annotations

from irexec.ops.declare import operator

operator.RULES_MUST_NOT_FAIL = True
