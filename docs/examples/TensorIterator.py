import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([3, 2], np.float32, name="x")
row = opset15.parameter([1, 2], np.float32)
body = irexec.Model([opset15.softmax(row, axis=1)], [row])
each = opset15.tensor_iterator()
each.set_body(body)
each.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
rows = each.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 0)
irexec.compile_model(irexec.Model([rows], [x]))(np.float32([[0, 0], [1, 1], [0, 100]]))[0]
