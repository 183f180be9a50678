"""Whether irexec conformance detects errors that users reported: `python benchmarks/conformance_reported.py [PYTHON]`.

Each entry is an issue or pull request of OpenVINO, a short description, and a case of a kind that is drawn. PYTHON is
the interpreter with the release of OpenVINO (default: this one). Prints the verdict on each case; a case passes if the
release does not have the issue, or has fixed it.
"""

from __future__ import annotations

import sys

from irexec.tools.conformance.block import judged
from irexec.tools.conformance.defendant import Defendant
from irexec.tools.conformance.made import case_named

REPORTED: tuple[tuple[int, str, str], ...] = (
    (35823, "Add of i64 in 32 bits", "Add-1/i64/a=[2]/b=[2]/data-beyond/seed1"),
    (35825, "Greater of large i64", "Greater-1/i64/auto_broadcast=numpy/a=[16]/b=[16]/data-beyond/seed1"),
    (
        35826,
        "Equal of large i64",
        "Equal-1/i64/auto_broadcast=numpy/a=[3]{274877906944,549755813888,7}/b=[3]{0,0,7}/seed1",
    ),
    (31196, "Greater of NaN", "Greater-1/f32/auto_broadcast=numpy/a=[65]/b=[]/data-edges/seed3"),
    (35829, "Mod of large i64", "Mod-1/i64/a=[5]/b=[5]{13,13,13,13,13}/data-wide/seed1"),
    (
        35830,
        "Divide of i32 is not exact",
        "Divide-1/i32/m_pythondiv=false/a=[8]/b=const:[8]{11,11,11,11,11,11,11,11}/data-wide/seed1",
    ),
    (37766, "Divide of i64", "Divide-1/i64/m_pythondiv=false/a=[4]/b=[4]{11,-7,3,13}/data-wide/seed1"),
    (35837, "CumSum of i64 in 32 bits", "CumSum-3/i64/x=[5]/axis=const:[]{0}/data-beyond/seed1"),
    (35838, "Power of i64 is not exact", "Power-1/i64/a=[4]{13,17,19,23}/b=[4]{8,7,7,6}/seed1"),
    (35890, "Sign of i64", "Sign-1/i64/x=[6]/data-beyond/seed1"),
    (36222, "Abs of i64", "Abs-1/i64/x=[6]/data-beyond/seed1"),
    (36222, "Negative of i64", "Negative-1/i64/x=[6]/data-beyond/seed1"),
    (37956, "MatMul of i32 in f32", "MatMul-1/i32/a=[2,3]/b=[3,2]/data-wide/seed1"),
    (35932, "NaN to boolean", "Convert-1/f32/destination_type=boolean/input=[4,8]/data-edges/seed1"),
    (35896, "large f32 to i64", "Convert-1/f32/destination_type=i64/input=[8]/data-beyond/seed1"),
    (33518, "u8 saturates", "Subtract-1/u8/a=[16]/b=[16]/seed1"),
    (34638, "bits of i8 with broadcasting", "BitwiseAnd-13/i8/a=const:[1,64]/b=const:[1,1]/seed1"),
    (34638, "bits of u8 with broadcasting", "BitwiseXor-13/u8/a=[1,64]/b=[1,1]/seed1"),
    (32919, "u8 to boolean is not 1", "Convert-1/u8/destination_type=boolean/input=[64]/data-large/seed1"),
    (35928, "minimum with NaN", "ReduceMin-1/f32/keep_dims=false/data=[40]/axes=const:i64[1]{0}/data-edges/seed4"),
    (
        35935,
        "window of NaN",
        "MaxPool-1/f32/strides=1,1/pads_begin=0,0/pads_end=0,0/kernel=3,3/data=[1,2,7,7]/data-sparse/seed3",
    ),
    (
        35933,
        "largest update with NaN",
        "ScatterElementsUpdate-12/f32/reduction=max/use_init_val=true/data=[9]"
        "/indices=const:i64[4]{0,0,2,2}/updates=[4]/axis=const:i64[]{0}/data-edges/seed2",
    ),
    (
        35929,
        "log of a sum of exponentials",
        "graph.reduced/f32/r5/form=log sum exp/near=none/after=none/static/seed1",
    ),
    (
        13491,
        "index of the least i32",
        "TopK-11/i32/axis=0/mode=min/sort=value/index_element_type=i32/data=[16]/k=const:i64[]{1}/data-ties/seed1",
    ),
    (
        21051,
        "Reshape after other extents",
        "graph.shapes/f32/r5/form=round trip/kind=u8/source=shape of/act=none/sequence/seed3",
    ),
    (
        37247,
        "Loop without iterations",
        "graph.loop/f32/r5/trips=computed/body=scale/kept=last/shape=open/after=relu/sequence/seed1",
    ),
    (22149, "TensorIterator", "graph.iterator/f32/r5/body=sum/axis=1/way=forwards/kept=both/part=1/sequence/seed4"),
    (
        22718,
        "sum after a convolution",
        "graph.convolution/f32/r5/window=3x3/bias=channels/act=relu/residual=after/sequence/seed5",
    ),
    (
        20807,
        "ports of merged elementwise layers",
        "graph.elementwise/f32/r5/length=8/broadcast=channels/data=plain/dynamic/seed4",
    ),
    (
        21952,
        "Reshape of a shared value",
        "graph.views/f32/r5/source=relu/view=reshape/first=relu/second=multiply/sequence/seed2",
    ),
    (
        19783,
        "layers after Interpolate",
        "graph.followed/f32/r5/kernel=interpolate/layout=none/follow=add and multiply/act=relu"
        "/second=none/static/seed6",
    ),
    (
        32359,
        "layers after Interpolate, channels last",
        "graph.followed/f32/r5/kernel=interpolate/layout=channels last/follow=add of channels/act=swish"
        "/second=none/static/seed6",
    ),
    (
        26417,
        "almost queries, keys and values",
        "graph.qkv/f32/r5/weights=i8/form=three products/near=other input/heads=2/dynamic/seed4",
    ),
    (32507, "a gated MLP", "graph.gated/f32/r5/form=gated/act=swish/split=variadic/dynamic/seed4"),
    (
        37217,
        "MVN with another epsilon",
        "graph.layer_norm/f16/r5/near=epsilon outside/root=sqrt divide/affine=none/rank=3/dynamic/seed4",
    ),
    (
        37946,
        "integers behind HSigmoid",
        "graph.activation/f32/r5/form=hsigmoid/near=constant/then=converted and reduced/dynamic/seed4",
    ),
    (
        35886,
        "index of the least with NaN",
        "TopK-11/f32/axis=0/mode=min/sort=value/index_element_type=i64/data=[40]/k=const:i64[]{1}/data-edges/seed1",
    ),
    (
        35898,
        "largest values with NaN",
        "TopK-11/f32/axis=0/mode=max/sort=value/index_element_type=i64/data=[40]/k=const:i64[]{3}/data-edges/seed1",
    ),
    (
        13922,
        "Loop whose value grows, again",
        "graph.loop/f32/r5/trips=3/body=grows/kept=last/shape=open/after=none/begin=true/twice/dynamic/seed1",
    ),
    (37989, "HSwish in a chain", "graph.activation/f32/r5/form=hswish/near=constant/dynamic/seed4"),
    (
        36995,
        "FakeQuantize before Multiply",
        "graph.into_quantise/f32/r5/before=scale of channels/levels=256/ranges=symmetric"
        "/after=negative scale/sequence/seed45",
    ),
    (35927, "comparison with NaN", "GreaterEqual-1/f32/auto_broadcast=none/a=[2,65,2]/b=[2,65,2]/data-edges/seed142"),
    (
        31833,
        "two sums without their axes",
        "graph.reductions/f32/r5/first=ReduceSum-1/second=the same/keep=false/axes=negative/static/seed1",
    ),
    (
        37959,
        "Transpose after a maximum",
        "graph.reductions/f32/r5/first=ReduceMax-1/second=the same/keep=only the first/axes=the same/kind=i64"
        "/extents=ones before/after=transpose/static/seed1",
    ),
    (
        33356,
        "minimum after a Transpose of an axis of one",
        "graph.reductions/f32/r5/first=ReduceMin-1/keep=false/axes=the same/before=transpose/kind=i64"
        "/extents=ones after/static/seed1",
    ),
    (
        37576,
        "joined values that are reduced",
        "graph.stacked/f32/r5/reduction=ReduceMax-1/made=reshape/kind=boolean/between=reshape/static/seed1",
    ),
    (38256, "bf16 MatMul", "MatMul-1/bf16/a=[17,64]/b=const:[64,33]/default/seed1"),
    (
        23616,
        "ReduceSum before Add",
        "graph.trailed/f32/r5/kernel=reduce/rank=3/follow=add/operand=channels/act=none/static/seed504",
    ),
    (37957, "Clamp of i64", "Clamp-1/i64/min=-100/max=100/x=[6]/data-beyond/seed1"),
    (37966, "MatMul of nothing", "MatMul-1/i64/a=[0,4,8]/b=[0,8,4]/seed1"),
    (35651, "i8 saturates", "Add-1/i8/a=[16]/b=[16]/data-large/seed1"),
    (35650, "differences of i8 saturate", "Subtract-1/i8/a=[16]/b=[16]/data-large/seed1"),
    (35647, "sums of u8 saturate", "Add-1/u8/a=[16]/b=[16]/data-large/seed1"),
    (35646, "products of u8 saturate", "Multiply-1/u8/a=[16]/b=[16]/data-large/seed1"),
    (35798, "products of i8 saturate", "Multiply-1/i8/a=[16]/b=[16]/data-large/seed1"),
    (35685, "exponential of NaN", "Exp-1/f32/x=[40]/data-edges/seed1"),
    (33564, "f64 divided by 0", "Divide-1/f64/a=[4]{1.0,2.0,-1.0,3.0}/b=[4]{0.0,0.0,0.0,1.0}/seed1"),
    (21068, "a power of 9e8", "Power-1/f32/a=[7]/b=const:[]{900000000.0}/seed1"),
    (
        35888,
        "Range of large i64",
        "Range-4/i64/output_type=i64/start=[]{50}/stop=[]{2300000050}/step=[]{400000000}/seed1",
    ),
    (
        31252,
        "SoftSign in a chain",
        "graph.elementwise/f32/r5/length=5/broadcast=none/data=plain/layers=all/dynamic/seed46",
    ),
    (35936, "erf of tiny numbers", "Erf-1/f32/x=[64]/data-tiny/seed1"),
    (35931, "softplus of -75", "SoftPlus-4/f32/x=[3]{-150.0,-75.0,1.0}/seed1"),
    (23673, "softplus below -10", "SoftPlus-4/f32/x=[3]{-29.1,-15.0,-11.0}/seed1"),
    (35649, "maximum of 0 and NaN", "ReLU-1/f32/x=[40]/data-edges/seed1"),
    (35839, "least of two with NaN", "Minimum-1/f32/a=[40]/b=[40]/data-edges/seed1"),
    (35934, "Gelu of infinity", "Gelu-7/f32/approximation_mode=ERF/data=[40]/data-edges/seed1"),
    (30764, "GatherND with negative indices", "GatherND-8/f32/batch_dims=0/data=[4,3]/indices=i64[2,1]{-1,0}/seed1"),
    (
        30800,
        "GatherElements with negative indices",
        "GatherElements-6/f32/axis=0/data=[4,3]/indices=i64[1,3]{-1,0,-2}/seed1",
    ),
)  # fmt: skip
"""The number of the issue, its description, and a case of the same kind."""


def main() -> int:
    python, found = (sys.argv[1:] or [""])[0], 0
    hints = {"f32": {"INFERENCE_PRECISION_HINT": "f32"}, "default": {}}
    defendants = {config: Defendant("openvino", hint, python=python) for config, hint in hints.items()}
    for issue, what, name in REPORTED:
        case = case_named(name)
        verdict = judged(case, defendants[case.config])
        found += verdict.word not in ("passed", "open")
        print(f"{issue}  {verdict.word:8} {what}: {verdict.detail[:70]}", flush=True)
    name = defendants["f32"].name
    print(f"{found} of {len(REPORTED)} fail in {name}; the others pass in this release, or their page is open")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
