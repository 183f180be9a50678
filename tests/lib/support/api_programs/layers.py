"""Statements that create layers: each function writes one call of an opset, with arguments of its kind."""

from __future__ import annotations

from collections.abc import Callable

from support.api_programs.writer import NUMPY, Variable, Writer

KEEPING = ("relu", "sigmoid", "tanh", "exp", "abs", "negative", "floor", "ceiling", "sign", "erf", "softplus", "hswish")
KEEPING_MORE = (
    "gelu({}, 'tanh')",
    "elu({}, 1.0)",
    "elu({}, alpha=0.5)",
    "clamp({}, -1.0, 1.0)",
    "clamp({}, min_value=0.0, max_value=2.0)",
    "softmax({}, {axis})",
    "softmax({}, axis={axis})",
    "log_softmax({}, {axis})",
    "round({}, 'half_to_even')",
    "round({}, mode='half_away_from_zero')",
    "swish({})",
    "mish({})",
    "hsigmoid({})",
    "sqrt(ops.abs({}))",
    "cum_sum({}, {axis})",
    "normalize_l2({}, [{axis}], 1e-6, 'add')",
    "mvn({}, [{axis}], True, 1e-6, 'INSIDE_SQRT')",
    "selu({}, np.float32(1.6), np.float32(1.05))",
    "prelu({}, np.float32([0.1]))",
    "fake_quantize({}, np.float32(-1), np.float32(1), np.float32(-1), np.float32(1), 256)",
    "hard_sigmoid({}, np.float32(0.2), np.float32(0.5))",
    "reverse({}, [{axis}], 'index')",
    "is_nan({})",
    "is_finite({})",
)
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "squared_difference")
RELATIONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_l1", "reduce_l2", "reduce_prod")


def parameter(w: Writer) -> None:
    """Define a Parameter, by one of the forms that OpenVINO accepts."""
    kind = w.choose(("f32",) * 6 + ("f16", "i32", "i64", "u8", "boolean"))
    sizes: list[int | None] = list(w.sizes(w.choose((1, 2, 2, 3, 4))))
    if w.chance(0.25):
        sizes[w.rng.randrange(len(sizes))] = None
    plain = [-1 if n is None else n for n in sizes]
    text = ",".join("?" if n is None else str(n) for n in sizes)
    bounded = ",".join("1..6" if n is None else str(n) for n in sizes)
    forms = (str(plain), f'ov.PartialShape("{text}")', f"ov.PartialShape({plain})", f'ov.PartialShape("{bounded}")')
    shape = w.choose(forms)
    type = w.choose((f"np.{NUMPY[kind]}", f"ov.Type.{kind}"))
    name = w.fresh("p")
    more = w.choose(("", *[f', name="{name}"'] * 4, f', "{name}"'))
    w.say(f"{name} = ops.parameter({shape}, {type}{more})")
    made = Variable(name, kind, tuple(sizes))
    w.parameters.append(made)
    w.nodes.append(made)
    if w.chance(0.5):
        w.say(f'{name}.output(0).set_names({{"{name}"}})')


def constant(w: Writer) -> None:
    shape = w.sizes(w.choose((0, 1, 1, 2)))
    kind = w.choose(("f32", "f32", "i64", "i32", "f16", "u8"))
    array = w.array(kind, shape)
    listed = [w.choose((1, 2, 3, -1)) for _ in range(3)]
    forms = (
        (f"ops.constant({array})", kind, shape),
        (f"ops.constant({array}, ov.Type.{kind})", kind, shape),
        (f"ops.constant({listed}, ov.Type.f32)", "f32", [3]),
        (f"ops.constant({listed}, dtype=np.int32)", "i32", [3]),
        ("ops.constant(2.5)", "f32", []),
        ("ops.constant(3)", "i64", []),
        (f"ops.constant({array}, shared_memory=True)", kind, shape),
    )
    expression, type, size = w.choose(forms)
    w.node(type, size, expression)


def elementwise(w: Writer) -> None:
    node = w.node_where("float")
    if w.chance(0.5):
        w.node(node.type, node.shape, f"ops.{w.choose(KEEPING)}({node.name})")
        return
    form = w.choose(KEEPING_MORE)
    kind = "boolean" if form.startswith("is_") else node.type
    w.node(kind, node.shape, "ops." + form.format(node.name, axis=w.axis(node.rank)))


