"""Fixing files: the fixes of findings, and their application to the file, which is otherwise left unchanged."""
