"""Repairs of printed examples: a tolerant scanner and tree, completion of loose layers, clean XML with a map to the
original text.
"""
