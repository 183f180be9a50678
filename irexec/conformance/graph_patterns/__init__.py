"""The patterns of graphs. Importing this package registers them."""

from irexec.conformance.graph_patterns import composed, layers, loops, memory, movements, norms, quantised

ALL = (composed, layers, loops, memory, movements, norms, quantised)
