"""The vocabulary: every diagnostic code, its title, default severity, and what OpenVINO does with the same input."""

from __future__ import annotations

from enum import Enum

from irexec.diagnostics.diagnostic import Severity
from irexec.records import NamedTuple

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


# An error in one of these areas keeps its layer from running. Declared shapes and precisions are only compared with the
# inferred ones, so an error about them does not.
_NEEDED_TO_RUN = {Area.BODY, Area.ATTRIBUTE, Area.EDGE, Area.LAYER, Area.OPERATOR, Area.VARIABLE}
_PORT_COUNT = "P007"
# There is nothing to run: no model or layer in the text, or a file or input that cannot be used.
_NOTHING_TO_RUN = {"N001", "O008", "Q029", "F001", "F002"}


class Code(NamedTuple):
    """One entry. `lenient`: OpenVINO accepts such a file and its result is well defined: "openvino" mode only warns."""

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
        """Whether a layer that this error is about cannot be run, whatever its inputs."""
        return self.area in _NEEDED_TO_RUN or self.code == _PORT_COUNT

    @property
    def stops_all(self) -> bool:
        """Whether this error says that there is nothing to run at all."""
        return self.area in (Area.TEXT, Area.USAGE) or self.code in _NOTHING_TO_RUN


_TABLE = [
    Code("X001", E, "the text is not well-formed XML", "refuses most such files, at a byte offset"),
    Code("X002", E, "a document type declaration or an entity", "skips the declaration and leaves entities as text"),
    Code("X003", E, "an attribute is written twice on one element", "silently takes the first", lenient=True),
    Code("X004", E, "content after the end of the root element", "silently ignores it", lenient=True),
    Code("X005", E, "the text exceeds a limit of size, depth or number", "reads it as long as memory lasts"),
    Code(
        "X006",
        E,
        "an encoding that is not accepted, or bytes that are not text",
        "ignores the declared encoding",
        lenient=True,
    ),
    Code("X007", E, "a character that XML does not allow", "refuses NUL, lets other control characters pass"),
    Code("X008", E, "the file holds no XML document of a model", "refuses it without a reason"),
    Code("X009", E, "the file cannot be read", "refuses it"),
    Code("X010", E, "a namespace prefix is not declared", "takes prefix and name together as the name", lenient=True),
    Code("X011", E, "an XML declaration that is not at the very start", "ignores it", lenient=True),
    Code("N001", E, "the root element is not <net>", "refuses the file without a reason"),
    Code("N002", E, "the IR version is missing, not an integer or not supported", "refuses the file without a reason"),
    Code("N003", E, "a section is there twice", "silently takes the first", lenient=True),
    Code("N004", W, "an element that the grammar does not know", "silently ignores it", lenient=True),
    Code("N005", W, "an attribute that the grammar does not know", "silently ignores it"),
    Code("N006", W, "text where only elements belong", "silently ignores it"),
    Code("N007", E, "no <layers>, or no layer in it", "silently makes an empty model", lenient=True),
    Code("N008", E, "nothing to compute: no Result and no Assign", "silently makes an empty model", lenient=True),
    Code("N009", E, "the root element is not written <net> in lower case", "reads it", lenient=True),
    Code("N010", E, "an integer with blanks, a plus sign or leading zeros", "reads the number", lenient=True),
    Code("N011", E, "the file is an execution graph, not a model", "refuses the file for its first layer"),
    Code("L001", E, "a layer without id, name, type or version", "refuses the file"),
    Code("L002", E, "two layers have one id", "silently replaces the first layer by the second"),
    Code("L003", W, "two layers have one name", "renames the second since 2024, refused the file before"),
    Code("L004", E, "no opset has an operator of this type", "refuses the file, if the layer is reachable"),
    Code("L005", E, "the version names no known opset", "refuses the file, if the layer is reachable"),
    Code("L006", E, "the opset that the version names does not have the type", "refuses the file, if it is reachable"),
    Code("L007", N, "the version is newer than the opset that introduced the operator", "reads it, writes the older"),
    Code("L008", W, "the layer contributes to no Result and no Assign", "silently leaves the layer out"),
    Code("L009", W, "the type is not spelt as an IR spells it", "reads most such types", lenient=True),
    Code("L010", E, "a layer id is not an unsigned integer", "refuses the file with the word stoll"),
    Code("L011", W, "output_names has no effect on this layer", "silently ignores it"),
    Code(
        "L012", E, "an operator of OpenVINO Tokenizers, which no opset has", "needs the library of openvino_tokenizers"
    ),
    Code(
        "L013", E, "the OpenVINO release that is asked for does not have this yet", "refuses the file, in that release"
    ),
    Code("P001", E, "a port id is missing or not an unsigned integer", "refuses the file"),
    Code("P002", W, "port ids do not ascend", "numbers ports by position: the operands are taken as they stand"),
    Code("P003", E, "an output port's precision is missing or unknown", "refuses the file"),
    Code(
        "P004",
        E,
        "a port's precision is not the inferred element type",
        "silently goes by the inferred type",
        lenient=True,
    ),
    Code("P005", E, "a port's dims are not the inferred shape", "silently goes by the inferred shape", lenient=True),
    Code("P006", E, "a dim is not a clean integer", "reads the number at its start", lenient=True),
    Code("P007", E, "the number of ports is not what the operator takes", "refuses most such files"),
    Code("P008", W, "a list of names has empty, repeated or blank-padded items", "drops empty items, keeps blanks"),
    Code("P009", E, "a dim is not an integer of at least -1", "refuses the file"),
    Code("P010", E, "an input port's precision is unknown", "never reads it", lenient=True),
    Code(
        "P011", E, "the extents of a port make more bytes than 64 bits can count", "never multiplies them", lenient=True
    ),
    Code("P012", W, "one tensor name stands on two output ports", "renames the second since 2025"),
    Code("P013", E, "two ports of one section have one id", "gives all edges to the first"),
    Code("D001", E, "an attribute that the operator does not have", "silently ignores it", lenient=True),
    Code("D002", E, "a required attribute is missing", "silently takes its own initial value", lenient=True),
    Code("D003", E, "an attribute's value does not parse in full", "reads the number at its start", lenient=True),
    Code("D004", E, "a boolean that is not true, false, 1 or 0", "silently takes the default", lenient=True),
    Code("D005", E, "a value that is not one of those the attribute can have", "refuses the file"),
    Code("D006", E, "a list of the wrong length or with empty items", "takes one comma at the end", lenient=True),
    Code("D007", E, "a negative number where there can be none", "silently takes it"),
    Code("D008", W, "a value of an enumeration in other letter case", "reads it"),
    Code("D010", E, "an attribute's value cannot be read at all", "refuses the file"),
    Code("D011", N, "an attribute is left out and OpenVINO's default is not the specification's"),
    Code(
        "D012",
        E,
        "OpenVINO takes these lists in one length only, and they have several",
        "refuses the file",
        lenient=True,
    ),
    Code("S001", E, "a range of extents is reversed", "silently reads it as unbounded", lenient=True),
    Code("S002", E, "a negative extent", "silently reads it as a range from 0", lenient=True),
    Code("S003", E, "an extent exceeds 64 bits", "silently reads 0 or unbounded", lenient=True),
    Code(
        "S004", W, "a shape is written in a way that not every version of OpenVINO reads", "reads it in some versions"
    ),
    Code("S006", E, "a shape that cannot be read", "refuses the file"),
    Code("S007", E, "a shape has more elements or bytes than 64 bits can count", "never multiplies them", lenient=True),
    Code("C001", E, "a constant without element_type, shape, offset or size", "refuses the file"),
    Code("C002", E, "a constant lies outside the weights", "refuses the file, names neither layer nor range"),
    Code("C003", E, "a constant's size is less than its shape needs", "refuses the file"),
    Code("C004", E, "a constant's size is more than its shape needs", "silently ignores the rest", lenient=True),
    Code("C006", W, "a constant carries its value in the XML", "never looks at it"),
    Code("C007", E, "the bytes of a string constant are inconsistent", "refuses most; count other than shape passes"),
    Code("C008", W, "two constants share part of their bytes", "reads it"),
    Code("C009", W, "bytes of the weights that no constant uses", "ignores them"),
    Code("C010", E, "there are no weights for a constant that needs them", "refuses the file"),
    Code("C011", N, "a constant holds NaN or infinity"),
    Code("C012", E, "a constant's element_type, shape, offset or size cannot be read", "refuses the file"),
    Code("C013", E, "a constant is larger than this machine or 64 bits can hold", "depends on the memory"),
    Code("C014", W, "a constant holds a value that its element type does not have", "reads it"),
    Code("E001", E, "an edge starts at a layer that does not exist", "refuses the file, naming an invented layer"),
    Code("E002", E, "an edge names a port that its layer does not have", "refuses the file"),
    Code("E003", E, "an input port has two producers", "refuses the file"),
    Code("E004", E, "an input port is not connected", "refuses most such files"),
    Code("E005", E, "layers form a cycle", "refuses the file, unless nothing depends on the cycle"),
    Code("E006", E, "an edge into a layer that takes no input", "refuses the file"),
    Code("E007", E, "the two ends of an edge declare different precisions", "never compares them", lenient=True),
    Code("E008", E, "the two ends of an edge declare different dims", "never compares them", lenient=True),
    Code("E009", E, "an edge ends at a layer that does not exist", "silently ignores the edge", lenient=True),
    Code("E010", E, "an end of an edge is missing or not an unsigned integer", "refuses the file"),
    Code("B001", E, "an operator with bodies lacks a body or a port map", "refuses the file"),
    Code("B002", E, "a port map names no Parameter (or Result) of its body", "refuses the file with unordered_map::at"),
    Code("B003", E, "two entries of a port map have one external port", "silently drops the second", lenient=True),
    Code("B004", E, "a port map names an external port that is not there", "refuses it with vector::_M_range_check"),
    Code(
        "B005",
        E,
        "a back edge does not go from a body Result to a body Parameter",
        "silently ignores most",
        lenient=True,
    ),
    Code("B006", W, "nothing takes a body Result; a back edge may be missing", "silently drops it"),
    Code("B007", E, "a stride or part size with which a loop never ends", "reads it", lenient=True),
    Code("B008", E, "an axis outside the rank", "refuses the file"),
    Code("B009", E, "a Loop without execution condition", "refuses most such files", lenient=True),
    Code("B010", E, "the outputs of the two branches do not pair", "refuses the file"),
    Code("B011", E, "a body Parameter that nothing feeds", "leaves the value undefined", lenient=True),
    Code("B012", E, "an unknown purpose in a port map", "silently ignores it", lenient=True),
    Code("B013", E, "an attribute of a port map or back edge is missing or not an integer", "refuses the file"),
    Code("B014", E, "an output entry names no output port of the layer", "goes by the order of the ids", lenient=True),
    Code("B015", E, "a port of the layer that no entry of a port map takes", "refuses the file"),
    Code("B016", E, "an input that cannot be divided into the parts of its iterations", "reads it, refuses to run it"),
    Code("V001", E, "an operator with a variable lacks variable_id", "refuses the file"),
    Code("V002", E, "a variable is assigned and never read", "refuses the file with map::at"),
    Code(
        "V003", E, "type or shape of a variable differ between its operators", "reads the file, refuses to compile it"
    ),
    Code("R001", W, "an rt_info entry that lacks its name, version or value", "silently ignores it"),
    Code("R002", N, "an rt_info attribute that is not one of OpenVINO's", "silently ignores it"),
    Code("R003", E, "a known rt_info attribute is there twice", "refuses the file"),
    Code("R004", N, "a legacy section that rt_info switches off", "ignores it"),
    Code("R005", E, "an argument in meta_data that is neither a value nor cli_parameters", "refuses the file"),
    Code("R006", E, "a known rt_info attribute whose value cannot be read", "refuses the file"),
    Code("R007", N, "rt_info of a layer or port in an IR older than version 11", "ignores it"),
    Code("R008", E, "a pre-process section that cannot be applied", "refuses the file"),
    Code("O001", E, "an operator's constraint is broken"),
    Code("O002", E, "an input's element type is not one the operator takes"),
    Code("O003", E, "element types that must agree do not"),
    Code("O004", E, "the operator is known but not implemented yet"),
    Code("O005", E, "a value breaks the operator's constraint"),
    Code("O006", E, "a result is not what the file declares"),
    Code("O007", E, "the kernel failed"),
    Code("O008", E, "an input does not fit the model"),
    Code("O009", N, "the operator's page leaves the result open"),
    Code("O011", E, "a layer needs more memory than there is"),
    Code("F001", E, "the package that reads a file's format is not installed"),
    Code("F002", E, "the file holds no ONNX model"),
    Code("F003", E, "an ONNX operator that is not translated"),
    Code("F004", E, "an ONNX node does not fit its operator's definition"),
    Code("F005", E, "the values of an ONNX graph do not connect"),
    Code("F006", E, "an ONNX tensor cannot be read", "refuses the file"),
    Code("F007", E, "external data outside of the model's folder", "refuses the file"),
    Code("F008", E, "an ONNX value that is neither a tensor nor a sequence of tensors"),
    Code("F009", E, "a use of an ONNX operator that is not translated"),
    Code("F010", W, "an opset of ONNX that is newer than the installed package"),
    Code("F011", W, "a declared ONNX type contradicts what the graph makes"),
    Code("F012", E, "an ONNX model does not say which opset it uses", "refuses the file"),
    Code("F013", E, "a fault that ONNX's own checks find", lenient=True),
    Code("F014", W, "what other runtimes say of an ONNX model"),
    Code("Q001", W, "an ellipsis stands for attributes"),
    Code("Q002", W, "an ellipsis stands for an element's name"),
    Code("Q003", W, "an ellipsis stands for content"),
    Code("Q004", W, "the text has several roots"),
    Code("Q005", W, "a start or end tag is missing"),
    Code("Q006", W, "an end tag is misspelt or closes nothing"),
    Code("Q007", W, "a tag has lost its '<' or '>'"),
    Code("Q008", W, "a port that is closed already goes on with its dims"),
    Code("Q009", W, "something between attributes does not belong there"),
    Code("Q010", W, "an attribute's value is not properly in quotes"),
    Code("Q011", W, "a comment is not properly opened or closed"),
    Code("Q012", W, "the XML declaration is not written as one"),
    Code("Q013", W, "a '>' too many"),
    Code("Q014", W, "attributes are written as the text of <data>"),
    Code("Q015", W, "the text ends early"),
    Code("Q016", W, "a section is there twice and goes on"),
    Code("Q017", W, "an attribute stands on <layer> and belongs elsewhere"),
    Code("Q018", W, "a layer without an id of its own"),
    Code("Q019", W, "a layer without name"),
    Code("Q020", W, "a layer without version"),
    Code("Q021", W, "ports without precision"),
    Code("Q022", W, "the type is not spelt as an IR spells it"),
    Code("Q023", W, "a port's id is already used by another port"),
    Code("Q024", W, "port ids are not consecutive"),
    Code("Q025", W, "text where none belongs"),
    Code("Q026", W, "an element's name is misspelt"),
    Code("Q027", W, "an attribute is written twice in an example"),
    Code("Q028", W, "the brackets around values do not match"),
    Code("Q029", E, "the text holds no layer"),
    Code("Q030", W, "a port without id"),
    Code("Q031", W, "the precision is not spelt as an IR spells it"),
    Code("Q032", W, "a port map counts the outputs instead of naming them"),
    Code("Q033", W, "a shape is read in another way, so that an example can go on"),
    Code("Q034", W, "a start tag is written twice"),
    Code("T001", E, "documented values that the operator does not make"),
    Code("T002", E, "the values that a page lists are not as many as the dims hold"),
    Code("T003", E, "the values that a page lists are not of the element type"),
    Code("A001", W, "a layer makes NaN of finite inputs"),
    Code("A002", W, "a layer makes infinities of finite inputs"),
    Code("A003", W, "a result depends on the order of equal values, which the operator leaves open"),
    Code("A004", W, "an index that is counted from the end, clamped or ignored"),
    Code("A005", W, "integers overflow", "saturates 8-bit sums, keeps 32 of 64 bits"),
    Code("A006", W, "a conversion loses values"),
    Code("A007", W, "a division by zero"),
    Code("A008", W, "a variable is read before it is written"),
    Code("U001", E, "a file cannot be read"),
    Code("U002", E, "an extension file cannot be loaded"),
    Code("U003", E, "an option does not fit the other arguments"),
    Code("U004", E, "the value of an option cannot be read"),
    Code("U005", E, "an option names something that is not there"),
    Code("U006", E, "there is nothing that can be run"),
    Code("U007", E, "a file cannot be written"),
    Code("U008", E, "the work on one of many files ended without a result"),
    Code("W001", E, "the model holds something that IR cannot express"),
    Code("W002", E, "a layer has no older form that computes the same"),
]

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}
