"""Small programs as users write them for OpenVINO; each is given the module, OpenVINO or irexec, and returns its
results.
"""

from support.openvino_programs import graphs, information, operators, pictures, rewriting, running
from support.openvino_programs.registry import PROGRAMS

__all__ = ["PROGRAMS", "graphs", "information", "operators", "pictures", "rewriting", "running"]
