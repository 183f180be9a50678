"""Statements that ask nodes, ports, models and plain values; each is an expression whose value is compared."""

from __future__ import annotations

from support.api_programs.writer import Variable, Writer

NODE_QUESTIONS = (
    "{n}.get_type_name()",
    "{n}.get_output_size()",
    "{n}.get_input_size()",
    "{n}.get_output_partial_shape(0)",
    "{n}.get_output_shape(0)",
    "{n}.get_output_element_type(0)",
    "{n}.get_element_type()",
    "{n}.get_friendly_name()",
    "{n}.friendly_name",
    "{n}.shape",
    "{n}.get_shape()",
    "{n}.partial_shape",
    "{n}.get_partial_shape()",
    "{n}.get_attributes()",
    "{n}.get_version()",
    "{n}.get_rt_info()",
    "{n}.rt_info",
    "{n}.layout",
    "{n}.output(0).get_any_name()",
    "{n}.output(0).get_names()",
    "{n}.output(0).any_name",
    "{n}.output(0).get_index()",
    "{n}.output(0).get_element_type()",
    "{n}.output(0).get_target_inputs()",
    "{n}.output(0).node.get_type_name()",
    "{n}.output(0).rt_info",
    "{n}.output({wrong})",
    "{n}.input({wrong})",
    "{n}.input(0).get_partial_shape()",
    "{n}.input(0).get_source_output().get_node().get_type_name()",
    "{n}.input(0).element_type",
    "{n}.input_value(0).get_element_type()",
    "[v.get_partial_shape() for v in {n}.input_values()]",
    "[o.get_element_type() for o in {n}.outputs()]",
    "len({n}.inputs())",
    "{n}.get_output_tensor(0).get_names()",
    "{n}.get_output_tensor(0).size",
    "{n}.output(0).tensor.any_name",
    "{n}.get_input_element_type(0)",
    "{n}.get_input_shape(0)",
    "{n}.set_friendly_name({text})",
    "{n}.output(0).set_names({names})",
    "{n}.output(0).tensor.add_names({names})",
    "{n}.get_output_tensor({wrong})",
    "{n}.type_info.name",
    "{n}.get_type_info().version_id",
    "{n}.is_dynamic()",
    "{n}.not_a_method()",
    "{n} == {n}",
    "len({n})",
    "bool({n})",
    "{n}.get_name() == {n}.name",
)
VALUES = (
    'ov.PartialShape("{shape}")',
    'ov.PartialShape("{shape}").rank',
    'ov.PartialShape("{shape}").is_static',
    'ov.PartialShape("{shape}").to_shape()',
    'ov.PartialShape("{shape}").get_min_shape()',
    'ov.PartialShape("{shape}").get_max_shape()',
    'ov.PartialShape("{shape}")[{i}]',
    'ov.PartialShape("{shape}").get_dimension({i})',
    'ov.PartialShape("{shape}").compatible(ov.PartialShape("{other}"))',
    'ov.PartialShape("{shape}").refines(ov.PartialShape("{other}"))',
    'ov.PartialShape("{shape}").relaxes(ov.PartialShape("{other}"))',
    'ov.PartialShape("{shape}").same_scheme(ov.PartialShape("{other}"))',
    'ov.PartialShape("{shape}") == ov.PartialShape("{other}")',
    'ov.PartialShape("{shape}").all_non_negative',
    'len(ov.PartialShape("{shape}"))',
    'list(ov.PartialShape("{shape}"))',
    "ov.PartialShape({list})",
    "ov.PartialShape({list}) == {list}",
    "ov.Shape({list})",
    "ov.Shape({list}) == {list}",
    "ov.Dimension({i}, {j})",
    "ov.Dimension({i}, {j}).is_dynamic",
    "ov.Dimension({i}, {j}).get_length()",
    "ov.Dimension({i}, {j}).min_length",
    "ov.Dimension({i}).compatible(ov.Dimension({j}))",
    "ov.Dimension({i}).relaxes(ov.Dimension({i}, {j}))",
    "ov.Dimension({i}) == {j}",
    "ov.Dimension.dynamic().get_max_length()",
    'ov.Layout("{layout}")',
    'ov.Layout("{layout}").get_index_by_name("{letter}")',
    'ov.Layout("{layout}").has_name("{letter}")',
    'ov.Layout("{layout}").empty',
    'ov.Layout("{layout}") == "{layout}"',
    'ov.layout_helpers.batch_idx(ov.Layout("{layout}"))',
    'ov.layout_helpers.has_channels(ov.Layout("{layout}"))',
    "ov.Type(np.{dtype})",
    "ov.Type.{type}.to_dtype()",
    "ov.Type.{type}.size",
    "ov.Type.{type}.bitwidth",
    "ov.Type.{type}.is_real()",
    "ov.Type.{type}.is_quantized()",
    "ov.Type.{type}.get_type_name()",
    "ov.Type.{type} == ov.Type(np.{dtype})",
    "ov.Tensor(ov.Type.{type}, ov.Shape({list})).get_size()",
    "ov.Tensor(ov.Type.{type}, ov.Shape({list})).get_byte_size()",
    "ov.Tensor(np.{dtype}, {list}).shape",
    "ov.Tensor(data({list}, '{dtype}', {i})).data",
    "ov.Tensor(data({list}, '{dtype}', {i})).element_type",
    "ov.Tensor(data({list}, '{dtype}', {i})).strides",
    "ov.Tensor(data({list}, '{dtype}', {i}), shared_memory=True).data",
    "ov.Tensor(data({list}, '{dtype}', {i}), {list}, ov.Type.{type}).data.shape",
    "ov.op.Constant(ov.Type.{type}, ov.Shape({list}), [1]).data",
    "ov.op.Constant(data({list}, '{dtype}', {i})).get_byte_size()",
    "ov.op.Constant(data({list}, '{dtype}', {i})).get_vector()",
    "ov.op.Constant(data({list}, '{dtype}', {i})).value",
    "ov.op.Constant(data({list}, '{dtype}', {i})).get_value_strings()",
    "ov.op.Constant(data({list}, '{dtype}', {i})).get_all_data_elements_bitwise_identical()",
    "ops.constant({list}, dtype=np.{dtype}).data",
    "ops.constant(data({list}, '{dtype}', {i}), ov.Type.{type}).get_data()",
    "ops.constant(data({list}, '{dtype}', {i})).astype(np.float32)",
    "ov.OVAny({i}).astype(int)",
    "ov.OVAny('{letter}').astype(str)",
    "ov.OVAny({list}).value",
    "ov.Strides({list})",
    "ov.AxisSet({list})",
    "ov.CoordinateDiff({list})",
    "ov.Coordinate({list})[{i}]",
)


