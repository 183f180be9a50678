"""Mutants of valid files with one change: no exception escapes, and every rejection has a line."""

from __future__ import annotations

import random

import pytest
from support.amounts import amount
from support.mutants import mutants

from irexec.core.diagnostics.findings import Findings
from irexec.ir.document import Layer, Net
from irexec.ir.weights.file import Weights


def constants(net: Net) -> list[Layer]:
    found = [layer for layer in net.layers if layer.type == "Const"]
    for layer in net.layers:
        for body in (layer.body, layer.then_body, layer.else_body):
            found += [] if body is None else constants(body)
    return found


@pytest.mark.parametrize("mode", ["strict", "openvino"])
def test_mutants(mode, model, loop, read_ir) -> None:
    for text in (model, loop):
        assert read_ir(text).codes == []
    texts = mutants(model, 1) + mutants(loop, 2)
    assert len(texts) > amount(2000, 1500)
    refused = 0
    for text in texts:
        outcome = read_ir(text, mode)
        errors = [finding for finding in outcome.found if finding.severity == "error"]
        refused += bool(errors)
        assert all(finding.line and finding.column for finding in outcome.found), text
        assert outcome.document is not None or errors, text
        if outcome.document is not None:
            findings, weights = Findings(outcome.document.source.locate), Weights(b"\1")
            for layer in constants(outcome.document.net):
                assert weights.of_layer(layer, findings) is not None or findings.report.errors, text
            assert all(finding.line for finding in findings.report)
    assert refused > len(texts) // 2


def test_any_bytes(read_ir) -> None:
    rng = random.Random(3)
    for _ in range(500):
        data = rng.randbytes(rng.randrange(60))
        outcome = read_ir(rng.choice([b"", b"<net>", b"<?xml", b"\xff\xfe", b"\xef\xbb\xbf<"]) + data)
        assert outcome.found
        assert all(finding.line for finding in outcome.found)
