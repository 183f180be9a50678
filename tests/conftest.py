"""What holds for every test: a shape rule that fails is a fault of ours, and no finding; no test measures time, and
what is drawn at random is the same in every run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from irexec.ops.declare import operator

operator.RULES_MUST_NOT_FAIL = True
# A busy machine is no failure: Hypothesis measures how long an example takes, and how long it takes to make one.
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.load_profile("steady")
