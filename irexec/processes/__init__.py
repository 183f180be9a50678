"""Child processes: how they are started, what they can import, their time limits, and how they end.

`child` is a Python process that executes calls, `command` runs a program given by the user. `starting` starts both, and
no other module of irexec starts a process.
"""
