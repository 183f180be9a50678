"""Operators of ONNX, each under the opset name of the ONNX version that it is from: `onnx11`, `onnx18`, ..."""

from irexec.ops.onnx import cast as cast
from irexec.ops.onnx import cumulative_product as cumulative_product
from irexec.ops.onnx import scatter_nd as scatter_nd
