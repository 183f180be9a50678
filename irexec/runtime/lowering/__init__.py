"""The compiled back end of the engine (the extra irexec[fast]): plans are lowered to tasks of compiled code.

The NumPy kernels in `ops` are the specification. A lowering computes the kernel's results, up to the operator's
tolerance, and tests compare the two. `backend.Backend` decides for one compiled model when its plans are lowered;
`table` contains the lowerings of the operators; a layer without a lowering keeps its kernel. Nothing here is imported
until a model is lowered, apart from `backend`.
"""
