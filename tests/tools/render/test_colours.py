"""The colours of drawings and reports: texts have the contrast that WCAG requires (4.5 : 1), light and dark."""

from __future__ import annotations

import re

import pytest

from irexec.tools.render.drawing.svg import colours
from irexec.tools.render.report.page import own

NAMED = re.compile(r"--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\)")
GROUNDS = ("paper", "card", "frame")
FILLS = ("heavy", "curve", "norm", "pool", "move", "sum", "logic")


def palette(scheme: int) -> dict[str, str]:
    sheets = colours() + own("examples.css") + own("report.css")
    return {found[0]: found[1 + scheme] for found in NAMED.findall(sheets)}


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read(scheme: int) -> None:
    known = palette(scheme)
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent", "bad", "good") for ground in GROUNDS]
    pairs += [(ink, fill) for ink in ("ink", "soft") for fill in FILLS]
    pairs += [("port-ink", "port"), ("ink", "marked")]
    assert [
        (*pair, contrast(known[pair[0]], known[pair[1]])) for pair in pairs if contrast(*map(known.get, pair)) < 4.5
    ] == []


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_boxes_stand_out_from_the_paper(scheme: int) -> None:
    known = palette(scheme)
    assert [kind for kind in FILLS if contrast(known[f"{kind}-edge"], known["paper"]) < 3] == []


def mixed(colour: str, ground: str, opacity: float) -> str:
    """Return the colour that results from drawing a colour over a ground with this opacity."""
    pairs = ((int(colour[n : n + 2], 16), int(ground[n : n + 2], 16)) for n in (0, 2, 4))
    return "".join(f"{round(a * opacity + b * (1 - opacity)):02x}" for a, b in pairs)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_can_be_read_where_an_overlay_is_strongest(scheme: int) -> None:
    known = palette(scheme)
    least, more = map(float, re.findall(r"opacity: ([\d.]+) \+ ([\d.]+) \* strength", own("overlays.js"))[0])
    pairs = [("ink", fill) for fill in (*FILLS, "card")] + [("port-ink", "port")]
    assert [
        (*pair, found)
        for pair in pairs
        if (found := contrast(known[pair[0]], mixed(known["heat"], known[pair[1]], least + more))) < 4.5
    ] == []


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_chosen_layer_and_the_visible_part_of_the_map_are_prominent(scheme: int) -> None:
    known = palette(scheme)
    assert min(contrast(known["accent"], known[ground]) for ground in GROUNDS) > 3
    assert contrast(known["heat"], known["card"]) > 3 and contrast(known["bad"], known["card"]) > 3
