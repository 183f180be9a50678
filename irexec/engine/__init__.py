"""Execution: plans compiled from inferred types, requests that run them, variables, bodies."""

from irexec.engine.compiled import CompiledModel
from irexec.engine.request import InferRequest
from irexec.engine.results import Results
from irexec.engine.runner import Listener
from irexec.engine.state import VariableState

__all__ = ["CompiledModel", "InferRequest", "Listener", "Results", "VariableState"]
