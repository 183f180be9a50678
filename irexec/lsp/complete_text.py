"""Completion in the text form: types of layers, names of values, attributes and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irexec.frontends.text.words import word
from irexec.ir.xml.events import Span
from irexec.lsp.complete import Choice, attribute_text, described, members, operator_of, types
from irexec.lsp.text_form import TextForm
from irexec.ops.spec.attributes import attribute_text as value_text

_LAYER = re.compile(
    r'\s*(?:"(?:[^"\\]|\\.)*+"|[^\s"=]++)\s*=\s*(?P<type>\w*)(?:-(?P<version>\w+))?(?P<rest>[^\w-].*)?\Z'
)
_TYPED = re.compile(r'[^\s,()\[\]{}=:"]*\Z')


def text_choices(text: str, offset: int) -> Iterator[Choice]:
    """Yield the completions at an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    found, typed = _LAYER.match(line), _TYPED.search(line)
    if found is None or typed is None:
        return
    span = Span(offset - len(typed[0]), len(typed[0]))
    rest = found["rest"]
    if rest is None:
        for type, detail in types():
            yield Choice(type, detail, span, described(type))
    elif rest.count("(") > rest.count(")"):
        form = TextForm(text, None)
        for name, type in form.names(offset):
            yield Choice(word(name), type, span)
    else:
        yield from _attributes(found, rest[: len(rest) - len(typed[0])], span)


def _attributes(layer: re.Match[str], before: str, span: Span) -> Iterator[Choice]:
    """Yield the attributes of a layer, or the values of the one whose `=` precedes the span."""
    facts = operator_of({"type": layer["type"], "version": f"opset{layer['version'] or ''}"})
    for attribute in facts.attributes if facts is not None else ():
        if before.endswith(f"{attribute.name}="):
            for value in members(attribute):
                yield Choice(value, "default" if value == attribute.default else "", span)
        elif before.endswith((" ", ")")) and f" {attribute.name}=" not in before:
            initial = "" if attribute.default is None else value_text(attribute.default)
            detail = f"{attribute.type}, required" if attribute.required else attribute.type
            shown = attribute_text(attribute)
            yield Choice(f"{attribute.name}={initial}", detail, span, shown, attribute.name)
