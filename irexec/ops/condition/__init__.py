"""Condition operators, a file per operation page or family of one-liners."""
