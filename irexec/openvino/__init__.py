"""OpenVINO's own Python API on irexec's classes: `import irexec as ov` gives these names.

There is one Model, one Node, one CompiledModel: the modules here teach irexec's classes OpenVINO's vocabulary (see
`extend`), and add what irexec has no other use for. Nothing below imports this room.
"""
