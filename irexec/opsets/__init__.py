"""Opsets as Python modules: a function per operator, which evaluates arrays and makes nodes of nodes."""
