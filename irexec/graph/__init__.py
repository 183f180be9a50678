"""The model: bound operators, connected values, ordered nodes; and its construction from a document."""

from irexec.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.graph.model import Body, Model, Node, Value

__all__ = ["Body", "BodyInput", "BodyOutput", "Model", "Node", "Slicing", "Value"]
