"""Execution: plans compiled from inferred types, requests that run them, variables, bodies."""

from irexec.runtime.engine.compiled import CompiledModel
from irexec.runtime.engine.request import InferRequest
from irexec.runtime.engine.results import Results
from irexec.runtime.engine.runner import Listener
from irexec.runtime.engine.state import VariableState

__all__ = ["CompiledModel", "InferRequest", "Listener", "Results", "VariableState"]
