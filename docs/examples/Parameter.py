import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([-1, 3], np.float32, name="x")
model = irexec.Model([opset15.relu(x)], [x], "small")
model.inputs[0].any_name, str(model.inputs[0].partial_shape)
irexec.compile_model(model)({"x": np.float32([[-1, 0, 1]])})[0]
