import numpy as np

import irexec
from irexec import opset15

flag = opset15.parameter([], np.bool_, name="flag")
x = opset15.parameter([2], np.float32, name="x")
kept, turned = opset15.parameter([2], np.float32), opset15.parameter([2], np.float32)
then, other = irexec.Model([opset15.relu(kept)], [kept]), irexec.Model([opset15.negative(turned)], [turned])
choice = opset15.if_op(flag)
choice.set_then_body(then)
choice.set_else_body(other)
choice.set_input(x.output(0), kept, turned)
y = choice.set_output(then.results[0], other.results[0])
run = irexec.compile_model(irexec.Model([y], [flag, x]))
run({"flag": np.array(True), "x": np.float32([-1, 2])})[0]
run({"flag": np.array(False), "x": np.float32([-1, 2])})[0]
