"""Limits that tests of small models lift, and threads as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.lowering import small_ones_too

from irexec.core.threads import parallel
from irexec.runtime.engine import constants


@pytest.fixture
def small_layers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let compiled code accept small arrays as well."""
    small_ones_too(monkeypatch.setattr)


@pytest.fixture
def small_models_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep weights packed even in models with few packed weights."""
    monkeypatch.setattr(constants, "LEAST_PACKED_TOTAL", 0)


@pytest.fixture
def threads() -> Iterator[None]:
    yield
    parallel.set_num_threads(None)
