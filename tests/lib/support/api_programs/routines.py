"""Complete programs as users often write them: images that are prepared, graphs that are edited, models with state."""

from __future__ import annotations

from support.api_programs.writer import Writer

NODES = "node = {op.get_friendly_name(): op for op in m.get_ops()}"
RUN = "list(ov.Core().compile_model({m}, 'CPU', F32)({given}).values())"
TYPES = "sorted(op.get_type_name() for op in {m}.get_ops())"
OUTPUTS = "[(port.get_partial_shape(), port.get_element_type()) for port in {m}.outputs]"
INPUTS = "[(port.get_partial_shape(), port.get_element_type()) for port in {m}.inputs]"


def pictures(w: Writer) -> None:
    """Write a network for images, and steps before and after it."""
    channels, size = w.choose((1, 3, 3)), w.choose((4, 6))
    shape = w.choose(([1, channels, size, size], [-1, channels, size, size], [1, channels, -1, -1]))
    w.say(f"x = ops.parameter({shape}, np.float32, name='x')")
    w.say(f"w = ops.constant(data([2, {channels}, 3, 3], 'float32', {w.rng.randrange(99)}))")
    w.say("y = ops.relu(ops.convolution(x, w, [1, 1], [1, 1], [1, 1], [1, 1]), name='y')")
    w.say("m = ov.Model([ops.result(y, name='out')], [x], 'net')")
    w.say("steps = ov.preprocess.PrePostProcessor(m)")
    first = w.choose(("steps.input()", "steps.input(0)", "steps.input('x')"))
    w.say(f"i = {first}")
    last_channels = w.chance(0.6)
    layout = "NHWC" if last_channels else "NCHW"
    sizes = [1, size + 2, size + 2, channels] if last_channels else [1, channels, size + 2, size + 2]
    kind = w.choose(("u8", "u8", "f32", "f16", "i32"))
    tensor = [
        f"i.tensor().set_element_type(ov.Type.{kind})",
        f"i.tensor().set_layout(ov.Layout('{layout if not w.errs() else 'NC'}'))",
        f"i.tensor().set_shape({sizes})",
        f"i.tensor().set_spatial_static_shape({size + 2}, {size + 2})",
        "i.tensor().set_spatial_dynamic_shape()",
        "i.tensor().set_memory_type('x')" if w.errs() else "i.tensor().set_from(ov.Tensor(np.zeros((1, 2), np.uint8)))",
        "i.tensor().set_color_format(ov.preprocess.ColorFormat.BGR)",
    ]
    steps = [
        "i.preprocess().convert_element_type(ov.Type.f32)",
        "i.preprocess().convert_element_type()",
        "i.preprocess().convert_layout()",
        "i.preprocess().convert_layout(ov.Layout('NCHW'))",
        "i.preprocess().convert_layout([0, 3, 1, 2])",
        f"i.preprocess().resize(ov.preprocess.ResizeAlgorithm.RESIZE_{w.choose(('LINEAR', 'NEAREST', 'CUBIC'))})",
        f"i.preprocess().resize(ov.preprocess.ResizeAlgorithm.RESIZE_NEAREST, {size}, {size})",
        f"i.preprocess().mean({w.choose((1.0, [1.0] * channels, [1.0] * (channels + 1)))})",
        f"i.preprocess().scale({w.choose((2.0, [2.0] * channels))})",
        "i.preprocess().reverse_channels()",
        "i.preprocess().crop([0, 0, 0, 0], [1, -1, -1, -1])",
        f"i.preprocess().pad([0, 0, 1, 1], [0, 0, 0, 0], {w.choose((0.0, [1.0]))}, ov.preprocess.PaddingMode.CONSTANT)",
        "i.preprocess().custom(lambda port: ops.abs(port).output(0))",
        "i.preprocess().convert_color(ov.preprocess.ColorFormat.RGB)",
    ]
    behind = [
        "steps.output().tensor().set_element_type(ov.Type.f16)",
        "steps.output(0).tensor().set_layout(ov.Layout('NHWC'))",
        "steps.output('out').tensor().set_element_type(ov.Type.i32)",
        "steps.output().model().set_layout(ov.Layout('NCHW'))",
        "steps.output().postprocess().convert_layout([0, 2, 3, 1])",
        "steps.output().postprocess().convert_element_type(ov.Type.f64)",
        "steps.output().postprocess().custom(lambda port: ops.negative(port).output(0))",
    ]
    for options, count in ((tensor, 3), (["i.model().set_layout(ov.Layout('NCHW'))"], 1), (steps, 3), (behind, 2)):
        for line in w.rng.sample(options, min(len(options), w.rng.randrange(count + 1))):
            w.say(line)
    w.say("n = steps.build()")
    for question in (INPUTS, OUTPUTS, TYPES):
        w.say(question.format(m="n"))
    w.say("[port.get_any_name() for port in n.inputs]")
    dtype = {"u8": "uint8", "f32": "float32", "f16": "float16", "i32": "int32"}[kind]
    w.say(
        "given = [np.abs(data(port.get_partial_shape().get_max_shape() if port.get_partial_shape().is_static else "
        f"{sizes}, '{dtype}', {w.rng.randrange(99)})).astype(port.get_element_type().to_dtype()) for port in n.inputs]"
    )
    w.say(RUN.format(m="n", given="given"))


