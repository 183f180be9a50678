"""Execution: a plan compiled once, requests that run it, variables, bodies."""

from irexec.engine.compiled import CompiledModel, InferRequest, Results
from irexec.engine.request import Listener
from irexec.engine.state import VariableState

__all__ = ["CompiledModel", "InferRequest", "Listener", "Results", "VariableState"]
