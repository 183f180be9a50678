"""The text forms of attributes in the RELAX NG schema, as patterns.

Source: OpenVINO IR, version 10 and 11.
"""

from __future__ import annotations

# Text forms, as the strict reader takes them: name → what it is, pattern. Blanks around a value are free (xsd:token).
INTEGER = "-?[0-9]{1,19}"
NATURAL = "[0-9]{1,19}"
POSITIVE = "0*[1-9][0-9]{0,18}"
EXPONENT = "([eE][\\-+]?[0-9]+)?"
UNSIGNED_NUMBER = f"([0-9]+\\.?[0-9]*|\\.[0-9]+){EXPONENT}"
POSITIVE_NUMBER = f"([0-9]*[1-9][0-9]*(\\.[0-9]*)?|[0-9]*\\.[0-9]*[1-9][0-9]*){EXPONENT}|inf"
DIMENSION = "(-1|\\?|[0-9]{1,19}|[0-9]{0,19}\\.\\.[0-9]{0,19})"


def list_of(item: str) -> str:
    """Return the pattern of any number of items between commas."""
    return f"(({item})( ?, ?({item}))*)?"


PATTERNS: dict[str, tuple[str, str]] = {
    "uint": ("an id or an offset", NATURAL),
    "integer": ("an integer", INTEGER),
    "natural": ("an integer of at least 0", NATURAL),
    "positive": ("an integer of at least 1", POSITIVE),
    "number": ("a floating-point number", f"-?({UNSIGNED_NUMBER}|inf|nan)"),
    "number-from-0": ("a floating-point number of at least 0", f"{UNSIGNED_NUMBER}|inf"),
    "number-above-0": ("a floating-point number greater than 0", POSITIVE_NUMBER),
    "integers": ("integers between commas", list_of(INTEGER)),
    "naturals": ("integers of at least 0 between commas", list_of(NATURAL)),
    "positives": ("integers of at least 1 between commas", list_of(POSITIVE)),
    "numbers": ("floating-point numbers between commas", list_of(f"-?({UNSIGNED_NUMBER}|inf|nan)")),
    "numbers-above-0": ("floating-point numbers greater than 0 between commas", list_of(POSITIVE_NUMBER)),
    "partial-shape": ("a partial shape, such as 1,3,?,1..10", f"\\.\\.\\.|\\[?{list_of(DIMENSION)}\\]?"),
    "dimension": ("an extent, or -1 for any", "-1|[0-9]{1,19}"),
}
