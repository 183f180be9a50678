"""The graph for Model Explorer: every layer is a node, and every connection an edge of an existing node."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.drawable import stacked
from support.nets import iterating
from support.waiting import PATIENCE, until

from irexec.cli.main import main
from irexec.frontends.reading import read
from irexec.tools.inspect.read import summary_of
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.model_explorer import graph_collection


def test_layers_are_nodes_in_the_folders_of_their_names() -> None:
    found = summarize(stacked(2))
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


# Model Explorer's graph builder, field by field: name → type, or the fields of a list's items.
KEY_VALUE = {"key": str, "value": str}
METADATA = {"id": str, "attrs": KEY_VALUE}
EDGE = {"sourceNodeId": str, "sourceNodeOutputId": str, "targetNodeInputId": str}
NODE = {
    "id": str, "label": str, "namespace": str, "subgraphIds": str, "attrs": KEY_VALUE, "incomingEdges": EDGE,
    "inputsMetadata": METADATA, "outputsMetadata": METADATA,
}  # fmt: skip
COLLECTION = {"label": str, "graphs": {"id": str, "nodes": NODE}}


def conforms(value: Any, fields: Any) -> bool:
    if fields is str:
        return isinstance(value, str)
    lists = {"attrs", "graphs", "incomingEdges", "inputsMetadata", "nodes", "outputsMetadata", "subgraphIds"}
    return value.keys() <= fields.keys() and all(
        isinstance(value[name], list) and all(conforms(item, fields[name]) for item in value[name])
        if name in lists
        else conforms(value[name], fields[name])
        for name in value
    )


def test_every_field_is_one_that_model_explorer_knows(tmp_path: Path) -> None:
    (tmp_path / "loop.xml").write_text(iterating().text, "utf-8")
    found, _ = summary_of(read(tmp_path / "loop.xml", mode="strict"))
    assert found is not None
    for facts in (found, summarize(stacked(3))):
        collection = graph_collection(facts)
        assert conforms(collection, COLLECTION)
        for graph in collection["graphs"]:
            assert len({node["id"] for node in graph["nodes"]}) == len(graph["nodes"])
        assert len({graph["id"] for graph in collection["graphs"]}) == len(collection["graphs"])


@pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
@pytest.mark.skipif(
    shutil.which("model-explorer") is None, reason="Model Explorer is not installed: pip install ai-edge-model-explorer"
)
def test_model_explorer_opens_it(browser: Browser, tmp_path: Path) -> None:
    found = summarize(stacked(4))
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph_collection(found)), "utf-8")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = ["model-explorer", "--no_open_in_browser", "--skip_health_check", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        opened = quote(json.dumps({"models": [{"url": str(path)}]}))
        drawn = sum(layer.type != "Const" for layer in found.layers)  # Model Explorer hides constants.

        def shown() -> str:
            time.sleep(1)
            text: str = browser.until("(document.body && document.body.innerText) || ' '")
            if "Model Explorer" not in text:
                browser.ask("Page.navigate", url=f"http://localhost:{port}/?data={opened}")
            return text if f"{drawn} nodes" in text else ""

        text = until(shown)
        assert "op node count" in text and "layer count" in text
    finally:
        server.kill()
        server.wait(PATIENCE)
