"""All diagnostic codes, each with its title, default severity, and OpenVINO's behaviour for the same input."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from irexec.core.diagnostics.diagnostic import Severity
from irexec.core.diagnostics.statements import (
    CHECKED_BY_SOME,
    IF_NEEDED,
    IGNORES_EDGE,
    READS_START,
    REJECTS,
    UNDEFINED,
)

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE


class Area(Enum):
    """The subject of a finding: the first letter of its code."""

    TEXT = "X"
    ROOT = "N"
    LAYER = "L"
    PORT = "P"
    ATTRIBUTE = "D"
    SHAPE = "S"
    CONSTANT = "C"
    EDGE = "E"
    BODY = "B"
    VARIABLE = "V"
    RT_INFO = "R"
    OPERATOR = "O"
    FORMAT = "F"
    REPAIR = "Q"
    DOCUMENTED = "T"
    VALUE = "A"
    USAGE = "U"
    WRITER = "W"


# An error in one of these areas prevents its layer from running. An error about a declared shape or precision does not:
# declarations are only compared with inferred types.
_NEEDED_TO_RUN = {Area.BODY, Area.ATTRIBUTE, Area.EDGE, Area.LAYER, Area.OPERATOR, Area.VARIABLE}
_PORT_COUNT = "P007"
_ELEMENT_TYPE = "O002"
# There is nothing to run: no model or layer in the text, or a file or input that cannot be used.
_NOTHING_TO_RUN = {"N001", "O008", "Q029", "F001", "F002"}


class Code(NamedTuple):
    """One code. `lenient`: OpenVINO accepts such a file and its result is well defined; "openvino" mode only warns."""

    code: str
    severity: Severity
    title: str
    openvino: str | None = None
    lenient: bool = False

    @property
    def area(self) -> Area:
        return Area(self.code[0])

    @property
    def stops_layer(self) -> bool:
        """Whether a layer with this error cannot be run, whatever its inputs."""
        return self.area in _NEEDED_TO_RUN or self.code == _PORT_COUNT

    @property
    def concerns_types(self) -> bool:
        """Whether the finding is about an element type, which is the same at all sizes of a model."""
        return self.code == _ELEMENT_TYPE

    @property
    def stops_all(self) -> bool:
        """Whether no part of a model with this error can be run."""
        return self.area in (Area.TEXT, Area.USAGE) or self.code in _NOTHING_TO_RUN


_TABLE = [
    Code("X001", E, "the text is not well-formed XML", "rejects most such files, reporting a byte offset"),
    Code("X002", E, "the file contains a document type declaration or an entity",
         "skips the declaration and keeps entities as text"),
    Code("X003", E, "an attribute is repeated on one element", "silently uses the first value", lenient=True),
    Code("X004", E, "content after the end of the root element", "silently ignores it", lenient=True),
    Code("X005", E, "the text exceeds a limit on size, depth or number of elements",
         "reads the file if there is enough memory"),
    Code("X006", E, "the encoding is not supported, or the bytes are not valid text",
         "ignores the declared encoding", lenient=True),
    Code("X007", E, "the text contains a character that XML does not allow",
         "rejects NUL and accepts other control characters"),
    Code("X008", E, "the file is not an XML document of a model", "rejects the file without giving a reason"),
    Code("X010", E, "a namespace prefix is not declared", "treats prefix and name together as the name", lenient=True),
    Code("X011", E, "the XML declaration is not at the start of the file", "ignores it", lenient=True),
    Code("X012", W, "a comment contains two hyphens", "accepts the file"),
    Code("X013", E, "the text form of a model has a line that cannot be read"),
    Code("X014", E, "the text form of a model uses a name that it does not define"),
    Code("X015", E, "the text form of a model defines a name twice"),
    Code("N001", E, "the root element is not <net>", "rejects the file without giving a reason"),
    Code(
        "N002",
        E,
        "the IR version is missing, not an integer or not supported",
        "rejects the file without giving a reason",
    ),
    Code("N003", E, "a section occurs twice", "silently uses the first section", lenient=True),
    Code("N004", W, "an element is not part of the grammar", "silently ignores it", lenient=True),
    Code("N005", W, "an attribute is not part of the grammar", "silently ignores it"),
    Code("N006", W, "text occurs where only elements are allowed", "silently ignores it"),
    Code("N007", E, "the file has no <layers>, or <layers> is empty", "silently creates an empty model", lenient=True),
    Code("N008", E, "the model computes nothing: it has no Result and no Assign",
         "silently creates an empty model", lenient=True),
    Code("N009", E, "the root element is not written <net> in lower case", "accepts the file", lenient=True),
    Code("N010", E, "an integer has blanks, a plus sign or leading zeros", "reads the number", lenient=True),
    Code("N011", E, "the file is an execution graph, not a model", "rejects the file at its first layer"),
    Code("L001", E, "a layer has no id, name, type or version", REJECTS),
    Code("L002", E, "two layers have the same id",
         "replaces the first layer by the second, and rejects most such files"),
    Code("L003", W, "two layers have the same name", "renames the second layer since 2024, rejected the file before"),
    Code("L004", E, "no opset has an operator of this type", IF_NEEDED),
    Code("L005", E, "the version is not the name of a known opset",
         IF_NEEDED),
    Code("L006", E, "the opset given as version does not have this operator type",
         IF_NEEDED),
    Code("L007", N, "the version is newer than the opset that introduced the operator",
         "accepts the file and saves the older version"),
    Code("L008", W, "the layer contributes to no Result and no Assign", "silently omits the layer"),
    Code("L009", W, "the type is not spelled as in an IR", "accepts most such types", lenient=True),
    Code("L010", E, "a layer id is not an unsigned integer", 'rejects the file with the message "stoll"'),
    Code("L011", W, "output_names has no effect on this layer", "silently ignores it"),
    Code("L012", E, "irexec does not have this operator of OpenVINO Tokenizers",
         "needs the library of openvino_tokenizers"),
    Code("L013", E, "the requested OpenVINO release does not support a layer or the IR version",
         "rejects the file in that release"),
    Code("P001", E, "a port id is missing or not an unsigned integer", REJECTS),
    Code("P002", W, "port ids are not in ascending order",
         "numbers ports by position, so operands are used in file order"),
    Code("P003", E, "the precision of an output port is missing or unknown", REJECTS),
    Code("P004", E, "the declared precision of a port differs from the inferred element type",
         "silently uses the inferred type", lenient=True),
    Code("P005", E, "the declared dims of a port differ from the inferred shape",
         "silently uses the inferred shape", lenient=True),
    Code("P006", E, "a dim contains more than an integer", READS_START, lenient=True),
    Code("P007", E, "the operator does not accept this number of ports", "rejects most such files"),
    Code("P008", W, "a list of names has empty, repeated or blank-padded items", "drops empty items and keeps blanks"),
    Code("P009", E, "a dim is not an integer of at least -1", REJECTS),
    Code("P010", E, "the precision of an input port is unknown", "never reads it", lenient=True),
    Code("P011", E, "the size of a port's tensor in bytes exceeds 64 bits", "never computes the size", lenient=True),
    Code("P012", W, "two output ports have the same tensor name", "renames the second name since 2025"),
    Code("P013", E, "two ports of one section have the same id",
         "connects all edges to the first port, and rejects most such files"),
    Code("P014", E, "a name of an IR of version 10 belongs to two inputs or results", REJECTS),
    Code("D001", E, "the operator does not have this attribute", "silently ignores it", lenient=True),
    Code("D002", E, "a required attribute is missing",
         UNDEFINED, lenient=True),
    Code("D003", E, "only the start of an attribute's text is a valid value",
         READS_START, lenient=True),
    Code("D004", E, "a boolean is not true, false, 1 or 0", "silently uses the default", lenient=True),
    Code("D005", E, "the value is not allowed for the attribute", REJECTS),
    Code("D006", E, "a list has the wrong length or an empty item", "accepts one trailing comma", lenient=True),
    Code("D007", E, "the value of an attribute must not be negative", CHECKED_BY_SOME),
    Code("D008", W, "an enumeration value is written in a different letter case", "accepts the file"),
    Code("D010", E, "an attribute's value cannot be read at all", REJECTS),
    Code("D011", N, "an omitted attribute or input has different defaults in OpenVINO and on its page"),
    Code("D012", E, "OpenVINO requires these lists to have the same length", REJECTS, lenient=True),
    Code("S001", E, "the bounds of a range of extents are reversed", "silently reads it as unbounded", lenient=True),
    Code("S002", E, "an extent has a minus sign", "silently reads another number of at least 0, or no bound"),
    Code("S003", E, "an extent exceeds 64 bits", "silently reads it as 0 or as unbounded", lenient=True),
    Code("S004", W, "the notation of a shape is not accepted by every OpenVINO version", "accepts it in some versions"),
    Code("S006", E, "a shape cannot be read", REJECTS),
    Code("S007", E, "the element count or byte size of a shape exceeds 64 bits",
         "never computes the size", lenient=True),
    Code("C001", E, "a constant has no element_type, shape, offset or size", REJECTS),
    Code("C002", E, "a constant lies outside the weights", "rejects the file, naming neither layer nor range"),
    Code("C003", E, "a constant's size is smaller than its shape requires", REJECTS),
    Code("C004", E, "a constant's size is larger than its shape requires",
         "silently ignores the remaining bytes", lenient=True),
    Code("C006", W, "a constant carries its value in the XML", "leaves the constant uninitialized"),
    Code("C007", E, "the bytes of a string constant are inconsistent",
         "rejects most such files, but not a wrong number of strings"),
    Code("C008", W, "two constants overlap partly in the weights", "accepts the file"),
    Code("C009", W, "some bytes of the weights are not used by any constant", "ignores them"),
    Code("C010", E, "a constant needs weights, but none were given", REJECTS),
    Code("C011", N, "a constant holds NaN or infinity"),
    Code("C012", E, "a constant's element_type, shape, offset or size cannot be read", REJECTS),
    Code("C013", E, "a constant exceeds this machine's memory or 64 bits", "depends on the available memory"),
    Code("C016", N, "missing weights are drawn at random"),
    Code("C015", E, "the values of a constant in the text form do not fit its type and shape"),
    Code("C014", W, "a constant contains a value that is invalid for its element type", "accepts the file"),
    Code("E001", E, "an edge starts at a layer that does not exist",
         "rejects the file, naming a layer that is not in it"),
    Code("E002", E, "an edge names a port that its layer does not have", REJECTS),
    Code("E003", E, "an input port has two producers", REJECTS),
    Code("E004", E, "an input port is not connected", "rejects most such files"),
    Code("E005", E, "layers form a cycle", REJECTS),
    Code("E006", E, "an edge ends at a layer that has no inputs", REJECTS),
    Code("E007", E, "the two ends of an edge declare different precisions", "never compares them", lenient=True),
    Code("E008", E, "the two ends of an edge declare different dims", "never compares them", lenient=True),
    Code("E009", W, "an edge ends at a layer that does not exist", IGNORES_EDGE),
    Code("E010", E, "an end of an edge is missing or not an unsigned integer", REJECTS),
    Code("B001", E, "an operator with bodies has no body or no port map", "rejects most such files"),
    Code("B002", E, "a port map entry does not refer to a Parameter or Result of its body",
         'rejects the file with the message "unordered_map::at"'),
    Code("B003", E, "two entries of a port map have the same external port",
         "silently drops the second entry", lenient=True),
    Code("B004", E, "a port map entry refers to an external port that does not exist",
         'rejects the file with the message "vector::_M_range_check"'),
    Code("B005", E, "a back edge does not lead from a body Result to a body Parameter",
         "silently ignores most such back edges", lenient=True),
    Code("B006", W, "the value of a body Result is not used; a back edge may be missing", "silently drops it"),
    Code("B007", E, "a loop never ends with this stride or part size", "accepts the file", lenient=True),
    Code("B008", E, "an axis is outside the range that the rank allows", REJECTS),
    Code("B009", E, "a Loop has no execution condition", "rejects most such files", lenient=True),
    Code("B010", E, "the outputs of the two branches cannot be paired", REJECTS),
    Code("B011", E, "a body Parameter receives no value", "leaves the value undefined", lenient=True),
    Code("B012", E, "the purpose of a port map entry is unknown", "silently ignores it", lenient=True),
    Code("B013", E, "an attribute of a port map or back edge is missing or not an integer", REJECTS),
    Code("B014", E, "an output entry does not refer to an output port of the layer",
         "uses the order of the ids", lenient=True),
    Code("B015", E, "a port of the layer does not occur in its port map", REJECTS),
    Code("B016", E, "an input cannot be divided into one part per iteration",
         "accepts the file, but cannot run most such models"),
    Code("V001", E, "an operator with a variable has no variable_id", REJECTS),
    Code("V002", E, "a variable is assigned and never read", 'rejects the file with the message "map::at"'),
    Code("V003", E, "the operators of a variable declare different types or shapes",
         "accepts the file, but cannot compile it"),
    Code("R001", W, "an rt_info entry has no name, version or value", "silently ignores it"),
    Code("R002", N, "an rt_info attribute is not defined by OpenVINO", "silently ignores it"),
    Code("R003", E, "a known rt_info attribute is repeated", REJECTS),
    Code("R004", N, "a legacy section is ignored because rt_info is present", "ignores it"),
    Code("R005", E, "an argument in meta_data is neither a value nor cli_parameters", REJECTS),
    Code("R006", E, "the value of a known rt_info attribute cannot be read", REJECTS),
    Code("R007", N, "an IR older than version 11 has rt_info on a layer or port", "ignores it"),
    Code("R008", E, "a pre-process section cannot be applied", REJECTS),
    Code("O001", E, "an operator's constraint is violated"),
    Code("O002", E, "the operator does not accept the element type of an input"),
    Code("O003", E, "element types that must agree differ"),
    Code("O004", E, "the operator is known but not implemented yet"),
    Code("O005", E, "a value violates the operator's constraint"),
    Code("O006", E, "a result does not match the type or shape that the file declares"),
    Code("O007", E, "the kernel raised an exception"),
    Code("O008", E, "an input does not match the model"),
    Code("O009", N, "the operator's page leaves the result undefined"),
    Code("O011", E, "a layer needs more memory than is available"),
    Code("F001", E, "an optional package is not installed"),
    Code("F002", E, "the file is not a valid ONNX model"),
    Code("F003", E, "an ONNX operator is not supported"),
    Code("F004", E, "an ONNX node does not match the definition of its operator"),
    Code("F005", E, "the values of an ONNX graph cannot be connected"),
    Code("F006", E, "an ONNX tensor cannot be read", REJECTS),
    Code("F007", E, "external data is outside the model's folder", REJECTS),
    Code("F008", E, "the type of an ONNX value is not supported"),
    Code("F009", E, "this use of an ONNX operator is not supported"),
    Code("F010", W, "the ONNX opset is newer than the installed onnx package"),
    Code("F011", W, "a declared ONNX type contradicts the inferred one"),
    Code("F012", E, "the ONNX model imports no valid opset", REJECTS),
    Code("F013", E, "the checks of the onnx package report an error", lenient=True),
    Code("F014", W, "how other runtimes handle an ONNX model"),
    Code("F015", E, "the file with the data of an ONNX tensor is missing", REJECTS),
    Code("F016", E, "two nodes of an ONNX graph have the same name", "ignores it", lenient=True),
    Code("F017", E, "the requested OpenVINO release ignores or refuses a part of an ONNX node"),
    Code("Q001", W, "an ellipsis stands for omitted attributes"),
    Code("Q002", W, "an ellipsis stands for the name of an element"),
    Code("Q003", W, "an ellipsis stands for omitted content"),
    Code("Q004", W, "the text has more than one root element"),
    Code("Q005", W, "a start or end tag is missing"),
    Code("Q006", W, "an end tag is misspelled or closes no element"),
    Code("Q007", W, "a '<' or '>' is missing from a tag"),
    Code("Q008", W, "dimensions follow a port that is already closed"),
    Code("Q009", W, "something other than attributes is written between attributes"),
    Code("Q010", W, "an attribute's value is not quoted correctly"),
    Code("Q011", W, "a comment is not opened or closed correctly"),
    Code("Q012", W, "the XML declaration is malformed"),
    Code("Q013", W, "a '>' is duplicated"),
    Code("Q014", W, "attributes are written as the text of <data>"),
    Code("Q015", W, "the text ends before its elements are closed"),
    Code("Q016", W, "a section is opened a second time"),
    Code("Q017", W, "an attribute is written on <layer> instead of its proper element"),
    Code("Q018", W, "a layer has no unique id"),
    Code("Q019", W, "a layer has no name"),
    Code("Q020", W, "a layer has no version"),
    Code("Q021", W, "ports have no precision"),
    Code("Q022", W, "the type is not spelled as in an IR"),
    Code("Q023", W, "a port has the id of another port"),
    Code("Q024", W, "port ids are not consecutive"),
    Code("Q025", W, "text occurs where it is not allowed"),
    Code("Q026", W, "an element's name is misspelled"),
    Code("Q027", W, "an attribute is repeated in an example"),
    Code("Q028", W, "the brackets around values do not match"),
    Code("Q029", E, "the text contains no layer"),
    Code("Q030", W, "a port has no id"),
    Code("Q031", W, "the precision is not spelled as in an IR"),
    Code("Q032", W, "a port map numbers the outputs instead of using their ids"),
    Code("Q033", W, "a shape was replaced so that an example can be checked further"),
    Code("Q034", W, "a start tag is repeated"),
    Code("T001", E, "computed values differ from the documented ones"),
    Code("T002", E, "the number of documented values does not match the dims"),
    Code("T003", E, "documented values do not match the element type"),
    Code("A001", W, "a layer produces NaN from finite inputs"),
    Code("A002", W, "a layer produces infinities from finite inputs"),
    Code("A003", W, "a result depends on the order of equal values, which is undefined"),
    Code("A004", W, "a negative or out-of-range index is counted from the end, clamped or ignored"),
    Code("A005", W, "an integer computation overflows", "saturates 8-bit sums and computes 64-bit integers in 32 bits"),
    Code("A006", W, "a conversion changes values"),
    Code("A007", W, "a division by zero occurs"),
    Code("A008", W, "a variable is read before it is assigned"),
    Code("U001", E, "a file cannot be read"),
    Code("U002", E, "an extension file cannot be loaded"),
    Code("U003", E, "an option cannot be combined with the other arguments"),
    Code("U004", E, "the value of an option cannot be read"),
    Code("U005", E, "an option refers to an item that does not exist"),
    Code("U006", E, "a value, shape or attribute that the run requires is missing"),
    Code("U007", E, "a file cannot be written"),
    Code("U008", E, "processing of one of several files ended without a result"),
    Code("U009", E, "the time limit was exceeded"),
    Code("U010", E, "the other runtime cannot run the model"),
    Code("U011", E, "there is no failure to reduce"),
    Code("U012", E, "a file is not of the kind that the command requires"),
    Code("U013", E, "the settings cannot be read"),
    Code("W001", E, "the model contains an item that IR cannot express"),
    Code("W002", E, "a layer has no equivalent in the older format"),
]  # fmt: skip

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}
