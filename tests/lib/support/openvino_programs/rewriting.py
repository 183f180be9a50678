"""Programs that search for patterns and rewrite graphs with passes."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, X, perceptron, program


def passes_of(ov: ModuleType) -> Any:
    return importlib.import_module(f"{ov.__name__}.passes")


def types(model: Any) -> list[str]:
    return [op.get_type_name() for op in model.get_ordered_ops()]


def picture_nodes(ov: ModuleType) -> Any:
    ops = ov.opset13
    x = ops.parameter([1, -1, 22, 22], np.float32, name="x")
    exp = ops.exp(x)
    return x, exp, ops.relu(exp)


def replacing(ov: ModuleType, wanted: str, make: Any) -> Any:
    """Return a pass that replaces a node by the result of `make` for its input."""
    passes = passes_of(ov)
    replace_node = importlib.import_module(f"{ov.__name__}.utils").replace_node

    class Replacing(passes.MatcherPass):  # type: ignore[misc]
        def __init__(self) -> None:
            passes.MatcherPass.__init__(self)
            self.roots: list[str] = []
            self.register_matcher(passes.Matcher(passes.WrapType(wanted), "Replacing"), self.callback)

        def callback(self, matcher: Any) -> bool:
            root = matcher.get_match_root()
            self.roots.append(root.get_type_name())
            made = make(root.input(0).get_source_output())
            self.register_new_node(made)
            replace_node(root, made)
            return True

    return Replacing()


@program
def replace_a_layer_with_a_matcher_pass(ov: ModuleType) -> Any:
    passes, model = passes_of(ov), perceptron(ov, 3)
    transformation = replacing(ov, "opset13.Relu", ov.opset13.sigmoid)
    manager = passes.Manager()
    registered = manager.register_pass(transformation)
    manager.run_passes(model)
    found = ov.compile_model(model, "CPU", F32)([X])[0]
    return [types(model), transformation.roots, registered.get_name(), repr(registered), found]


@program
def new_nodes_are_looked_at_too(ov: ModuleType) -> Any:
    passes, model = passes_of(ov), perceptron(ov, 3)
    manager = passes.Manager()
    rewrite = manager.register_pass(passes.GraphRewrite())
    first = rewrite.add_matcher(replacing(ov, "opset13.Relu", ov.opset13.tanh))
    second = rewrite.add_matcher(replacing(ov, "opset13.Tanh", ov.opset13.sigmoid))
    rewrite.set_name("both")
    manager.run_passes(model)
    return [rewrite.get_name(), first.roots, second.roots, types(model)]


@program
def walk_backward(ov: ModuleType) -> Any:
    passes = passes_of(ov)
    seen: list[str] = []

    def look(matcher: Any) -> bool:
        seen.append(matcher.get_match_root().get_type_name())
        return False

    for rewrite in (passes.GraphRewrite(), passes.BackwardGraphRewrite()):
        rewrite.add_matcher(passes.MatcherPass(passes.Matcher(passes.AnyInput(), "any"), look))
        rewrite.run_on_model(perceptron(ov, 3))
    return seen


@program
def apply_a_matcher_pass_to_one_node(ov: ModuleType) -> Any:
    model = perceptron(ov, 3)
    transformation = replacing(ov, "opset13.Relu", ov.opset13.sigmoid)
    return [[transformation.apply(op) for op in model.get_ordered_ops()], types(model)]


@program
def match_by_type_and_inputs(ov: ModuleType) -> Any:
    passes, ops = passes_of(ov), ov.opset13
    x, exp, relu = picture_nodes(ov)
    total = ops.add(relu, ops.constant(np.float32([1])))
    wrap, anything = passes.WrapType, passes.AnyInput
    constant = wrap("opset13.Constant")
    patterns = [
        (wrap("opset1.Relu"), relu),
        (wrap("opset13.Sigmoid"), relu),
        (wrap(["opset13.Sigmoid", "opset13.Relu"]), relu),
        (wrap("opset13.Relu", wrap("opset13.Exp")), relu),
        (wrap("opset13.Relu", wrap("opset13.Abs").output(0)), relu),
        (wrap("opset13.Relu", [anything()], lambda output: False), relu),
        (wrap("opset13.Add", [constant, anything()]), total),
        (wrap("opset13.Subtract", [constant, anything()]), ops.subtract(relu, np.float32(1))),
        (wrap("opset13.Add", [anything()]), total),
        (wrap("opset1.Softmax"), ops.softmax(x, 1)),
        (passes.Or([wrap("opset13.Abs"), wrap("opset13.Add")]), total),
        (ops.add(anything(), anything()), total),
        (ops.relu(ops.exp(anything())), relu),
    ]
    shared = anything()
    patterns += [(wrap("opset13.Add", [shared, shared]), ops.add(x, y)) for y in (x, exp)]
    return [passes.Matcher(pattern, "m").match(node) for pattern, node in patterns]


@program
def match_what_may_be_missing(ov: ModuleType) -> Any:
    passes, (_, exp, relu) = passes_of(ov), picture_nodes(ov)
    maybe = passes.Optional(["opset13.Relu"], passes.WrapType("opset13.Exp"))
    matcher = passes.Matcher(maybe, "maybe")
    found = [
        (matcher.match(node), maybe in matcher.get_pattern_value_map()) for node in (relu, exp, exp.input_value(0))
    ]
    return [*found, passes.Matcher(passes.Optional(["opset13.Relu"]), "alone").match(exp)]


@program
def ask_a_matcher_what_it_found(ov: ModuleType) -> Any:
    passes, ops = passes_of(ov), ov.opset13
    _, _, relu = picture_nodes(ov)
    total = ops.add(relu, ops.constant(np.float32([1])))
    wrapped, constant = passes.WrapType("opset13.Relu"), passes.WrapType("opset13.Constant")
    matcher = passes.Matcher(passes.WrapType("opset13.Add", [constant, wrapped]), "sum")
    said = [matcher.get_name(), matcher.match(total), matcher.match(total.output(0)), repr(wrapped)]
    said += [matcher.get_match_root().get_type_name(), matcher.get_match_value() == total.output(0)]
    said += [node.get_type_name() for node in matcher.get_match_nodes()]
    said += [str(value.get_partial_shape()) for value in matcher.get_match_values()]
    return [*said, matcher.get_pattern_value_map()[wrapped] == relu.output(0), len(matcher.get_pattern_value_map())]


@program
def match_by_predicates(ov: ModuleType) -> Any:
    passes, (x, exp, _) = passes_of(ov), picture_nodes(ov)
    predicates = [
        passes.consumers_count(1), passes.consumers_count(2), passes.has_static_dim(0), passes.has_static_dim(1),
        passes.has_static_dims([0, 2]), passes.has_static_dims([0, 9]), passes.has_static_rank(),
        passes.has_static_shape(), passes.rank_equals(ov.Dimension(4)), passes.rank_equals(ov.Dimension(3)),
        passes.type_matches(ov.Type.f32), passes.type_matches_any([ov.Type.i8, ov.Type.i4]), passes.Predicate(),
        passes.Predicate(lambda output: output.get_node().get_type_name() == "Exp"),
    ]  # fmt: skip
    found = [passes.Matcher(passes.AnyInput(predicate), "p").match(exp) for predicate in predicates]
    concat = ov.opset13.concat([x, x], 1)
    for attributes in ({"axis": 1}, {"axis": 2}, {"no": 1}):
        found.append(passes.Matcher(passes.AnyInput(passes.attrs_match(attributes)), "p").match(concat))
    return found


@program
def match_by_the_notation_of_a_shape(ov: ModuleType) -> Any:
    passes, (_, exp, _) = passes_of(ov), picture_nodes(ov)
    notations = ["[1,?,22,22]", "1,?,?,?", "[?,3,?,?]", "[1,...]", "[...,22]", "[?,?,H,W]", "[?,?,H,H]", "[A,?,A,?]"]
    notations += ["[?,C,?,?]", "[1,?,S...]", "[?,?,?]", "[]", "[?,?,?,?,...]"]
    found = []
    for notation in notations:
        matcher = passes.Matcher(passes.WrapType("opset13.Exp", passes.shape_matches(notation)), "shape")
        found.append([matcher.match(exp), matcher.get_symbols()])
    return found


@program
def fold_constants(ov: ModuleType) -> Any:
    passes, ops = passes_of(ov), ov.opset13
    x = ops.parameter([2, 3], np.float32, name="x")
    total = ops.add(ops.constant(np.float32([1, 2, 3])), ops.constant(np.float32([4])), name="total")
    shape = ops.concat([ops.shape_of(x), ops.constant(np.int64([1]))], 0, name="shape")
    model = ov.Model([ops.reshape(ops.multiply(x, ops.sqrt(total)), shape, False)], [x], "folded")
    passes.ConstantFolding().run_on_model(model)
    names = sorted(op.friendly_name for op in model.get_ops() if op.get_type_name() == "Constant")
    return [types(model), len(names), "shape" in names, ov.compile_model(model, "CPU", F32)([X[:2, :3].copy()])[0]]


@program
def convert_to_half(ov: ModuleType) -> Any:
    passes, model = passes_of(ov), perceptron(ov, 3)
    manager = passes.Manager()
    manager.register_pass(passes.ConvertFP32ToFP16())
    manager.run_passes(model)
    kinds = {op.get_output_element_type(0).get_type_name() for op in model.get_ordered_ops()}
    return [types(model), sorted(kinds)]


@program
def make_a_model_stateful(ov: ModuleType) -> Any:
    passes, ops = passes_of(ov), ov.opset13
    found: list[Any] = []
    for by_name in (False, True):
        x, kept = ops.parameter([1, 2], np.float32, name="x"), ops.parameter([1, 2], np.float32, name="kept")
        kept.output(0).set_names({"before"})
        total = ops.add(x, kept)
        total.output(0).set_names({"after"})
        model = ov.Model([ops.result(total, name="total"), ops.result(ops.relu(total))], [x, kept], "sum")
        pairs: Any = {"before": "after"} if by_name else [(model.parameters[1], model.results[0])]
        passes.MakeStateful(pairs).run_on_model(model)
        request = ov.compile_model(model, "CPU", F32).create_infer_request()
        found += [request.infer([np.ones((1, 2), np.float32)])[0] for _ in range(3)]
        found += [len(model.inputs), len(model.outputs), sorted(types(model))]
        found += [state.name for state in request.query_state()]
    return found
