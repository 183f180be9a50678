"""Checks of a document that need no knowledge of operators."""

from irexec.ir.checks.check import check_document

__all__ = ["check_document"]