def surgery(w: Writer) -> None:
    """Write a small graph, whose layers are added, exchanged and removed."""
    w.say("x = ops.parameter([2, 3], np.float32, name='x')")
    w.say(f"c = ops.constant(data([3], 'float32', {w.rng.randrange(99)}), name='c')")
    w.say("a = ops.add(x, c, name='a')")
    w.say("r = ops.relu(a, name='r')")
    w.say("t = ops.tanh(r, name='t')")
    w.say("s = ops.split(t, 1, 3, name='s')")
    w.say("k = ops.concat([s.output(2), s.output(0)], 1, name='k')")
    w.say("m = ov.Model([ops.result(k, name='k_out'), ops.result(r, name='r_out')], [x], 'net')")
    if w.chance(0.3):
        w.say("m = m.clone()")
    w.say(NODES)
    w.say(
        "taken = lambda name: sorted(node[name].output(0).get_target_inputs(), "
        "key=lambda i: i.get_node().get_friendly_name())"
    )
    w.say("swap = lambda root: ov.utils.replace_node(root, ops.sigmoid(root.input_value(0))) or True")
    names = ("x", "a", "r", "t")
    edits = (
        "made = ops.abs(node['{n}'], name='abs'); "
        "[i.replace_source_output(made.output(0)) for i in taken('{n}') if i.get_node() != made]",
        "[i.replace_source_output(node['{n}'].input_value(0)) for i in taken('{n}')]",
        "ov.utils.replace_node(node['{y}'], ops.sigmoid(node['{y}'].input_value(0)))",
        "ov.utils.replace_node(node['{y}'], ops.sigmoid(node['x']))",
        "ov.utils.replace_output_update_name(node['{n}'].output(0), node['{n}'].input_value(0))",
        "node['{n}'].output(0).replace(node['x'].output(0))",
        "node['{y}'].input(0).replace_source_output(node['c'].output(0))",
        "node['{y}'].set_argument(0, node['x'].output(0))",
        "node['c'].output(0).replace(ops.constant(np.float32([1, 2, 3]), name='c2').output(0))",
        "m.add_outputs('{n}')",
        "m.add_outputs(node['{n}'].output(0))",
        "m.add_outputs([('{n}', 0)])",
        "m.add_results([ops.result(node['{n}'], name='more')])",
        "m.remove_result(m.get_results()[{i}])",
        "m.reshape([{i}, 3])",
        "m.replace_parameter(0, ops.parameter([4, 3], np.float32, name='new'))",
        "m.validate_nodes_and_infer_types()",
        "node['{n}'].output(0).set_names({{'one', 'two'}})",
        "node['{n}'].set_friendly_name('other')",
        "node['{n}'].get_rt_info()['key'] = 'value'",
        "{nodes}",
        "m = m.clone(); {nodes}",
        "class Swap(ov.passes.MatcherPass): __init__ = lambda self: (ov.passes.MatcherPass.__init__(self), "
        "self.register_matcher(ov.passes.Matcher(ov.passes.WrapType('opset13.{T}'), 'swap'), "
        "lambda found: swap(found.get_match_root())))[0]",
        "manager = ov.passes.Manager(); p = manager.register_pass(Swap()); manager.run_passes(m)",
        "manager = ov.passes.Manager(); p = manager.register_pass(ov.passes.ConstantFolding()); manager.run_passes(m)",
        "ov.serialize(m, '{file}.xml'); m = ov.Core().read_model('{file}.xml'); {nodes}",
    )
    questions = (
        TYPES,
        OUTPUTS,
        "[op.get_type_name() for op in {m}.get_ordered_ops()]",
        "[sorted(port.get_names()) for port in {m}.outputs]",
        "sorted(i.get_node().get_type_name() for i in node['{n}'].output(0).get_target_inputs())",
        "node['{n}'].get_output_partial_shape(0)",
        "node['{n}'].input_value(0).get_node().get_type_name()",
        "[op.get_friendly_name() for op in {m}.get_results()]",
        "node['{n}'].output(0).get_names()",
        "node['{n}'].get_rt_info()",
    )
    for _ in range(w.rng.randrange(2, 7)):
        values = {
            "nodes": NODES,
            "file": w.fresh("file"),
            "n": w.choose(names) if not w.errs() else "none",
            "y": w.choose(names[1:]),
            "i": w.choose((0, 1, 2)),
            "T": w.choose(("Relu", "Tanh", "Add")),
        }
        w.say(w.choose(edits).format(**values))
        if w.chance(0.6):
            w.say(w.choose(questions).format(m="m", n=w.choose(names)))
    w.say(TYPES.format(m="m"))
    w.say(OUTPUTS.format(m="m"))
    w.say(RUN.format(m="m", given="[data(m.inputs[0].get_partial_shape().get_max_shape(), 'float32', 5)]"))


