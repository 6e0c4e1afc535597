"""Cases of operators on single values and on the layout of tensors."""

import numpy as np
from onnx import helper

from nocturne_tools.onnx_fixtures.writer import ints


def elementwise(f):
    """Operators on single values, with broadcasting."""
    x = [2, 4, 3, 5]
    for op in ("Relu", "Sigmoid", "HardSwish", "Exp", "Tanh", "Abs", "Neg", "Identity", "Softplus", "Erf", "Floor"):
        f.node(op.lower(), op, [x])
    f.node("leakyrelu", "LeakyRelu", [x], alpha=0.2)
    f.node("hardsigmoid", "HardSigmoid", [x], alpha=0.3, beta=0.4)
    f.node("elu", "Elu", [x], alpha=0.7)
    f.node("prelu", "PRelu", [x], constants=[f.array(4, 1, 1)])
    f.node("clip", "Clip", [x], constants=[np.float32(-0.5), np.float32(0.7)])
    f.node("clip-upper", "Clip", [x], constants=[None, np.float32(0.7)])
    f.graph(
        "sqrt-of-square",
        [helper.make_node("Mul", ["x0", "x0"], ["a"]), helper.make_node("Sqrt", ["a"], ["y"])],
        [x],
        {},
    )
    f.node("pow", "Pow", [x], constants=[np.float32(2)])
    f.node("dropout", "Dropout", [x])
    f.node("cast", "Cast", [x], to=1)
    for op in ("Add", "Sub", "Mul", "Div"):
        f.node(op.lower(), op, [x, x])
        f.node(op.lower() + "-broadcast", op, [x, [4, 1, 1]])
        f.node(op.lower() + "-outer", op, [[2, 1, 3, 1], [4, 1, 5]])
        f.node(op.lower() + "-channel", op, [x], constants=[np.abs(f.array(1, 4, 1, 1)) + 0.5])
    f.graph("sub-from-constant", [helper.make_node("Sub", ["k", "x0"], ["y"])], [x], {"k": f.array(4, 1, 1)})
    f.graph("div-of-constant", [helper.make_node("Div", ["k", "x0"], ["y"])], [x], {"k": np.float32(3)})
    f.node("max", "Max", [x, x])
    f.node("sum", "Sum", [x, x, [5]])
    f.graph("swish", [helper.make_node("Sigmoid", ["x0"], ["s"]), helper.make_node("Mul", ["x0", "s"], ["y"])], [x], {})
    f.graph(
        "gate-in-place",
        [
            helper.make_node("Relu", ["x0"], ["a"]),
            helper.make_node("ReduceMean", ["a"], ["m"], axes=[2, 3]),
            helper.make_node("Mul", ["a", "m"], ["b"]),
            helper.make_node("Add", ["b", "a"], ["y"]),
        ],
        [x],
        {},
    )


def shapes(f):
    """Operators that move values: reshape, transpose, slice, pad, gather, concatenate."""
    x = [2, 4, 3, 6]
    f.node("reshape", "Reshape", [x], constants=[ints(0, -1, 2)])
    f.node("flatten", "Flatten", [x], axis=2)
    f.node("transpose", "Transpose", [x], perm=[0, 2, 3, 1])
    f.node("transpose-default", "Transpose", [x])
    f.node("squeeze", "Squeeze", [[2, 1, 3, 1]], constants=[ints(1)])
    f.node("squeeze-11", "Squeeze", [[2, 1, 3, 1]], opset=11)
    f.node("unsqueeze", "Unsqueeze", [[2, 3]], constants=[ints(0, -1)])
    f.node("slice", "Slice", [x], constants=[ints(1, -5), ints(4, 2**63 - 1), ints(1, 3), ints(2, 2)])
    f.node("slice-backwards", "Slice", [x], constants=[ints(-1), ints(-(2**63)), ints(3), ints(-2)])
    f.node("pad", "Pad", [x], constants=[ints(0, 1, 2, 0, 0, 0, 1, 3), np.float32(1.5)])
    f.node("pad-reflect", "Pad", [x], constants=[ints(0, 0, 2, 1, 0, 0, 1, 3)], mode="reflect")
    f.node("pad-edge", "Pad", [x], constants=[ints(0, 0, 2, 1, 0, 0, 1, 3)], mode="edge")
    f.node("pad-crop", "Pad", [x], constants=[ints(0, 0, -1, 1, 0, 0, 1, -2)])
    f.node("gather", "Gather", [x], constants=[ints(2, -1, 0)], axis=3)
    f.node("gather-matrix", "Gather", [x], constants=[np.array([[0, 2], [1, -1]], dtype=np.int64)], axis=1)
    f.node("gather-scalar", "Gather", [x], constants=[np.int64(1)], axis=2)
    f.node("expand", "Expand", [[3, 1]], constants=[ints(2, 3, 4)])
    f.node("concat-channels", "Concat", [x, [2, 1, 3, 6]], axis=1)
    f.node("concat-last", "Concat", [[2, 3], [2, 4]], axis=-1)


def shape_graphs(f):
    """The same inside small graphs, and shapes that are computed."""
    x = [2, 4, 3, 6]
    f.graph(
        "concat-space",
        [
            helper.make_node("MaxPool", ["x0"], ["a"], kernel_shape=[1, 1]),
            helper.make_node("Concat", ["a", "x0"], ["y"], axis=2),
        ],
        [x],
        {},
    )
    f.graph(
        "split",
        [helper.make_node("Split", ["x0", "s"], ["y", "z"], axis=1)],
        [x],
        {"s": ints(1, 3)},
        outputs=("y", "z"),
    )
    f.graph(
        "pooled-slice-pad",
        [
            helper.make_node("MaxPool", ["x0"], ["a"], kernel_shape=[2, 2]),
            helper.make_node("Slice", ["a", "b", "e", "ax"], ["s"]),
            helper.make_node("Pad", ["s", "p"], ["y"]),
        ],
        [x],
        {"b": ints(1, 1), "e": ints(3, 4), "ax": ints(1, 3), "p": ints(0, 1, 0, 1, 0, 0, 1, 0)},
    )
    f.graph(
        "shape-arithmetic",
        [
            helper.make_node("Shape", ["x0"], ["s"]),
            helper.make_node("Gather", ["s", "i0"], ["n"]),
            helper.make_node("Gather", ["s", "i1"], ["c"]),
            helper.make_node("Mul", ["n", "c"], ["nc"]),
            helper.make_node("Unsqueeze", ["nc", "axis"], ["u"]),
            helper.make_node("Concat", ["u", "rest"], ["to"], axis=0),
            helper.make_node("Cast", ["to"], ["f"], to=1),
            helper.make_node("Cast", ["f"], ["t2"], to=7),
            helper.make_node("Reshape", ["x0", "t2"], ["r"]),
            helper.make_node("ConstantOfShape", ["to1"], ["k"], value=helper.make_tensor("v", 1, [1], [2.5])),
            helper.make_node("Mul", ["r", "k"], ["y"]),
        ],
        [x],
        {"i0": np.int64(0), "i1": np.int64(1), "axis": ints(0), "rest": ints(-1), "to1": ints(18)},
    )
