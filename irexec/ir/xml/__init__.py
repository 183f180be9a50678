"""XML: a hardened parser, the position of every element, encodings, and escaping of text."""
