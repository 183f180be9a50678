"""The table of contents is that of the declarations."""

from __future__ import annotations

from irexec.catalog.table import TABLE, table


def test_the_committed_table_is_that_of_the_declarations() -> None:
    assert TABLE.read_text("utf-8") == table(), "regenerate: python -m irexec.catalog.table"
