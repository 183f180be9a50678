"""Statements that create a model of the nodes, query it, change it, compile it and run it."""

from __future__ import annotations

from support.api_programs.layers import LAYERS
from support.api_programs.writer import NUMPY, Variable, Writer

QUESTIONS = (
    "{m}.get_friendly_name()",
    "{m}.friendly_name",
    "len({m}.inputs)",
    "[port.get_any_name() for port in {m}.inputs]",
    "[port.get_names() for port in {m}.outputs]",
    "[port.get_partial_shape() for port in {m}.inputs]",
    "[port.get_partial_shape() for port in {m}.outputs]",
    "[port.get_element_type() for port in {m}.outputs]",
    "[op.get_type_name() for op in {m}.get_ordered_ops()]",
    "sorted(op.get_type_name() for op in {m}.get_ops())",
    "[op.get_friendly_name() for op in {m}.get_parameters()]",
    "[op.get_friendly_name() for op in {m}.get_results()]",
    "{m}.is_dynamic()",
    "{m}.dynamic",
    "{m}.get_output_size()",
    "{m}.get_output_shape({i})",
    "{m}.get_output_element_type({i})",
    "{m}.get_output_partial_shape({i})",
    "{m}.get_output_op({i}).get_type_name()",
    "{m}.get_result().get_type_name()",
    "{m}.get_parameter_index({p})",
    "{m}.get_result_index({n})",
    "{m}.get_result_index({m}.output(0))",
    "{m}.input({i})",
    "{m}.output({i})",
    "{m}.input()",
    "{m}.output()",
    "{m}.input({name})",
    "{m}.output({name})",
    "{m}.input({name}).get_index()",
    "{m}.get_variables()",
    "{m}.get_sinks()",
    "{m}.get_variable_by_id('v')",
    "{m}.has_rt_info(['a', 'b'])",
    "{m}.get_rt_info(['a', 'b']).value",
    "{m}.get_rt_info()",
    "{m}.get_name() == {m}.name",
    "len({m}.get_ops())",
    "{m}.evaluate([ov.Tensor('float32', ov.Shape([1]))], [])",
    "{m} == {m}",
    "{m}.not_a_method()",
    "ov.serialize({m}, 'saved.xml'); [p.get_partial_shape() for p in ov.Core().read_model('saved.xml').inputs]",
    "ov.save_model({m}, 'saved.xml'); [p.get_any_name() for p in ov.Core().read_model('saved.xml').inputs]",
    "ov.save_model({m}, 'saved.xml', False); len(ov.Core().read_model('saved.xml').get_ops())",
    "ov.save_model({m}, 'saved.xml'); [p.get_names() for p in ov.Core().read_model('saved.xml').outputs]",
    "{m}.clone().get_rt_info()",
    "[p.get_names() for p in {m}.clone().inputs]",
    "sorted(ov.Core().query_model({m}, 'CPU').values())",
    "{m}.get_result_index({m}.get_results()[0])",
    "ov.Model({m}).get_friendly_name()",
    "{m}.output({i}).get_node().input_value(0).get_node().get_type_name()",
    "[len(n.outputs()) for n in {m}.get_ordered_ops()]",
    "[sorted(t.get_node().get_type_name() for t in n.output(0).get_target_inputs()) for n in {m}.get_parameters()]",
)
CHANGES = (
    "{m}.reshape({{{name}: {shape}}})",
    "{m}.reshape({shape})",
    "{m}.reshape({{{i}: {shape}}})",
    "{m}.reshape({{{m}.input({i}): ov.PartialShape({shape})}})",
    "{m}.reshape([{shape}])",
    "{p}.set_partial_shape(ov.PartialShape({shape}))",
    "{p}.set_element_type(ov.Type.{type})",
    "{m}.validate_nodes_and_infer_types()",
    "{m}.add_outputs({name})",
    "{m}.add_outputs({n})",
    "{m}.add_outputs({n}.output(0))",
    "{m}.add_outputs([{n}.output(0)])",
    "{m}.add_outputs(({name}, {i}))",
    "{m}.outputs[0].tensor.set_names({{'out'}})",
    "{m}.outputs[0].tensor.add_names({{'more'}})",
    "{m}.inputs[0].tensor.set_names({{'first'}})",
    "{m}.set_rt_info({i}, ['a', 'b'])",
    "{m}.set_rt_info('text', 'a')",
    "{m}.remove_result({m}.get_results()[0])",
    "{m}.remove_result({i})",
    "{m}.remove_parameter({p})",
    "{m}.add_parameters([ops.parameter([1], np.float32, 'more')])",
    "{m}.add_results([ops.result({n})])",
    "{m}.replace_parameter(0, ops.parameter({shape}, np.float32, 'other'))",
    "{m}.set_friendly_name({name})",
    "{n}.set_friendly_name({name})",
    "{n}.output(0).set_names({{{name}}})",
    "{m}.get_results()[0].set_friendly_name('result')",
    "{m}.get_parameters()[0].set_friendly_name('begin')",
    "{m}.inputs[0].get_node().set_layout(ov.Layout('N...'))",
    "ov.set_batch({m}, {i})",
    "ov.get_batch({m})",
    "{m}.set_rt_info([{i}, 2], ['list', 'of'])",
    "{m}.set_rt_info({{'k': {i}}}, 'mapping')",
    "{m}.inputs[0].get_rt_info()['mark'] = {i}",
    "mg = ov.passes.Manager(); p = mg.register_pass(ov.passes.ConstantFolding()); mg.run_passes({m})",
    "ov.utils.replace_node({n}, ops.relu({n}.input_value(0)))",
    "{n}.output(0).replace({p}.output(0))",
    "{m}.reshape({{{name}: ov.PartialShape({shape})}})",
    "{m}.reshape({{{name}: [(1, 4)] * {i}}})",
    "{m}.add_outputs([({name}, 0)])",
)
COMPILED = (
    "[port.get_any_name() for port in {c}.inputs]",
    "[port.get_names() for port in {c}.outputs]",
    "[port.get_partial_shape() for port in {c}.outputs]",
    "{c}.input({i}).get_element_type()",
    "{c}.output({i}).get_partial_shape()",
    "{c}.input({name})",
    "{c}.output({name})",
    "{c}.output().get_any_name()",
    "{c}.get_property('{property}')",
    "{c}.set_property({{'PERF_COUNT': True}})",
    "{c}.get_runtime_model().get_output_size()",
    "{c}.not_a_method()",
    "{c}.query_state()",
    "{c}.input({i}).get_names()",
    "[port.get_node().get_type_name() for port in {c}.outputs]",
    "ov.Core().import_model({c}.export_model(), 'CPU').inputs[0].get_partial_shape()",
)
REQUESTS = (
    "{r}.get_input_tensor({i}).shape",
    "{r}.get_input_tensor({i}).element_type",
    "{r}.get_output_tensor({i}).data",
    "{r}.get_output_tensor().data",
    "{r}.get_tensor({name}).data",
    "[tensor.shape for tensor in {r}.output_tensors]",
    "[tensor.element_type for tensor in {r}.input_tensors]",
    "list({r}.results.values())",
    "{r}.set_input_tensor({i}, ov.Tensor({array}))",
    "{r}.set_tensor({name}, ov.Tensor({array}))",
    "{r}.set_input_tensors([{array}])",
    "{r}.set_input_tensor(ov.Tensor({array}))",
    "{r}.set_output_tensor({i}, ov.Tensor({array}))",
    "{r}.infer()",
    "{r}.start_async(); {r}.wait()",
    "{r}.wait_for(10)",
    "{r}.query_state()",
    "{r}.get_compiled_model().get_property('NETWORK_NAME')",
    "{r}.userdata",
    "{r}.not_a_method()",
    "{r}.set_callback(lambda data: data.append(1), []); {r}.start_async(); {r}.wait(); {r}.userdata",
    "{r}.start_async({{0: {array}}}, userdata={i}); {r}.wait(); {r}.userdata",
    "{r}.start_async([{array}], share_inputs=True); {r}.wait(); [t.data for t in {r}.output_tensors]",
    "{r}.set_tensors({{{name}: ov.Tensor({array})}})",
    "{r}.set_input_tensors({{{i}: ov.Tensor({array})}})",
    "{r}.set_output_tensors({{{i}: ov.Tensor({array})}})",
    "{r}.get_tensor({r}.model_inputs[0]).shape",
    "[port.get_any_name() for port in {r}.model_outputs]",
    "{r}.results[{i}]",
    "{r}.results[{name}]",
    "len({r}.results)",
    "{r}.results.to_tuple()",
    "{r}.results.names()",
    "{r}.reset_state()",
    "{r}.latency >= 0",
    "q = ov.AsyncInferQueue({r}.get_compiled_model(), 2); q.start_async({{0: {array}}}); q.wait_all(); len(q)",
)
PROPERTIES = (
    "NETWORK_NAME",
    "INFERENCE_PRECISION_HINT",
    "PERFORMANCE_HINT",
    "ENABLE_PROFILING",
    "PERF_COUNT",
    "EXECUTION_DEVICES",
    "NOT_A_PROPERTY",
    "EXECUTION_MODE_HINT",
    "NUM_STREAMS",
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
    "PERFORMANCE_HINT_NUM_REQUESTS",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "KV_CACHE_PRECISION",
    "MODEL_DISTRIBUTION_POLICY",
    "ENABLE_CPU_PINNING",
)


