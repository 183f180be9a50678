"""Rewriting: passes that search a model for a pattern and call a function for each match."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from irexec.api.openvino.editing import changed, checked_model
from irexec.api.openvino.passes.base import ModelPass, PassBase
from irexec.api.openvino.passes.matcher import Matcher
from irexec.core.arguments import expected
from irexec.model.graph.model import Model, Node
from irexec.model.graph.order import ordered


class MatcherPass(PassBase):
    """A pattern and a callback for its matches: `MatcherPass(matcher, callback)`, or a subclass that registers both.

    The callback gets the matcher, and returns whether it changed the graph.
    """

    _matcher: Matcher | None = None
    _callback: Callable[[Matcher], Any] | None = None

    def __init__(self, matcher: Matcher | None = None, callback: Callable[[Matcher], Any] | None = None) -> None:
        self._new: list[Node] = []
        if matcher is not None and callback is not None:
            self.register_matcher(matcher, callback)

    def register_matcher(self, matcher: Matcher, callback: Callable[[Matcher], Any]) -> None:
        self._matcher, self._callback = matcher, callback
        self.set_name(expected(matcher, Matcher, "register_matcher()").get_name())

    def register_new_node(self, node: Node) -> Node:
        """Register a node that a callback created, so that the pass also examines this node."""
        self._new.append(node)
        return node

    def apply(self, node: Node) -> bool:
        """Call the callback if the pattern matches this node; return whether the graph was changed."""
        if self._matcher is None or self._callback is None:
            raise RuntimeError(f"{self.get_name()} has no matcher: call register_matcher")
        if not expected(node, Node, "apply()").outputs or not self._matcher.match(node):
            return False
        return bool(self._callback(self._matcher))

    def new_nodes(self) -> list[Node]:
        """Return the nodes that were registered since the last call."""
        new, self._new = self._new, []
        return new


class GraphRewrite(ModelPass):
    """Several MatcherPasses in one walk over the model, producers first: at each node they are tried until one changes
    the graph."""

    backward = False

    def __init__(self) -> None:
        self.passes_list: list[MatcherPass] = []

    def add_matcher(self, transformation: MatcherPass) -> MatcherPass:
        self.passes_list.append(transformation)
        return transformation

    def run_on_model(self, model: Any) -> bool:
        return self._walk(checked_model(model))

    def _walk(self, model: Model) -> bool:
        rewritten = False
        waiting = deque(_nodes(model))
        living = set(waiting)
        if self.backward:
            waiting.reverse()
        while waiting:
            node = waiting.popleft()
            if node not in living:
                continue
            for body in node.bodies:
                rewritten |= self._walk(body.model)
            for transformation in self.passes_list:
                if transformation.apply(node):
                    rewritten = True
                    changed(model)
                    waiting.extendleft(reversed(transformation.new_nodes()))
                    living = set(_nodes(model))
                    break
        return rewritten


class BackwardGraphRewrite(GraphRewrite):
    """The same as GraphRewrite, consumers first."""

    backward = True


def _nodes(model: Model) -> list[Node]:
    return ordered([*model.parameters, *model.sinks, *model.results])
