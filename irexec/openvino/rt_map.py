"""RTMap: what is said about a model, a layer or a port besides the graph. In irexec it is a dict."""

from __future__ import annotations

from typing import Any


class RTMap(dict[str, Any]):
    """Keys and values; `isinstance` is not asked of it: every dict will do."""
