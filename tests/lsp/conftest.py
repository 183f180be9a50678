"""The language server that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.editor import Editor


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with Editor() as server:
        yield server
