"""Declaring an operator: the decorator, signatures, attributes, the table of contents."""
