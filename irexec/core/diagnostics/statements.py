"""What OpenVINO does with a file, where it depends on more than the code of a finding. Each continues "OpenVINO";
benchmarks/openvino_statements.py judges them, and those in codes.py.
"""

from __future__ import annotations

MEASURED_WITH = "2026.4.1"
"""The release of OpenVINO with which the statements are measured."""

REJECTS = "rejects the file"
IF_NEEDED = "rejects the file if a Result depends on the layer"
UNLESS_EXTENDED = "rejects the file, unless an extension of OpenVINO defines the operator"
UNCONNECTED = "rejects most such files, because an input port is not connected"
WITHOUT_BYTES = "reads the layer without its bytes"
UNREAD = "does not read the layer, because no result depends on it"
IGNORES_EDGE = "silently ignores the edge"
COMPUTES = "accepts it and computes with it"
SURPLUS_READ = "reads the file; the CPU plugin rejects it, unless the item is one too many"
NOT_COMPILED = "reads the file, but the CPU plugin rejects it"
CHECKED_BY_SOME = "accepts or rejects the value, depending on the operator"
ACCEPTS = "accepts the file"
GIVES_ZEROS = "gives zeros for the index"
READS_START = "reads the number at the start of the text"
READS_EMPTY = "silently reads a missing list as empty"
UNDEFINED = "uses an undefined value, or rejects most such files"
