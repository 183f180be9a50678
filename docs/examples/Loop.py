import numpy as np

import irexec
from irexec import opset15

x = opset15.parameter([2], np.float32, name="x")
value = opset15.parameter([2], np.float32)
body = irexec.Model([opset15.constant(np.array(True)), opset15.multiply(value, np.float32(2))], [value])
loop = opset15.loop(opset15.constant(np.int64(3)), opset15.constant(np.array(True)))
loop.set_function(body)
loop.set_special_body_ports([-1, 0])  # No input gets the number of the iteration; output 0 is the condition.
loop.set_merged_input(value, x.output(0), body.results[1].output(0))
last = loop.get_iter_value(body.results[1].output(0), -1)
irexec.compile_model(irexec.Model([last], [x]))(np.float32([1, 5]))[0]
