"""What holds for every test: a shape rule that fails is a fault of ours, and no finding; no test measures time."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from irexec.ops.declare import operator

operator.RULES_MUST_NOT_FAIL = True
# A busy machine is no failure: Hypothesis measures how long an example takes, and how long it takes to make one.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
