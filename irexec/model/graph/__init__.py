"""The model: bound operators, connected values, ordered nodes; and its construction from a document."""

from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Model, Node, Value

__all__ = ["Body", "BodyInput", "BodyOutput", "Model", "Node", "Slicing", "Value"]
