"""The graph for Model Explorer: every layer a node, every connection an edge of a node that is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.drawable import stacked
from support.nets import iterating

from irexec.cli.main import main
from irexec.show.model_explorer import graph_collection
from irexec.survey.survey import survey


def test_layers_are_nodes_in_the_folders_of_their_names() -> None:
    found = survey(stacked(2))
    collection = json.loads(json.dumps(graph_collection(found)))
    (graph,) = collection["graphs"]
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert len(nodes) == len(found.layers)
    added = next(node for node in nodes.values() if {"key": "name", "value": "net/layer.1/bias"} in node["attrs"])
    assert (added["label"], added["namespace"]) == ("Add", "net/layer/1")
    assert [nodes[edge["sourceNodeId"]]["label"] for edge in added["incomingEdges"]] == ["MatMul", "Const"]
    assert {"key": "tensor_shape", "value": "f32 [1,8]"} in added["outputsMetadata"][0]["attrs"]


def test_a_body_is_a_graph_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "loop.xml"
    path.write_text(iterating().text, "utf-8")
    assert main(["show", str(path), "--format", "model-explorer"]) == 0
    collection = json.loads(capsys.readouterr().out)
    graphs = {graph["id"]: graph for graph in collection["graphs"]}
    assert len(graphs) == 2
    (outer,) = [node for graph in graphs.values() for node in graph["nodes"] if node["subgraphIds"]]
    assert [node["label"] for node in graphs[outer["subgraphIds"][0]]["nodes"]] == ["Parameter", "Abs", "Result"]
    for graph in graphs.values():
        known = {node["id"] for node in graph["nodes"]}
        assert all(edge["sourceNodeId"] in known for node in graph["nodes"] for edge in node["incomingEdges"])
