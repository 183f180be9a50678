"""Small programs as users write them for OpenVINO; each gets the module, OpenVINO or irexec, and says what it found."""

from support.openvino_programs import graphs, information, operators, pictures, rewriting, running
from support.openvino_programs.registry import PROGRAMS

__all__ = ["PROGRAMS", "graphs", "information", "operators", "pictures", "rewriting", "running"]
