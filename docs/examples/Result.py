import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([3], np.float32, name="x")
model = irexec.Model([opset15.result(opset15.relu(x)), opset15.result(opset15.negative(x))], [x], "two")
results = irexec.compile_model(model)(np.float32([-1, 0, 1]))
results[0], results[1]
