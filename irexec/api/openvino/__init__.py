"""OpenVINO's own Python API on irexec's graph: `import irexec as ov` provides these names.

Model, Node, Output and Input here are subclasses of the graph's classes, with the remaining methods of OpenVINO. A
model creates nodes and values of its own classes (see model/graph/model.py), so a reader needs only the class of the
model. Importing this package changes no class of another package.

As `irexec.openvino`, or in the place of the module `openvino`, it has all names of `irexec`, and OpenVINO's version.
"""

from __future__ import annotations

import sys

from irexec.version import get_version as get_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = get_version()


def __getattr__(name: str) -> Any:
    return getattr(sys.modules["irexec"], name)
