"""The requests of an editor, within this process."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")

from pygls.exceptions import JsonRpcInvalidParams

from irexec.lsp.requests import make_server


def test_a_refusal_leaves_no_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    make_server()
    for error in (JsonRpcInvalidParams("already"), ValueError("unexpected")):
        logging.getLogger("pygls.protocol.json_rpc").error("Exception occurred", exc_info=error)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [error]
