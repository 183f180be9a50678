"""XML: a hardened parse, the place of every element, encodings, and text that reads back."""
