import numpy as np

import irexec
from irexec import opset1

data = opset1.parameter([1, 1, 3, 3], np.float32, name="data")
kernel = opset1.constant(np.array([[[[1, 0], [0, 1]]]], np.uint8), "u1")
found = opset1.binary_convolution(data, kernel, [1, 1], [0, 0], [0, 0], [1, 1], "xnor-popcount", 0.0)
irexec.compile_model(irexec.Model([found], [data]))(np.float32([[[[1, 0, 1], [0, 1, 0], [1, 1, 0]]]]))[0]