def state(w: Writer) -> None:
    """Write a model with a variable, and requests that keep it."""
    shape = w.choose(([1, 2], [3], [2, 2]))
    w.say(f"x = ops.parameter({shape}, np.float32, name='x')")
    w.say(f"first = ops.constant(data({shape}, 'float32', {w.rng.randrange(99)}))")
    w.say(f"info = ov.op.util.VariableInfo(); info.data_shape = ov.PartialShape({shape})")
    w.say("info.data_type = ov.Type.f32; info.variable_id = 'v'")
    w.say("v = ov.op.util.Variable(info)")
    reads = (
        "ops.read_value(first, v)",
        "ops.read_value(first, 'v', ov.Type.f32, ov.PartialShape({shape}))",
        "ops.read_value(v)",
    )
    w.say("r = " + w.choose(reads).format(shape=shape))
    w.say(f"y = ops.{w.choose(('add', 'multiply', 'maximum'))}(r, x)")
    w.say("a = " + w.choose(("ops.assign(y, v)", "ops.assign(y, 'v')")))
    results = w.choose(("ops.result(y, name='out')", "y.output(0)"))
    forms = ("ov.Model([{r}], [a], [x], 'net')", "ov.Model(results=[{r}], sinks=[a], parameters=[x], name='net')")
    w.say("m = " + w.choose(forms).format(r=results))
    questions = (
        "[each.info.variable_id for each in m.get_variables()]",
        "len(m.get_sinks())",
        "m.get_variable_by_id('v').info.data_shape",
        "m.get_variable_by_id('w')",
        "[op.get_type_name() for op in m.get_sinks()]",
        "m.remove_sink(m.get_sinks()[0]) if False else len(m.get_ops())",
        "r.get_variable_id() if hasattr(r, 'get_variable_id') else r.get_attributes()['variable_id']",
        "m.clone().get_variables()[0].info.variable_id",
        "ov.serialize(m, 'state.xml'); len(ov.Core().read_model('state.xml').get_sinks())",
        "[each.info.data_type for each in m.variables]",
    )
    for question in w.rng.sample(questions, 3):
        w.say(question)
    w.say("c = ov.Core().compile_model(m, 'CPU', F32)")
    w.say("q = c.create_infer_request()")
    calls = (
        "list(q.infer([{array}]).values())",
        "list(q.infer({{'x': {array}}}).values())",
        "q.query_state()[0].state.data",
        "q.query_state()[0].name",
        "[s.state.shape for s in q.query_state()]",
        "q.reset_state()",
        "q.query_state()[0].reset()",
        "q.query_state()[0].state = ov.Tensor({array})",
        "q.query_state()[0].state = ov.Tensor({wrong})",
        "q.start_async([{array}]); q.wait(); q.get_output_tensor(0).data",
        "list(c([{array}]).values())",
        "q = c.create_infer_request()",
        "len(c.query_state()) if hasattr(c, 'query_state') else 0",
    )
    for _ in range(w.rng.randrange(3, 8)):
        array = f"data({shape}, 'float32', {w.rng.randrange(99)})"
        wrong = w.choose((f"data({[*shape, 1]}, 'float32', 1)", f"data({shape}, 'int32', 1)"))
        w.say(w.choose(calls).format(array=array, wrong=wrong))


ROUTINES = (pictures, surgery, surgery, state)
