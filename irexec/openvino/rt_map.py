"""RTMap: what is said about a model, a layer or a port besides the graph. In irexec it is a dict."""

from __future__ import annotations

RTMap = dict
