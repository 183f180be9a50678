"""OpenVINO's own Python API on irexec's graph: `import irexec as ov` provides these names.

Model, Node, Output and Input here are subclasses of the graph's classes, with the remaining methods of OpenVINO. A
model creates nodes and values of its own classes (see model/graph/model.py), so a reader needs only the class of the
model. Importing this package changes no class of another package.
"""
