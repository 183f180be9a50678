"""Changes to the form of a model's text, as converters, editors and people make them; some affect a reader."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Change = Callable[[str, random.Random], str]

_LAYER = re.compile(r"<layer\b(?:(?!<layer\b|</layer>).)*</layer>", re.DOTALL)
_PORT = re.compile(r"<port\b[^>]*/>|<port\b[^>]*[^/]>.*?</port>", re.DOTALL)
_EDGE = re.compile(r"<edge\b[^>]*/>")
_DIM = re.compile(r"<dim>([^<]*)</dim>")
_ATTRIBUTE = re.compile(r'\s([\w-]+)="([^"<>]*)"')
_DATA = re.compile(r"<data\b[^>]*?/?>")
_TAG = re.compile(r"</?[\w-]+[^<>]*>")
_PRECISIONS = (
    "FP32", "FP16", "I64", "I32", "BOOL", "U8", "f32", "i64", "fp32", "float32", "UNSPECIFIED", "dynamic", "",
)  # fmt: skip
_VERSIONS = (
    "opset99", "", "Opset1", "opset0", "opset17", "opset8", "opset6", "opset3", "1", "extension", "v1", " opset1",
)  # fmt: skip
_TYPES = ("Parameter", "Result", "Assign", "ReadValue", "Const", "Constant", "ReLU", "Relu", "Add", "Loop", "If")
_RT_INFO = (
    "<rt_info/>",
    '<rt_info><attribute name="fused_names" version="0" value="a,b"/></rt_info>',
    '<rt_info><attribute name="layout" version="0" layout="[N,C]"/></rt_info>',
    '<rt_info><attribute name="old_api_map_element_type" version="0" value="f16"/></rt_info>',
    '<rt_info><attribute name="fused_names" version="0" value="a"/>'
    '<attribute name="fused_names" version="0" value="b"/></rt_info>',
    '<rt_info><version value="1"/></rt_info>',
)


def rewritten(text: str, rng: random.Random, changes: int | None = None) -> str:
    """Return the text with one to four such changes."""
    for _ in range(changes or rng.choice([1, 1, 1, 2, 2, 3, 4])):
        text = rng.choice(CHANGES)(text, rng)
    return text


def _at(text: str, start: int, stop: int, new: str) -> str:
    return text[:start] + new + text[stop:]


def _one(text: str, pattern: re.Pattern[str] | str, rng: random.Random) -> re.Match[str] | None:
    found = list(re.finditer(pattern, text))
    return rng.choice(found) if found else None


def _in_group(text: str, pattern: str, rng: random.Random, other: Callable[[str], str]) -> str:
    match = _one(text, pattern, rng)
    return text if match is None else _at(text, *match.span(1), other(match[1]))


def _other_case(old: str, rng: random.Random) -> str:
    return rng.choice([old.lower(), old.upper(), old.swapcase(), old.capitalize()])


def _case_of_a_type(text: str, rng: random.Random) -> str:
    return _in_group(text, r'\stype="(\w+)"', rng, lambda old: _other_case(old, rng))


def _case_of_an_end(text: str, rng: random.Random) -> str:
    pattern = r'\stype="(Parameter|Result|Assign|ReadValue|Const)"'
    return _in_group(text, pattern, rng, lambda old: _other_case(old, rng))


def _case_of_a_name(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    return text if match is None else _at(text, *match.span(1), _other_case(match[1], rng))


def _case_of_a_value(text: str, rng: random.Random) -> str:
    return _in_group(text, r'\s[\w-]+="([A-Za-z_][\w]*)"', rng, lambda old: _other_case(old, rng))


def _case_of_an_element(text: str, rng: random.Random) -> str:
    return _in_group(text, r"<(\w+)[^<>]*/>", rng, lambda old: _other_case(old, rng))


def _precision(text: str, rng: random.Random) -> str:
    return _in_group(text, r' precision="(\w+)"', rng, lambda _: rng.choice(_PRECISIONS))


def _element_type(text: str, rng: random.Random) -> str:
    kinds = ("FP32", "F32", "float32", "f16", "i64", " f32", "float", "int64", "bool", "undefined")
    return _in_group(text, r'(?:type|element_type)="((?:[fiu]\d+)|boolean)"', rng, lambda _: rng.choice(kinds))


def _blanks(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    if match is None:
        return text
    blank = rng.choice([" ", "  ", "\n", "\t", "&#32;"])
    return _at(text, *match.span(2), rng.choice([blank + match[2], match[2] + blank, blank + match[2] + blank]))


def _blanks_between(text: str, rng: random.Random) -> str:
    match = _one(text, _TAG, rng)
    return text if match is None else _at(text, match.end(), match.end(), rng.choice(["\n", "  ", "\t\n", " x "]))


def _attributes_swapped(text: str, rng: random.Random) -> str:
    """Exchange two attributes of one element, or only their values."""
    match = _one(text, r"<[\w-]+(?:\s[\w-]+=\"[^\"<>]*\"){2,}\s*/?>", rng)
    if match is None:
        return text
    one, two = sorted(rng.sample(list(_ATTRIBUTE.finditer(text, *match.span())), 2), key=lambda m: m.start())
    group = rng.choice([0, 0, 2])
    text = _at(text, *two.span(group), one[group])
    return _at(text, *one.span(group), two[group])


def _attribute_gone(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    return text if match is None else _at(text, *match.span(), "")


def _attribute_twice(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    if match is None:
        return text
    value = rng.choice([match[2], "0", "1", "x", ""])
    return _at(text, match.end(), match.end(), f' {match[1]}="{value}"')


def _attribute_misspelt(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    if match is None:
        return text
    name, place = match[1], rng.randrange(len(match[1]))
    near = rng.choice([name[:place] + name[place + 1 :], name + "s", name.replace("-", "_"), name.replace("_", "-")])
    return _at(text, *match.span(1), near or "x")


def _attribute_more(text: str, rng: random.Random) -> str:
    more = (
        'axis="1"',
        'auto_broadcast="none"',
        'value="1"',
        'names="z"',
        'output_names="z"',
        'precision="FP16"',
        'keep_dims="true"',
        'offset="0"',
        'shape="1"',
        'pads="1"',
    )
    match = _one(text, r"<(?:layer|data|port|edge|net)\b[^<>]*?(?=\s*/?>)", rng)
    return text if match is None else _at(text, match.end(), match.end(), f" {rng.choice(more)}")


def _to_data(text: str, rng: random.Random) -> str:
    """Move an attribute of <data> to its layer."""
    match = _one(text, r'(<layer\b[^<>]*)(>\s*<data)(\s[\w-]+="[^"]*")', rng)
    return text if match is None else _at(text, *match.span(), match[1] + match[3] + match[2])


def _number(text: str, rng: random.Random) -> str:
    def other(old: str) -> str:
        forms = (f"+{old}", f"0{old}", f"{old}.0", f" {old}", f"{old} ", f"{old}x", f"-{old}", f"{old},", f"{old}e0")
        return rng.choice([*forms, str(int(old) + 1), str(max(int(old) - 1, 0)), "", "0", "1"])

    return _in_group(text, r"[\"> ,](\d{1,9})(?=[\"< ,])", rng, other)


def _boolean(text: str, rng: random.Random) -> str:
    words = ("True", "FALSE", "1", "0", "yes", "no", "on", " true", "false ", "", "2", "t")
    return _in_group(text, r'="(true|false)"', rng, lambda _: rng.choice(words))


def _list(text: str, rng: random.Random) -> str:
    def other(old: str) -> str:
        items = old.split(",")
        forms = (
            f"{old},",
            f"[{old}]",
            f"({old})",
            old.replace(",", " "),
            old.replace(",", "x"),
            old.replace(",", ", "),
        )
        return rng.choice([*forms, ",".join(items[:-1]), f"{old},1", ",".join(reversed(items)), f",{old}"])

    return _in_group(text, r'="(-?[\d?]+(?:\s*,\s*-?[\d?]+)*)"', rng, other)


def _dim(text: str, rng: random.Random) -> str:
    match = _one(text, _DIM, rng)
    if match is None:
        return text
    old = match[1]
    inner = rng.choice(
        [
            str(rng.randint(-1, 9)),
            f"{old}.0",
            f"+{old}",
            f" {old} ",
            f"<![CDATA[{old}]]>",
            f"<![CDATA[{rng.randint(1, 9)}]]>",
            f"<!-- {old} -->{rng.randint(1, 9)}",
            f"{old}<!-- d -->",
            f"{old}&#48;",
            "?",
            "",
        ]
    )
    return _at(text, *match.span(1), inner)


def _dims(text: str, rng: random.Random) -> str:
    match = _one(text, _DIM, rng)
    if match is None:
        return text
    cdata = f"<dim><![CDATA[{rng.randint(1, 9)}]]></dim>"
    return _at(text, *match.span(), rng.choice(["", match[0] * 2, match[0] + cdata, f"<!-- n -->{match[0]}{match[0]}"]))


def _all_dims(text: str, rng: random.Random) -> str:
    """Remove the dims of a port, or replace them by those of another."""
    match, other = _one(text, _PORT, rng), _one(text, _PORT, rng)
    if match is None or other is None:
        return text
    dims = rng.choice(["", "".join(_DIM.findall(other[0]) and re.findall(r"<dim>.*?</dim>", other[0]))])
    return _at(text, *match.span(), re.sub(r"<dim>.*</dim>", lambda _: dims, match[0], flags=re.DOTALL))


def _ports(text: str, rng: random.Random) -> str:
    match, other = _one(text, _PORT, rng), _one(text, _PORT, rng)
    if match is None or other is None:
        return text
    if rng.random() < 0.4:
        return _exchanged(text, match, other)
    return _at(text, *match.span(), rng.choice(["", match[0] * 2, other[0], match[0] + other[0]]))


def _edges(text: str, rng: random.Random) -> str:
    match, other = _one(text, _EDGE, rng), _one(text, _EDGE, rng)
    if match is None or other is None:
        return text
    if rng.random() < 0.4:
        return _exchanged(text, match, other)
    return _at(text, *match.span(), rng.choice(["", match[0] * 2, other[0]]))


def _end_of_an_edge(text: str, rng: random.Random) -> str:
    ends = r' (?:from|to)-(?:layer|port)="(\d+)"'
    return _in_group(text, ends, rng, lambda old: rng.choice([str(rng.randrange(9)), "99", "x", "", str(int(old) + 1)]))


def _id(text: str, rng: random.Random) -> str:
    return _in_group(text, r'<(?:layer|port) id="(\d+)"', rng, lambda _: str(rng.randrange(9)))


def _layers(text: str, rng: random.Random) -> str:
    match, other = _one(text, _LAYER, rng), _one(text, _LAYER, rng)
    if match is None or other is None:
        return text
    if rng.random() < 0.6:
        return _exchanged(text, match, other)
    return _at(text, *match.span(), rng.choice(["", match[0] * 2, match[0] + other[0]]))


def _exchanged(text: str, one: re.Match[str], two: re.Match[str]) -> str:
    one, two = sorted((one, two), key=lambda m: m.start())
    if one.end() > two.start():
        return text
    return text[: one.start()] + two[0] + text[one.end() : two.start()] + one[0] + text[two.end() :]


def _version(text: str, rng: random.Random) -> str:
    return _in_group(text, r'type="\w+" version="(\w+)"', rng, lambda _: rng.choice(_VERSIONS))


def _ir_version(text: str, rng: random.Random) -> str:
    return _in_group(
        text, r'<net [^<>]*version="(\d+)"', rng, lambda _: rng.choice(["10", "10", " 11", "011", "7", ""])
    )


def _type(text: str, rng: random.Random) -> str:
    return _in_group(text, r'\stype="(\w+)" version', rng, lambda _: rng.choice(_TYPES))


def _name(text: str, rng: random.Random) -> str:
    match, other = _one(text, r'\sname="([^"]*)"', rng), _one(text, r'\sname="([^"]*)"', rng)
    if match is None or other is None:
        return text
    return _at(text, *match.span(1), rng.choice([other[1], "", " x ", "é", "a&amp;b", "a,b"]))


def _tensor_names(text: str, rng: random.Random) -> str:
    match = _one(text, r'<port id="\d+" precision="\w+"(?P<names> names="[^"]*")?', rng)
    if match is None:
        return text
    start = match.start("names") if match["names"] else match.end()
    return _at(text, start, match.end(), rng.choice(["", ' names="a"', ' names="a,b"', ' names=" a"', ' names="a,,a"']))


def _comment(text: str, rng: random.Random) -> str:
    match = _one(text, _TAG, rng)
    notes = ("<!-- note -->", "<!-- <dim>1</dim> -->", "<?note?>", "<!-- irexec: ignore -->")
    return text if match is None else _at(text, match.end(), match.end(), rng.choice(notes))


def _entity(text: str, rng: random.Random) -> str:
    """Write a character of a value or a dim as a reference."""
    match = _one(text, r'="([\w,. -]+)"|<dim>(\d+)<', rng)
    if match is None:
        return text
    start, stop = match.span(1 if match[1] else 2)
    place = rng.randrange(start, stop)
    return _at(text, place, place + 1, f"&#{ord(text[place])};")


def _quotes(text: str, rng: random.Random) -> str:
    match = _one(text, _ATTRIBUTE, rng)
    return text if match is None else _at(text, match.start(2) - 1, match.end(2) + 1, f"'{match[2]}'")


def _sections(text: str, rng: random.Random) -> str:
    """Repeat, empty or move a section."""
    name = rng.choice(["data", "input", "output", "edges", "port_map", "back_edges", "rt_info"])
    match = _one(text, rf"<{name}\b[^<>]*/>|<{name}\b[^<>]*>(?:(?!<{name}\b).)*?</{name}>", rng)
    if match is None:
        return text
    return _at(text, *match.span(), rng.choice(["", match[0] * 2, f"<{name}/>{match[0]}", match[0] + f"<{name}/>"]))


def _runtime_info(text: str, rng: random.Random) -> str:
    match = _one(text, r"</(?:layer|port|net)>", rng)
    return text if match is None else _at(text, match.start(), match.start(), rng.choice(_RT_INFO))


def _unknown_element(text: str, rng: random.Random) -> str:
    match = _one(text, r"</(?:layer|input|output|port|edges|layers|net)>", rng)
    more = ("<note/>", "<port/>", "<dim/>", "<data/>", "<edegs/>", "<blobs><w/></blobs>", "text")
    return text if match is None else _at(text, match.start(), match.start(), rng.choice(more))


def _port_map(text: str, rng: random.Random) -> str:
    names = "external_port_id|internal_layer_id|axis|start|end|stride|part_size"
    return _in_group(text, rf' (?:{names})="(-?\d+)"', rng, lambda _: rng.choice(["-1", "0", "1", "2", "3", "", "x"]))


def _variable(text: str, rng: random.Random) -> str:
    return _in_group(text, r'variable_id="(\w+)"', rng, lambda old: rng.choice(["", "other", old.upper(), f" {old}"]))


def _weights(text: str, rng: random.Random) -> str:
    def other(old: str) -> str:
        return rng.choice([str(int(old) + rng.choice([-4, -1, 1, 4, 8])), "0", "", f" {old}", f"0{old}", "x"])

    return _in_group(text, r' (?:offset|size)="(\d+)"', rng, other)


def _root(text: str, rng: random.Random) -> str:
    forms = (("<net", "<NET"), ("</net>", "</net>\n<!-- end -->"), ("</net>", "</net>x"), ("<net", "\n <!-- a --><net"))
    old, new = rng.choice(forms)
    text = text.replace(old, new)
    return text.replace("</net>", "</NET>") if new == "<NET" else text


CHANGES: tuple[Change, ...] = (
    _case_of_a_type, _case_of_an_end, _case_of_an_end, _case_of_a_name, _case_of_a_value, _case_of_an_element,
    _precision, _element_type, _blanks, _blanks_between, _attributes_swapped, _attribute_gone, _attribute_twice,
    _attribute_misspelt, _attribute_more, _to_data, _number, _number, _boolean, _list, _dim, _dims, _all_dims,
    _ports, _edges, _end_of_an_edge, _id, _layers, _version, _ir_version, _type, _name, _tensor_names, _comment,
    _entity, _quotes, _sections, _runtime_info, _unknown_element, _port_map, _variable, _weights, _root,
)  # fmt: skip