def _second(w: Writer, node: Variable) -> str:
    """Return an operand for a node: another node, an array or a number."""
    alike = [n for n in w.nodes if n.type == node.type and n.shape == node.shape]
    way = w.rng.randrange(5)
    if way == 0 or (way == 1 and not alike) or w.errs():
        if w.errs():
            return w.any_node().name
        return str(w.choose((1, 2, 3))) if node.type == "i64" or w.errs() else f"np.{NUMPY[node.type]}([2])"
    if way == 1:
        return w.choose(alike).name
    last = node.shape[-1] if node.shape else None
    sizes = [] if last is None else [last]
    if way == 2 and node.is_static:
        sizes = [1 if w.chance(0.3) else n for n in node.shape if n is not None]
    return w.array(node.type, sizes)


def binary(w: Writer) -> None:
    node = w.node_where("number")
    other = _second(w, node)
    if w.chance(0.25):
        sign = w.choose(("+", "-", "*"))
        text = (
            f"{node.name} {sign} {other}"
            if w.chance(0.7)
            else f"np.{NUMPY[node.type]}([{w.choose((1, 2))}]) {sign} {node.name}"
        )
        w.node(node.type, node.shape, text)
        return
    name = w.choose(ARITHMETIC + RELATIONS)
    more = w.choose(("", "", "", ", 'numpy'", ", auto_broadcast='numpy'", ", name='sum'"))
    w.node("boolean" if name in RELATIONS else node.type, node.shape, f"ops.{name}({node.name}, {other}{more})")


def logic(w: Writer) -> None:
    node = w.node_where("boolean")
    name = w.choose(("logical_and", "logical_or", "logical_xor"))
    w.node("boolean", node.shape, w.choose((f"ops.logical_not({node.name})", f"ops.{name}({node.name}, {node.name})")))


def reduction(w: Writer) -> None:
    node = w.node_where("float", rank=1)
    axis, keep = w.axis(node.rank), w.chance(0.5)
    real = axis % node.rank if node.rank else 0
    shape = [1 if i == real else n for i, n in enumerate(node.shape) if keep or i != real]
    axes = w.choose((f"[{axis}]", f"np.int64([{axis}])", f"ops.constant([{axis}])", str(axis)))
    w.node(node.type, shape, f"ops.{w.choose(REDUCTIONS)}({node.name}, {axes}, {keep})")


def moving(w: Writer) -> None:
    """Write layers that move elements: reshape, transpose, squeeze and the like."""
    node = w.any_node()
    axis, rank = w.axis(node.rank), node.rank
    real = axis % rank if rank else 0
    order = list(range(rank))
    w.rng.shuffle(order)
    grown = [*node.shape[:real], 1, *node.shape[real:]]
    without = [n for i, n in enumerate(node.shape) if i != real]
    name = node.name
    forms: list[tuple[str, list[int | None]]] = [
        (f"ops.reshape({name}, [-1], False)", [None if not node.is_static else _product(node)]),
        (f"ops.reshape({name}, [0, -1], True)", [*node.shape[:1], None] if rank != 2 else list(node.shape)),
        (f"ops.transpose({name}, {order})", [node.shape[i] for i in order]),
        (f"ops.unsqueeze({name}, {real})", grown),
        (f"ops.unsqueeze({name}, [{real}])", grown),
        (f"ops.squeeze({name}, [{axis}])", without),
        (f"ops.concat([{name}, {name}], {axis})", [_twice(n) if i == real else n for i, n in enumerate(node.shape)]),
        (f"ops.tile({name}, {[2] + [1] * (rank - 1) if rank else [2]})", [None] * max(rank, 1)),
        (f"ops.gather({name}, [0], {axis})", [1 if i == real else n for i, n in enumerate(node.shape)]),
        (f"ops.gather({name}, np.int32(0), np.int32({axis}))", without),
        (f"ops.slice({name}, [0], [1], [1], [{axis}])", [1 if i == real else n for i, n in enumerate(node.shape)]),
        (f"ops.pad({name}, {[0] * rank}, {[1] * rank}, 'constant')", [_more(n) for n in node.shape]),
        (f"ops.broadcast({name}, {[2, *[-1 if n is None else n for n in node.shape]]})", [2, *node.shape]),
        (f"ops.strided_slice({name}, [0], [1], [1], [0], [0])", [1, *node.shape[1:]]),
        (f"ops.select(ops.constant(True), {name}, {name})", list(node.shape)),
        (f"ops.convert_like({name}, {name})", list(node.shape)),
    ]
    expression, shape = w.choose(forms)
    w.node(node.type, shape, expression)


