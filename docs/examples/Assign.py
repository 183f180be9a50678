import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([1], np.float32, name="x")
before = opset15.read_value(opset15.constant(np.float32([0])), "sum")
total = opset15.add(before, x)
model = irexec.Model([opset15.result(total)], [opset15.assign(total, "sum")], [x], "running_sum")
request = irexec.compile_model(model).create_infer_request()
[float(request.infer(np.float32([number]))[0][0]) for number in (1, 2, 3)]
request.reset_state()
float(request.infer(np.float32([10]))[0][0])
