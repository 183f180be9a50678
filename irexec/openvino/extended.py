"""All of irexec's classes with OpenVINO's words: importing this module extends them."""

from irexec.openvino import compiled, element_types, model, node, ports, shapes

__all__ = ["compiled", "element_types", "model", "node", "ports", "shapes"]