def _values(w: Writer) -> dict[str, object]:
    """Return arguments for the queries: a parameter and its shape, a node, a name, a position."""
    parameter = w.choose(w.parameters)
    sizes = [n if n is not None else w.choose((-1, 2, 5)) for n in parameter.shape]
    if w.chance(0.3):
        sizes = [w.choose((1, 2, 3, -1)) for _ in sizes]
    names = [*(p.name for p in w.parameters), "out", "first", "t1", "nothing", parameter.name, parameter.name]
    return {
        "p": parameter.name,
        "shape": sizes if not w.errs() else [*sizes, 2],
        "n": w.any_node().name,
        "name": f'"{w.choose(names)}"' if not w.errs() else w.choose(("5", "None", "[]")),
        "i": w.choose((0, 0, 0, 1, 2)) if not w.errs() else w.choose((7, -1)),
        "type": w.choose(("f32", "f32", "f16", "i32")),
        "property": w.choose(PROPERTIES),
        "array": array_for(w, parameter),
    }


def array_for(w: Writer, parameter: Variable) -> str:
    """Return an array for a Parameter, sometimes of another shape or type."""
    sizes = [n if n is not None else 3 for n in parameter.shape]
    if w.errs():
        sizes = w.choose(([*sizes, 1], [n + 1 for n in sizes], sizes[1:]))
    kind = parameter.type if not w.errs() else w.choose(list(NUMPY))
    return w.array(kind, sizes)


