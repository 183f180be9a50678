"""Tests that declare operators leave the registry as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from irexec.ops.spec.operator import REGISTRY


@pytest.fixture
def registry_as_before() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    # The operators of irexec stay: a module that a test was the first to import does not declare them again.
    for key in REGISTRY.keys() - before.keys():
        if not REGISTRY[key].__module__.startswith("irexec."):
            del REGISTRY[key]
    REGISTRY.update(before)
