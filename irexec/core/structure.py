"""The types of layers that the grammar of a model knows: what enters, stays, leaves, is kept between calls, and nests,
and the conversion through which compressed constants are read.

All other types are operators that compute, and only their declarations in `ops/` name them.
"""

from __future__ import annotations

PARAMETER, CONST, RESULT = "Parameter", "Const", "Result"
READ_VALUE, ASSIGN = "ReadValue", "Assign"
CONVERT = "Convert"
IF, LOOP, TENSOR_ITERATOR = "If", "Loop", "TensorIterator"

SOURCES = (PARAMETER, CONST)
ENDS = (PARAMETER, RESULT)
STRUCTURAL = (PARAMETER, CONST, RESULT)
"""The types of layers that compute nothing."""
