"""Text and tokens: the tokenizer and the detokenizer of a folder, and its chat template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.environment import installing
from irexec.core.types import Array
from irexec.ir.beside import Unreadable, text_of
from irexec.model.graph.ports import port_name
from irexec.runtime.engine import CompiledModel
from irexec.tools.language.folder import DETOKENIZER, TOKENIZER, Folder, unusable

_LONGEST = 1 << 20
"""The largest number of bytes of a chat template."""


class Texts:
    """Converts texts to tokens and back. Errors raise IRError."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._tokenizer = CompiledModel(folder.part(TOKENIZER))
        self._detokenizer = CompiledModel(folder.part(DETOKENIZER)) if DETOKENIZER in folder.files else None

    def tokens(self, text: str) -> Array:
        """Return the tokens of a text, as i64 of shape [1, n]."""
        given = [np.array([text], np.dtypes.StringDType())]
        found: Array = self._tokenizer(given)[self._port("input_ids")].astype(np.int64)
        if not found.size:
            raise unusable("U006", "the prompt has no tokens", self.folder.files[TOKENIZER])
        start = self.folder.setting("bos_token_id")
        # A chat template writes the token that begins a text, and the tokenizer may add it again.
        if found.shape[1] > 2 and found[0, 0] == found[0, 1] == start:
            found = found[:, 1:]
        return found

    def _port(self, name: str) -> int:
        names = [port_name(port) for port in self._tokenizer.outputs]
        return names.index(name) if name in names else 0

    def text(self, tokens: list[int]) -> str:
        """Return the text of tokens, or their numbers if the folder has no detokenizer."""
        if self._detokenizer is None:
            return " ".join(map(str, tokens))
        return str(self._detokenizer([np.array([tokens], np.int64)])[0][0])


def chat_template(folder: Folder) -> tuple[str, Path] | None:
    """Return the chat template of a folder and its file; None if it has none. Raises IRError."""
    path = folder.path / "chat_template.jinja"
    if path.is_file():
        try:
            return text_of(path, "the chat template", _LONGEST), path
        except (OSError, Unreadable) as error:
            raise unusable("U001", f"the chat template cannot be read: {error}", path) from None
    for file in ("chat_template.json", "tokenizer_config.json"):
        found = folder.settings(file).get("chat_template")
        if isinstance(found, list):  # Templates with names, of which one is the default.
            named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
            found = named.get("default")
        if isinstance(found, str):
            return found, folder.path / file
    return None


def as_chat(folder: Folder, prompt: str, *, image: bool = False) -> str:
    """Return the text that a chat template makes of a user's message; the message itself if there is no template.
    `image`: the message contains an image, before the text, if the template knows images.

    Raises IRError, also if jinja2 is not installed.
    """
    template = chat_template(folder)
    if template is None:
        return prompt
    source, path = template
    try:
        from irexec.tools.language.sandbox import TemplateError, rendered
    except ImportError:
        how = f"{installing('chat')}, or give --raw, which does not apply the template"
        message = "the chat template of the folder requires jinja2, which is not installed"
        raise unusable("F001", message, path, how) from None
    tokens = {name: _text_of_token(value) for name, value in folder.settings("tokenizer_config.json").items()}
    given: dict[str, Any] = {name: text for name, text in tokens.items() if name.endswith("_token") and text}
    content: Any = prompt
    if image and "image" in source:
        content = [{"type": "image"}, {"type": "text", "text": prompt}]
    given |= {"messages": [{"role": "user", "content": content}], "add_generation_prompt": True}
    try:
        return rendered(source, given)
    except TemplateError as error:
        hint = "--raw does not apply the template"
        raise unusable("U012", f"the chat template fails: {error}", path, hint) from None


def _text_of_token(value: Any) -> str | None:
    """Return the text of a special token, which may be stored with more properties."""
    found = value.get("content") if isinstance(value, dict) else value
    return found if isinstance(found, str) else None
