"""Opsets as Python modules: a function per operator, which evaluates arrays, and creates nodes from nodes."""
