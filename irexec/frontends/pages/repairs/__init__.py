"""Repairs of printed examples: a tolerant parser, completion of loose layers, clean XML with a map."""
