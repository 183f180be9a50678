"""Decoding of bytes: the few encodings that an IR may have; all others are refused."""

from __future__ import annotations

import codecs
import re

_CODECS = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1",
    "latin1": "latin-1",
}  # fmt: skip


class EncodingProblem(ValueError):
    """Raised for bytes that cannot be decoded; `before` is the text before the first wrong byte.

    `text` is the readable text, with wrong bytes written as `\\xff`: only for UTF-8, where a wrong byte affects a
    single character. `text` is None if all of the text may be misread.
    """

    hint = "save the file as UTF-8"

    def __init__(self, message: str, before: str = "", text: str | None = None) -> None:
        super().__init__(message)
        self.before, self.text = before, text


def decode(data: bytes) -> str:
    """Return the text of an XML file, without its byte order mark. Raises EncodingProblem."""
    mark, codec = encoding_of(data)
    return _decode(data[mark:], codec)


def encoding_of(data: bytes) -> tuple[int, str]:
    """Return the length in bytes of an XML file's byte order mark, and Python's name of the encoding after it.

    UTF-8, UTF-16, US-ASCII and ISO-8859-1 are read, the last two if declared. Raises EncodingProblem.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"<\0\0\0", b"\0\0\0<")):
        raise EncodingProblem("encoding UTF-32 is not supported")
    for mark, codec in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return len(mark), codec
    if data.startswith((b"<\0", b"\0<")):
        return 0, "utf-16-le" if data[1] == 0 else "utf-16-be"
    declared = _declared(data[:512]) if b"encoding" in data[:512] else None
    if declared is None:
        return 0, "utf-8"
    name = declared[1].decode("ascii", "replace")
    if name.lower() not in _CODECS:
        before = data[: declared.start(1)].decode("ascii", "replace")
        raise EncodingProblem(f"encoding {name!r} is not supported", before)
    return 0, _CODECS[name.lower()]


def _declared(data: bytes) -> re.Match[bytes] | None:
    """Return the encoding that an XML declaration names."""
    return re.match(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([^"'>]*)["']""", data)


def _decode(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        wrong = " ".join(f"{byte:02x}" for byte in data[error.start : error.end][:4])
        before = data[: error.start].decode(codec, "replace")
        text = data.decode(codec, "backslashreplace") if codec == "utf-8" else None
        raise EncodingProblem(f"bytes {wrong} are not valid {codec.upper()}", before, text=text) from None
