"""The patterns of graphs. Importing this package registers them."""

from irexec.conformance.graph_patterns import layers, memory, movements, norms, quantised

ALL = (layers, memory, movements, norms, quantised)
