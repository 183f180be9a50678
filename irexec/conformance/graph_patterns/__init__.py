"""The patterns of graphs. Importing this package registers them."""

from irexec.conformance.graph_patterns import layers, loops, memory, movements, norms, quantised

ALL = (layers, loops, memory, movements, norms, quantised)
