"""The addresses of OpenVINO's operation pages: each page exists in OpenVINO's repository."""

from __future__ import annotations

from pathlib import Path

from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import all_facts

PAGES = Path(__file__).parents[2] / "data" / "openvino_pages.txt"


def known() -> set[str]:
    folders = [line.split(": ") for line in PAGES.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {f"{folder}/{page}" for folder, pages in folders for page in pages.split()}


def test_every_operator_leads_to_a_page_that_is_there() -> None:
    addresses = {facts.name: page_address(facts) or "" for facts in all_facts()}
    pages = {name: "/".join(address.removesuffix(".html").split("/")[-2:]) for name, address in addresses.items()}
    assert [(name, page) for name, page in pages.items() if page not in known()] == [], (
        f"{PAGES.name} lacks a new page of OpenVINO, or irexec/tools/catalog/documentation.py the irregular name of one"
    )
    assert len(set(pages.values())) > 225
    assert all(
        a.startswith("https://docs.openvino.ai/2025/documentation/openvino-ir-format/") for a in addresses.values()
    )
