import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([2], np.float32, name="x")
level = opset15.read_value(opset15.constant(np.float32([1, 1])), "level")
model = irexec.Model([opset15.multiply(x, level)], [opset15.assign(level, "level")], [x], "amplifier")
request = irexec.compile_model(model).create_infer_request()
request.infer(np.float32([3, 4]))[0].copy()  # The variable has its initial value.
request.query_state()[0].state = irexec.Tensor(np.float32([10, 100]))
request.infer(np.float32([3, 4]))[0]
