"""What can be wrong with a document and be seen without knowing any operator."""

from irexec.ir.checks.check import check_document

__all__ = ["check_document"]
