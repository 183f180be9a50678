import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([3], np.float32, name="x")
scale = opset15.constant(np.float32([1, 10, 100]), name="scale")
irexec.compile_model(irexec.Model([opset15.multiply(x, scale)], [x]))(np.float32([1, 2, 3]))[0]
