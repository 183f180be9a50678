"""Mending files: the fixes of findings, and their application to the file, which stays as it is otherwise."""
