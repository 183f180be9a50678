"""The public names and their modules: `import irexec` reads this list, and imports each name when it is first used."""

from typing import Any

from irexec.api.openvino.async_queue import AsyncInferQueue as AsyncInferQueue
from irexec.api.openvino.compiled import CompiledModel as CompiledModel
from irexec.api.openvino.core import Core as Core
from irexec.api.openvino.core import Extension as Extension
from irexec.api.openvino.core import OpExtension as OpExtension
from irexec.api.openvino.core import Version as Version
from irexec.api.openvino.core import compile_model as compile_model
from irexec.api.openvino.core import get_batch as get_batch
from irexec.api.openvino.core import get_version as get_version
from irexec.api.openvino.core import read_model as read_model
from irexec.api.openvino.core import set_batch as set_batch
from irexec.api.openvino.core import shutdown as shutdown
from irexec.api.openvino.core import tensor_from_file as tensor_from_file
from irexec.api.openvino.custom import Op as Op
from irexec.api.openvino.frontend import convert_model as convert_model
from irexec.api.openvino.infer_request import InferRequest as InferRequest
from irexec.api.openvino.layout import Layout as Layout
from irexec.api.openvino.model import Model as Model
from irexec.api.openvino.node import Node as Node
from irexec.api.openvino.ov_any import OVAny as OVAny
from irexec.api.openvino.ports import ConstOutput as ConstOutput
from irexec.api.openvino.ports import Input as Input
from irexec.api.openvino.ports import Output as Output
from irexec.api.openvino.ports import Value as Value
from irexec.api.openvino.profiling import ProfilingInfo as ProfilingInfo
from irexec.api.openvino.remote import RemoteContext as RemoteContext
from irexec.api.openvino.remote import RemoteTensor as RemoteTensor
from irexec.api.openvino.remote import VAContext as VAContext
from irexec.api.openvino.remote import VASurfaceTensor as VASurfaceTensor
from irexec.api.openvino.rt_map import RTMap as RTMap
from irexec.api.openvino.saving import save_model as save_model
from irexec.api.openvino.saving import serialize as serialize
from irexec.api.openvino.shapes import AxisSet as AxisSet
from irexec.api.openvino.shapes import AxisVector as AxisVector
from irexec.api.openvino.shapes import Coordinate as Coordinate
from irexec.api.openvino.shapes import CoordinateDiff as CoordinateDiff
from irexec.api.openvino.shapes import PartialShape as PartialShape
from irexec.api.openvino.shapes import Shape as Shape
from irexec.api.openvino.shapes import Strides as Strides
from irexec.api.openvino.shapes import Symbol as Symbol
from irexec.api.openvino.tensor import Tensor as Tensor
from irexec.api.openvino.tensor import TensorVector as TensorVector
from irexec.api.openvino.type_info import DiscreteTypeInfo as DiscreteTypeInfo
from irexec.core.diagnostics import Diagnostic as Diagnostic
from irexec.core.diagnostics import IRError as IRError
from irexec.core.diagnostics import Report as Report
from irexec.core.diagnostics import Severity as Severity
from irexec.core.diagnostics.deadline import time_limit as time_limit
from irexec.core.types.dimension import Dimension as Dimension
from irexec.core.types.element import ElementType as ElementType
from irexec.core.types.element import Type as Type
from irexec.ops.spec.operator import operator as operator
from irexec.tools.fixes.files import validate as validate
from irexec.tools.functions.debugging import Comparison as Comparison
from irexec.tools.functions.debugging import Differences as Differences
from irexec.tools.functions.debugging import Reduction as Reduction
from irexec.tools.functions.debugging import compare as compare
from irexec.tools.functions.debugging import diff as diff
from irexec.tools.functions.debugging import reduce as reduce
from irexec.tools.functions.files import CheckedPages as CheckedPages
from irexec.tools.functions.files import Fixed as Fixed
from irexec.tools.functions.files import ModelReport as ModelReport
from irexec.tools.functions.files import doctest as doctest
from irexec.tools.functions.files import fix as fix
from irexec.tools.functions.files import report as report
from irexec.tools.functions.passes import Passes as Passes
from irexec.tools.functions.progress import sensitivity as sensitivity
from irexec.tools.functions.progress import shapes as shapes
from irexec.tools.shapes.answer import Shapes as Shapes

__version__: str

def __getattr__(name: str) -> Any: ...