def node(w: Writer, of: Variable | None = None) -> None:
    """Ask a node; a few of the questions change its names."""
    about = of or w.any_node()
    names = w.choose((f'{{"{w.fresh("t")}"}}', f'{{"{w.fresh("t")}", "{w.fresh("t")}"}}', "set()", '["a"]', "5", '"t"'))
    text = w.choose((f'"{w.fresh("name")}"', '""', "5"))
    wrong = w.choose((0, 1, 5, -1, "'x'"))
    w.say(w.choose(NODE_QUESTIONS).format(n=about.name, names=names, text=text, wrong=wrong))


def value(w: Writer) -> None:
    """Ask a value of OpenVINO's classes."""
    shapes = ("?,3", "1,2,3", "...", "[1..4,?]", "", "2..,3", "..5,1,2", "1", "a,b", "[1,2")
    layouts = ("NCHW", "NC...", "?C", "[n,h,w,c]", "...", "NHWC", "", "NN", "C")
    types = ("f32", "f16", "i32", "i64", "u8", "boolean", "i8", "bf16", "f64", "u4")
    dtypes = ("float32", "float16", "int32", "int64", "uint8", "bool_", "int8", "float64")
    w.say(
        w.choose(VALUES).format(
            shape=w.choose(shapes),
            other=w.choose(shapes),
            list=w.choose(([1], [2, 3], [1, 2, 3], [])) if not w.errs() else [2, -1],
            i=w.choose((0, 1, 2, 3, -1, 5)),
            j=w.choose((1, 2, 4, 8)),
            layout=w.choose(layouts),
            letter=w.choose("NCHWX"),
            type=w.choose(types),
            dtype=w.choose(dtypes),
        )
    )
