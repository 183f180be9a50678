"""Random programs over OpenVINO's Python API, which run with OpenVINO and with irexec: each statement is compared."""

from support.api_programs.comparing import Difference, differences
from support.api_programs.known import reason
from support.api_programs.running import Outcome, execute
from support.api_programs.writing import program

__all__ = ["Difference", "Outcome", "differences", "execute", "program", "reason"]
