"""The table of contents matches the declarations."""

from __future__ import annotations

from support.generated import assert_generated

from irexec.tools.catalog.table import TABLE, table


def test_the_committed_table_is_that_of_the_declarations() -> None:
    assert_generated(TABLE, table(), "python -m irexec.tools.catalog.table")
