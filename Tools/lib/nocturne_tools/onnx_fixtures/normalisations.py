"""Cases of normalisations, softmax and reductions, alone and beside convolutions."""

import numpy as np
from onnx import helper

from nocturne_tools.onnx_fixtures.writer import ints


def normalisations(f):
    """Normalisations, softmax and reductions alone."""
    for rank, space in ((1, [17]), (2, [5, 6]), (3, [4, 5, 3])):
        x = [2, 6, *space]
        f.node(f"instancenorm{rank}d", "InstanceNormalization", [x], constants=[f.array(6), f.array(6)])
        f.node(
            f"batchnorm{rank}d",
            "BatchNormalization",
            [x],
            constants=[f.array(6), f.array(6), f.array(6), np.abs(f.array(6)) + 0.5],
        )
    f.node(
        "groupnorm-21", "GroupNormalization", [[1, 6, 4, 5]], opset=21, constants=[f.array(6), f.array(6)], num_groups=3
    )
    f.node(
        "batchnorm0d",
        "BatchNormalization",
        [[3, 6]],
        constants=[f.array(6), f.array(6), f.array(6), np.abs(f.array(6)) + 0.5],
    )
    f.node("softmax-channels", "Softmax", [[1, 5, 4, 3]], axis=1)
    f.node("softmax-last", "Softmax", [[2, 5, 4]], axis=-1)
    f.node("softmax-11", "Softmax", [[2, 5, 4]], opset=11, axis=1)
    f.node("logsoftmax", "LogSoftmax", [[2, 5]], axis=1)
    f.node("reducemean-space", "ReduceMean", [[2, 4, 5, 3]], axes=[2, 3], keepdims=1)
    f.node("reducemean-flat", "ReduceMean", [[2, 4, 5, 3]], axes=[2, 3], keepdims=0)
    f.node("reducemean-18", "ReduceMean", [[2, 4, 5, 3]], opset=18, constants=[ints(1)], keepdims=1)
    f.node("reducemean-apart", "ReduceMean", [[2, 4, 5, 3]], axes=[1, 3], keepdims=0)
    f.node("reducesum", "ReduceSum", [[2, 4, 5]], constants=[ints(-1)], keepdims=0)
    f.node("reducemax-all", "ReduceMax", [[2, 4, 5]], keepdims=1)


def normalised_convolutions(f):
    """Convolutions with the operators that an engine fuses with them."""
    bias, weights = f.array(8), f.array(8, 3, 3, 3)
    conv = helper.make_node("Conv", ["x0", "w", "b"], ["c"], pads=[1, 1, 1, 1])
    stats = dict(zip(("s", "t", "m"), (f.array(8), f.array(8), f.array(8))), v=np.abs(f.array(8)) + 0.5)
    f.graph(
        "conv-batchnorm-relu",
        [
            conv,
            helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["n"]),
            helper.make_node("Relu", ["n"], ["y"]),
        ],
        [[1, 3, 6, 7]],
        {"w": weights, "b": bias, **stats},
    )
    f.graph(
        "convtranspose-batchnorm-groups",
        [
            helper.make_node("ConvTranspose", ["x0", "w"], ["c"], strides=[2, 2], group=2),
            helper.make_node("BatchNormalization", ["c", "s", "t", "m", "v"], ["y"]),
        ],
        [[1, 4, 3, 5]],
        {"w": f.array(4, 4, 2, 2), **stats},
    )
    f.graph(
        "conv-instancenorm-leakyrelu",
        [
            conv,
            helper.make_node("InstanceNormalization", ["c", "s", "t"], ["n"]),
            helper.make_node("LeakyRelu", ["n"], ["y"], alpha=0.01),
        ],
        [[1, 3, 6, 7]],
        {"w": weights, "b": bias, "s": stats["s"], "t": stats["t"]},
    )
    f.graph(
        "conv-sum-shared",
        [
            conv,
            helper.make_node("Sigmoid", ["c"], ["a"]),
            helper.make_node("Add", ["c", "a"], ["d"]),
            helper.make_node("Mul", ["d", "c"], ["y"]),
        ],
        [[1, 3, 6, 7]],
        {"w": weights, "b": bias},
    )
    f.graph(
        "concat-of-normalised",
        [
            conv,
            helper.make_node("InstanceNormalization", ["c", "s", "t"], ["n"]),
            helper.make_node("Relu", ["n"], ["r"]),
            helper.make_node("Concat", ["x0", "r", "x0"], ["k"], axis=1),
            helper.make_node("Conv", ["k", "u"], ["z"]),
            helper.make_node("Concat", ["z", "r"], ["y"], axis=1),
        ],
        [[1, 3, 6, 7]],
        {"w": weights, "b": bias, "s": stats["s"], "t": stats["t"], "u": f.array(5, 14, 1, 1)},
    )