def define(w: Writer) -> str:
    """Define a model over some of the nodes."""
    chosen = w.nodes[-2:] if len(w.nodes) > 1 and w.chance(0.4) else w.nodes[-1:]
    results = ", ".join(node.name for node in chosen)
    parameters = ", ".join(p.name for p in w.parameters)
    if w.errs():
        parameters = parameters.partition(", ")[2]
    made = ", ".join(f"ops.result({node.name})" for node in chosen)
    name = w.fresh("m")
    forms = (
        f"ov.Model([{results}], [{parameters}], '{name}')",
        f"ov.Model([{results}], [{parameters}])",
        f"ov.Model([{made}], [{parameters}], '{name}')",
        f"ov.Model({chosen[0].name}, [{parameters}], '{name}')",
        f"ov.Model(results=[{made}], parameters=[{parameters}], name='{name}')",
    )
    w.say(f"{name} = {w.choose(forms)}")
    return name


def ask(w: Writer, model: str) -> None:
    w.say(w.choose(QUESTIONS).format(m=model, **_values(w)))


def change(w: Writer, model: str) -> str:
    """Change a model; return the name of the model to continue with, which may be a clone, or one with
    preprocessing.
    """
    way = w.rng.randrange(12)
    if way == 0:
        name = w.fresh("m")
        w.say(f"{name} = {model}.clone()")
        return name
    if way == 1:
        return _preprocess(w, model)
    if way == 2:
        # Add a layer after the model was created.
        w.choose(LAYERS)(w)
        return model
    w.say(w.choose(CHANGES).format(m=model, **_values(w)))
    return model


def _preprocess(w: Writer, model: str) -> str:
    steps, name = w.fresh("ppp"), w.fresh("m")
    w.say(f"{steps} = ov.preprocess.PrePostProcessor({model})")
    port = w.choose(("0", "0", f'"{w.choose(w.parameters).name}"', "")) if not w.errs() else "9"
    forms = (
        f"{steps}.input({port}).tensor().set_element_type(ov.Type.u8)",
        f"{steps}.input({port}).preprocess().mean(1.0)",
        f"{steps}.input({port}).preprocess().scale(2.0)",
        f"{steps}.input({port}).preprocess().mean([1.0, 2.0, 3.0])",
        f"{steps}.input({port}).preprocess().convert_element_type(ov.Type.f32)",
        f"{steps}.input({port}).tensor().set_layout(ov.Layout('NHWC'))",
        f"{steps}.input({port}).model().set_layout(ov.Layout('NCHW'))",
        f"{steps}.output({port}).tensor().set_element_type(ov.Type.f16)",
        f"{steps}.output(0).postprocess().convert_element_type(ov.Type.i32)",
        f"{steps}.input({port}).tensor().set_shape([-1, 2])",
    )
    for _ in range(w.choose((1, 2))):
        w.say(w.choose(forms))
    w.say(f"{name} = {steps}.build()")
    return name


def run(w: Writer, model: str) -> None:
    """Compile a model, query the compiled model, and run it in several ways."""
    compiled = w.fresh("c")
    forms = (f"ov.Core().compile_model({model}, 'CPU', F32)", f"ov.compile_model({model}, 'CPU', F32)")
    w.say(f"{compiled} = {w.choose(forms)}")
    for _ in range(w.choose((0, 1, 2))):
        w.say(w.choose(COMPILED).format(c=compiled, **_values(w)))
    arrays = [array_for(w, p) for p in w.parameters]
    listed, keyed = ", ".join(arrays), ", ".join(f"{i}: {a}" for i, a in enumerate(arrays))
    named = ", ".join(f'"{p.name}": {a}' for p, a in zip(w.parameters, arrays, strict=True))
    ways = (
        f"[{listed}]",
        f"[{listed}]",
        f"{{{keyed}}}",
        f"{{{named}}}",
        arrays[0],
        f"[{listed}], share_inputs=True",
        f"[{listed}], share_outputs=True",
        f"({listed},)",
        f"[ov.Tensor({arrays[0]})]",
    )
    w.say(f"list({compiled}({w.choose(ways)}).values())")
    if w.chance(0.5):
        return
    request = w.fresh("r")
    w.say(f"{request} = {compiled}.create_infer_request()")
    w.say(f"list({request}.infer({w.choose(ways)}).values())")
    for _ in range(w.choose((1, 2, 3))):
        w.say(w.choose(REQUESTS).format(r=request, **_values(w)))
