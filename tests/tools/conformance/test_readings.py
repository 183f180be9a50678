"""Results that a page leaves open: every reading of the page is accepted, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irexec.core.types import Array
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.results import Finding
from irexec.tools.conformance.verdict import NARROWED, ROUNDED, WRAPS, judge_case
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python
NAN, INF = np.nan, np.inf
OPENVINO = {"f64": "f32", "i64": "i32"}


def verdict_of(case: Case, change: Callable[[list[Array]], list[Array]]) -> str:
    """Return the verdict if a runtime returns changed results; the detail follows the word."""
    results = Reference(case.model, case.inputs).results()
    answer = Answer("results", [change([array.copy() for array in results[call]]) for call in case.calls])
    found = judge_case(case, answer, OPENVINO)
    return f"{found.word} {found.detail}"


def given(name: str, *arrays: Array) -> Case:
    case = case_named(name)
    case.inputs[0] = [a.astype(b.dtype) for a, b in zip(arrays, case.inputs[0], strict=True)]
    return case


ROW = np.array([2.0, 8.0, NAN, 5.0, 6.0])
IMAGE = ROW.reshape(1, 1, 5)


@pytest.mark.parametrize(
    ("name", "data", "value", "word"),
    [
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, NAN, "passed"),
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 2.0, "open"),
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 5.0, "wrong"),
        ("ReduceMin-1/bf16/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 5.0, "wrong"),
        ("ReduceMax-1/f32/keep_dims=false/data=[2]/axes=const:i64[1]{0}/seed1", np.array([NAN, NAN]), -3.4e38, "open"),
        ("ReduceMax-1/f32/keep_dims=false/data=[2]/axes=const:i64[1]{0}/seed1", np.array([NAN, NAN]), 0.0, "wrong"),
        ("ReLU-1/f32/x=[1]/seed1", np.array([NAN]), 0.0, "open"),
        ("ReLU-1/f32/x=[1]/seed1", np.array([NAN]), 1.0, "wrong"),
        ("Clamp-1/f32/min=1/max=2/x=[1]/seed1", np.array([NAN]), 2.0, "open"),
        ("Clamp-1/f32/min=1/max=2/x=[1]/seed1", np.array([NAN]), 1.5, "wrong"),
        ("Sigmoid-1/f32/x=[1]/seed1", np.array([NAN]), 0.0, "wrong"),
    ],
)
def test_nan_in_an_order_is_propagated_or_ignored(name: str, data: Array, value: float, word: str) -> None:
    case = given(name, data)
    assert verdict_of(case, lambda arrays: [np.full_like(arrays[0], value)]).startswith(f"{word} ")


@pytest.mark.parametrize(("value", "word"), [(0.0, "passed"), (NAN, "passed"), (1.0, "wrong")])
def test_an_infinity_times_zero_may_have_its_limit(value: float, word: str) -> None:
    case = given("Mish-4/f32/x=[2]/seed1", np.array([-INF, 1.0]))
    found = verdict_of(case, lambda arrays: [np.array([value, arrays[0][1]], np.float32)])
    assert found.startswith(word)


@pytest.mark.parametrize(("name", "word"), [("Gelu-7", "passed"), ("Sigmoid-1", "wrong")])
def test_small_numbers_that_a_formula_loses(name: str, word: str) -> None:
    case = given(f"{name}/f32/x=[2]/seed1", np.array([-9.0, 1.0]))
    assert verdict_of(case, lambda arrays: [np.array([0.0, arrays[0][1]], np.float32)]).startswith(word)


def test_an_open_case_states_the_difference() -> None:
    case = given("ReLU-1/f32/x=[2]/seed1", np.array([1.0, NAN]))
    found = verdict_of(case, lambda arrays: [np.array([1.0, 0.0], np.float32)])
    assert found == "open 0 instead of nan at [1]: nan expected, 0.0 found"


def test_f64_that_a_device_computes_in_f32_may_lose_what_f32_loses() -> None:
    case = given("Selu-1/f64/data=[1]/alpha=const:[]{2.0}/lambda_=const:[]{1.051}/seed1", np.array([-0.000303]))
    assert verdict_of(case, lambda arrays: [arrays[0] - 3e-8]) == "passed "
    assert verdict_of(case, lambda arrays: [arrays[0] - 3e-5]).startswith("wrong")


def test_an_infinity_is_not_a_rounding_error() -> None:
    case = given("Acosh-4/f16/x=[2]/seed1", np.array([INF, 2.0]))
    assert verdict_of(case, lambda arrays: [np.array([11.78, arrays[0][1]], np.float16)]).startswith("wrong")


def test_top_k_may_choose_any_of_the_equal_values() -> None:
    name = "TopK-11/f32/axis=0/mode=max/sort=value/index_element_type=i32/data=[4]/k=const:i64[]{1}/seed1"
    case = given(name, np.array([3.0, 7.0, 7.0, 1.0]))
    with_index = lambda place: lambda arrays: [arrays[0], np.full_like(arrays[1], place)]  # noqa: E731
    assert verdict_of(case, with_index(1)).startswith("passed")
    assert verdict_of(case, with_index(2)).startswith("open")
    assert verdict_of(case, with_index(3)).startswith("wrong")
    assert verdict_of(case, with_index(9)).startswith("wrong")


def test_an_order_of_nothing_is_open() -> None:
    case = case_named("ReduceMax-1/f32/keep_dims=false/data=[2,0]/axes=const:i64[1]{1}/seed1")
    assert verdict_of(case, lambda arrays: [np.full_like(arrays[0], 7)]).startswith("open")


def test_integers_wrap_and_a_saturated_result_is_named() -> None:
    case = given("Add-1/u8/a=[2]/b=[2]/seed1", np.array([250, 3]), np.array([10, 4]))
    found = verdict_of(case, lambda arrays: [np.array([255, 7], np.uint8)])
    assert found.startswith("wrong") and WRAPS in found
    found = verdict_of(case, lambda arrays: [np.array([4, 8], np.uint8)])
    assert found.startswith("wrong"), "7 is expected in the second place, which does not overflow"
    case = given("Maximum-1/u8/a=[2]/b=[2]/seed1", np.array([250, 3]), np.array([10, 4]))
    assert WRAPS not in verdict_of(case, lambda arrays: [arrays[0] + np.uint8(1)])


def test_what_follows_an_overflow_in_a_graph_is_open() -> None:
    words = set()
    for seed in range(20):
        case = case_named(f"graph.integers/f32/r5/length=2/kind=u8/end=same/static/seed{seed}")
        ends = [n.type for n in case.model.nodes if n.type in ("Add", "Multiply")]
        case.inputs[0][0][...] = 255
        word = verdict_of(case, lambda arrays: [np.full_like(arrays[0], 255)]).split()[0]
        words.add((word, bool(ends)))
    assert ("open", True) in words and not any(word == "open" and not sums for word, sums in words)


def test_integers_that_32_bits_cannot_hold_are_one_cluster() -> None:
    details = []
    for name in ("Abs-1/i64/x=[2]/seed1", "Negative-1/i64/x=[2]/seed1"):
        case = given(name, np.array([-(2**45), 7]))
        details.append(verdict_of(case, lambda arrays: [np.array([0, arrays[0][1]])]))
        assert NARROWED in details[-1]
    findings = [Finding(f"{i}", "wrong", detail, f"Operator-{i}", "static", {}) for i, detail in enumerate(details)]
    (cluster,) = clusters_of(findings)
    assert cluster.cause == NARROWED and cluster.operators == ["Operator-0", "Operator-1"]


@pytest.mark.parametrize(("name", "word"), [
    ("graph.fake_quantised/f32/r5/levels=16/ranges=symmetric/layer=convolution/static/seed1", "open"),
    ("graph.fake_quantised/f32/r5/levels=255/ranges=symmetric/layer=convolution/static/seed1", "wrong"),
    ("BinaryConvolution-1/f32/pad_value=0.5/data=[1,2,4,4]/kernel=const:u1[1,2,3,3]/seed1", "open"),
    ("BinaryConvolution-1/f32/pad_value=0/data=[1,2,4,4]/kernel=const:u1[1,2,3,3]/seed1", "wrong"),
])  # fmt: skip
def test_levels_without_0_and_bits_that_are_none_are_open(name: str, word: str) -> None:
    windows = "strides=1,1/pads_begin=1,1/pads_end=1,1/dilations=1,1/mode=xnor-popcount"
    case = case_named(name.replace("/pad_value", f"/{windows}/pad_value"))
    assert verdict_of(case, lambda arrays: [7 - 3 * arrays[0]]).startswith(word)


def test_a_model_without_computed_inputs() -> None:
    case = case_named("Add-1/f32/a=const:[2,3]/b=const:[3]/seed4")
    assert case.inputs == [[]] and not case.model.inputs
    assert verdict_of(case, lambda arrays: arrays).startswith("passed")
    assert verdict_of(case, lambda arrays: [arrays[0] * 2]).startswith("wrong")


GRID = (
    "ExperimentalDetectronPriorGridGenerator-6/f32/flatten=false/h=2/priors=[3,4]/feature_map=[1,5,4,5]"
    "/im_data=[1,3,9,9]"
)
DETECTIONS = (
    "ExperimentalDetectronDetectionOutput-6/f32/score_threshold=0.1/nms_threshold=0.5/num_classes=2/post_nms_count=4"
    "/max_detections_per_image=5/max_delta_log_wh=4/deltas_weights=10,10,5,5/rois=[2,4]/deltas=[2,8]/scores=[2,2]"
    "/im_info=[1,3]"
)


PROPOSAL = (
    "Proposal-1/f32/base_size=16/pre_nms_topn=20/post_nms_topn=5/nms_thresh=0.01/feat_stride=16/min_size=4/ratio=1/scale=2"
    "/class_probs=[1,2,3,4]/bbox_deltas=[1,4,3,4]/image_shape=[3]"
)


@pytest.mark.parametrize(
    ("name", "defined", "undefined"),
    [
        (f"{GRID}/seed1", (0, 0), (3, 0)),
        (f"{DETECTIONS}/seed1", (0, 0), (4, 0)),
        ("ExperimentalDetectronTopKROIs-6/f32/max_rois=4/rois=[2,4]/probabilities=[2]/seed1", (1, 0), (3, 0)),
        (f"{PROPOSAL}/seed1", (0, 3), (3, 2)),
    ],
)
def test_rows_that_a_page_leaves_undefined(name: str, defined: tuple[int, int], undefined: tuple[int, int]) -> None:
    def with_other(place: tuple[int, int]) -> Callable[[list[Array]], list[Array]]:
        def change(arrays: list[Array]) -> list[Array]:
            arrays[0][place] += 1e6
            return arrays

        return change

    case = case_named(name)
    assert verdict_of(case, with_other(undefined)).startswith("passed")
    assert verdict_of(case, with_other(defined)).startswith("wrong")


def test_the_boxes_of_a_padded_result_are_judged() -> None:
    """Old versions of NonMaxSuppression leave the number of rows open, but not which boxes are selected."""

    def with_another_box(arrays: list[Array]) -> list[Array]:
        arrays[0][0, 2] += 1
        return arrays

    inputs = "boxes=[1,5,4]/scores=[1,2,5]/max_output_boxes_per_class=const:i64[]{2}/iou_threshold=const:[]{0.5}"
    case = case_named(f"NonMaxSuppression-3/f32/{inputs}/seed1")
    assert verdict_of(case, lambda arrays: arrays).startswith("passed")
    assert verdict_of(case, lambda arrays: [arrays[0][:1]]).startswith("open")
    assert verdict_of(case, with_another_box).startswith("wrong")


@pytest.mark.parametrize(
    "name",
    [
        "NonMaxSuppression-9/f32/boxes=[1,4,4]/scores=[1,1,4]/max_output_boxes_per_class=i64[]{-1}/iou_threshold=[]{0.5}",
        "EmbeddingSegmentsSum-3/f32/emb_table=[3,2]/indices=i64[2]{0,1}/segment_ids=i64[2]{0,2}/num_segments=i64[]{3}"
        "/default_index=i64[]{-1}",
        "StridedSlice-1/f32/begin_mask=0/end_mask=0/new_axis_mask=1/shrink_axis_mask=1/data=[3]/begin=i64[1]{0}"
        "/end=i64[1]{1}",
        "ReorgYolo-2/f32/stride=2/data=[1,6,4,4]",
        "GroupedMatMul-17/f32/mat_a=[4,3]/mat_b=[2,5,3]/offsets=i64[2]{1,3}",
        "Divide-1/i32/a=[2]/b=[2]{0,3}",
        "Tile-1/f32/data=[2]/repeats=i64[1]{-1}",
        "ReduceProd-1/f64/data=[]/axes=i64[]{-1}",
    ],
)
def test_inputs_for_which_there_is_no_result(name: str) -> None:
    answer = Answer("refused", message="RuntimeError: no such index", stage="infer")
    assert judge_case(case_named(f"{name}/seed1"), answer, OPENVINO).word == "open"


def test_a_limit_is_accepted_after_a_transpose() -> None:
    case = given("Mish-4/f32/x=[1,3]/turned/seed1", np.array([[1.0, -INF, NAN]]))

    def with_limit(arrays: list[Array]) -> list[Array]:
        arrays[0][1, 0] = 0.0
        return arrays

    assert verdict_of(case, with_limit).startswith("passed")
    case = given("Bucketize-3/f32/data=[2]/buckets=[3]{1,2,3}/seed1", np.array([NAN, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert verdict_of(case, lambda arrays: [np.array([0, 1])]).startswith("passed")
    assert verdict_of(case, lambda arrays: [np.array([0, 2])]).startswith("wrong")


def test_integers_that_are_rounded_as_f32_are_named() -> None:
    case = given("Floor-1/i32/x=[3]/seed1", np.array([101169557, 5, -7]))
    assert ROUNDED in verdict_of(case, lambda arrays: [arrays[0].astype(np.float32).astype(np.int32)])
    assert ROUNDED not in verdict_of(case, lambda arrays: [arrays[0] + np.array([0, 40, 0], np.int32)])


def test_failures_with_one_cause_are_one_cluster() -> None:
    place = "Exception from src/a.cpp:224: Node op of type T Check 'b' failed at src/plugins/c.cpp:52"
    empty, layers = {"type": "f32", "empty": "yes"}, {"type": "i8", "layers": "Divide-1"}
    findings = [
        Finding("a", "error", f"{place}: Ranks 2 and 3 differ", "LessEqual-1", "dynamic", {}),
        Finding("b", "error", "Exception from src/plugins/c.cpp:52: Ranks 4 and 1 differ", "Divide-1", "sequence", {}),
        Finding("c", "shape", "shape [1] instead of [0]", "Less-1", "static", empty),
        Finding("d", "shape", "shape [1, 1] instead of [0, 1]", "BitwiseXor-13", "static", empty),
        Finding("e", "wrong", "1 ulp", "Divide-1", "static", {"type": "i8"}),
        Finding("f", "wrong", "1 ulp", "graph.grown", "static", layers),
        Finding("g", "wrong", "1 ulp", "Interpolate-4", "static", {}),
        Finding("h", "wrong", "1 ulp", "Interpolate-11", "static", {}),
    ]
    found = [(c.cause, "".join(f.name for f in c.findings)) for c in clusters_of(findings)]
    assert found == [
        ("Divide", "ef"),
        ("Interpolate", "gh"),
        ("Ranks N and N differ", "ab"),
        ("empty inputs of elementwise layers", "cd"),
    ]


def test_colours_may_be_rounded_either_way() -> None:
    case = case_named("I420toRGB-8/u8/arg=[1,6,4,1]/seed3")

    def moved(distance: int) -> Callable[[list[Array]], list[Array]]:
        return lambda arrays: [np.clip(arrays[0].astype(int) + distance, 0, 255).astype(np.uint8)]

    assert verdict_of(case, moved(1)).startswith("passed")
    assert verdict_of(case, moved(3)).startswith("wrong")


@pytest.mark.parametrize(("place", "right"), [((0, 1), True), ((3, 0), True), ((0, 0), False)])
def test_what_follows_the_end_of_detections(place: tuple[int, int], right: bool) -> None:
    """The page defines nothing after the first image of -1."""
    case = case_named(
        "DetectionOutput-8/f32/top_k=1/keep_top_k=0/nms_threshold=0.5/input_height=32/"
        "box_logits=[2,16]/class_preds=[2,8]/proposals=[1,2,20]/seed90"
    )

    def change(results: list[Array]) -> list[Array]:
        assert results[0][0, 0, 0, 0] == -1
        results[0][0, 0][place] = np.inf
        return results

    assert verdict_of(case, change).startswith("passed" if right else "wrong")
