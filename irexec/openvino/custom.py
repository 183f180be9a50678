"""Operators that a Python class defines: irexec's own are functions."""

from __future__ import annotations

from irexec.openvino.exceptions import missing

Op = missing("Op", "operators as classes", "an operator is a function: @irexec.operator, docs/adding-an-operator.md")
