"""The patterns of graphs. Importing this package registers them."""

from irexec.tools.conformance.graph_patterns import (
    composed,
    fused,
    layers,
    loops,
    memory,
    merges,
    movements,
    norms,
    quantised,
    recurrent,
    selections,
    shared,
)

ALL = (composed, fused, layers, loops, memory, merges, movements, norms, quantised, recurrent, selections, shared)
