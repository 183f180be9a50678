"""Checks of a document that need no knowledge of operators."""

from irexec.ir.checks.check import check_document, is_too_old

__all__ = ["check_document", "is_too_old"]