def several(w: Writer) -> None:
    """Write layers with two outputs, and select one of these outputs."""
    node = w.node_where("float", rank=1)
    axis = w.axis(node.rank)
    real = axis % node.rank if node.rank else 0
    size = node.shape[real] if node.shape else 1
    name = w.fresh("s")
    parts = size if size in (1, 2, 3, 4) and not w.errs() else 3
    k = 1 if not w.errs() else 9
    forms = (
        f"ops.split({node.name}, {axis}, {parts})",
        f"ops.variadic_split({node.name}, {axis}, [1, -1])",
        f"ops.topk({node.name}, {k}, {axis}, 'max', 'value')",
    )
    w.say(f"{name} = {w.choose(forms)}")
    w.say(f"{name}.get_output_size()")
    shape = [1 if i == real else n for i, n in enumerate(node.shape)]
    w.node(node.type, shape, f"{name}.output({0 if not w.errs() else 5})")
    if w.chance(0.3):
        asked = ("get_element_type()", "shape", "get_shape()", "partial_shape", "get_output_shape(1)", "outputs()")
        w.say(f"{name}.{w.choose(asked)}")


def products(w: Writer) -> None:
    node = w.node_where("f32", rank=2)
    last = (node.shape or [3])[-1] or 3
    if node.rank == 4 and w.chance(0.7):
        channels = node.shape[1] or 3
        pads = f"[{w.choose((0, 1))}] * 2, [1, 1]"
        kernel = w.array("f32", [2, channels, 1, 1])
        forms: tuple[tuple[str, list[int | None]], ...] = (
            (f"ops.convolution({node.name}, {kernel}, [1, 1], {pads}, [1, 1])", [node.shape[0], 2, None, None]),
            (
                f"ops.max_pool({node.name}, [1, 1], [1, 1], [0, 0], [1, 1], [1, 1]).output(0)",
                [*node.shape[:2], None, None],
            ),
            (f"ops.avg_pool({node.name}, [1, 1], [0, 0], [0, 0], [1, 1], True)", list(node.shape)),
        )
        expression, shape = w.choose(forms)
        w.node("f32", shape, expression)
        return
    weights = w.array("f32", [last, 2] if not w.errs() else [last + 1, 2])
    transposed = w.chance(0.1)
    w.node("f32", [*node.shape[:-1], 2], f"ops.matmul({node.name}, {weights}, False, {transposed})")


def conversion(w: Writer) -> None:
    node = w.node_where("number")
    kind = w.choose(("f32", "f32", "i32", "i64", "f16"))
    form = w.choose((f'"{kind}"', f"ov.Type.{kind}", f"np.{NUMPY[kind]}"))
    w.node(kind, node.shape, f"ops.convert({node.name}, {form})")


def shapes(w: Writer) -> None:
    node = w.any_node()
    form = w.choose(("", ', "i32"', ', output_type="i64"', ", ov.Type.i32"))
    w.node("i32" if "i32" in form else "i64", [node.rank], f"ops.shape_of({node.name}{form})")


def selection(w: Writer) -> None:
    """Write layers that select elements by indices."""
    node = w.node_where("float", rank=1)
    axis = w.axis(node.rank)
    forms: tuple[tuple[str, list[int | None]], ...] = (
        (f"ops.gather_elements({node.name}, ops.convert(ops.multiply({node.name}, 0), 'i32'), {axis})", [*node.shape]),
        (f"ops.gather_nd({node.name}, np.int32([[0]]))", [1, *node.shape[1:]]),
        (f"ops.scatter_update({node.name}, [0], ops.gather({node.name}, [0], 0), np.int64(0))", [*node.shape]),
        (f"ops.one_hot(ops.constant([0, 1]), 3, 1.0, 0.0, {w.choose((0, 1, -1))})", [None, None]),
        (f"ops.range(0, {w.choose((3, 5))}, 1, 'f32')", [None]),
    )
    expression, shape = w.choose(forms)
    w.node("f32" if "range" in expression or "one_hot" in expression else node.type, shape, expression)


def _product(node: Variable) -> int:
    total = 1
    for size in node.shape:
        total *= size or 1
    return total


def _twice(size: int | None) -> int | None:
    return None if size is None else 2 * size


def _more(size: int | None) -> int | None:
    return None if size is None else size + 1


LAYERS: list[Callable[[Writer], None]] = [
    constant,
    *[elementwise] * 4,
    *[binary] * 5,
    logic,
    *[reduction] * 2,
    *[moving] * 5,
    *[several] * 2,
    *[products] * 2,
    conversion,
    shapes,
    selection,
]
