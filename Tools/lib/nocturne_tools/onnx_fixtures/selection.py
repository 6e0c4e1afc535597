"""Cases of operators that compare, find, or read and write at indices."""

import numpy as np
from onnx import helper

from nocturne_tools.onnx_fixtures.writer import ints


def converted(f, name, nodes, shapes, constants=None, opset=17):
    """A graph whose result `i` is of integers or truth values; the case's output is its conversion to float32."""
    f.graph(name, [*nodes, helper.make_node("Cast", ["i"], ["y"], to=1)], shapes, constants or {}, opset)


def comparisons(f):
    """Comparisons, logic and Where at run time."""
    x, row = [2, 4, 6], [4, 1]
    for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        converted(f, op.lower(), [helper.make_node(op, ["x0", "x1"], ["i"])], [x, row])
    signs = [helper.make_node("Sign", ["x0"], ["a"]), helper.make_node("Sign", ["x1"], ["b"])]
    converted(f, "equal", [*signs, helper.make_node("Equal", ["a", "b"], ["i"])], [x, row])
    positive = [helper.make_node("Greater", [f"x{i}", "zero"], [name]) for i, name in enumerate("pq")]
    zero = {"zero": np.float32(0)}
    for op in ("And", "Or", "Xor"):
        converted(f, op.lower(), [*positive, helper.make_node(op, ["p", "q"], ["i"])], [x, row], zero)
    converted(f, "not", [positive[0], helper.make_node("Not", ["p"], ["i"])], [x], zero)
    f.graph("where", [positive[0], helper.make_node("Where", ["p", "x1", "x2"], ["y"])], [x, row, [6]], zero)
    infinite = {**zero, "k": np.float32(-np.inf)}
    where = helper.make_node("Where", ["p", "k", "x0"], ["w"])
    f.graph("where-softmax", [positive[0], where, helper.make_node("Softmax", ["w"], ["y"])], [x], infinite)
    integers = [
        helper.make_node("Mul", ["x0", "ten"], ["a"]),
        helper.make_node("Cast", ["a"], ["b"], to=7),
        helper.make_node("Div", ["b", "three"], ["i"]),
    ]
    converted(f, "integer-division", integers, [x], {"ten": np.float32(10), "three": np.int64(3)})
    converted(f, "cast-boolean", [*signs[:1], helper.make_node("Cast", ["a"], ["i"], to=9)], [x])


def searches(f):
    """ArgMax, ArgMin, TopK and running sums."""
    x = [3, 5, 7]
    for op in ("ArgMax", "ArgMin"):
        for axis in range(3):
            converted(f, f"{op.lower()}-{axis}", [helper.make_node(op, ["x0"], ["i"], axis=axis, keepdims=0)], [x])
    converted(f, "argmax-kept", [helper.make_node("ArgMax", ["x0"], ["i"], axis=-1)], [x])
    sign = helper.make_node("Sign", ["x0"], ["s"])
    last = helper.make_node("ArgMax", ["s"], ["i"], axis=1, select_last_index=1)
    converted(f, "argmax-last", [sign, last], [x])
    pooled = helper.make_node("MaxPool", ["x0"], ["s"], kernel_shape=[1, 1])
    converted(f, "argmax-channels", [pooled, helper.make_node("ArgMax", ["s"], ["i"], axis=1)], [[1, 5, 4, 3]])
    for name, axis, largest in (("topk", -1, 1), ("topk-smallest", 1, 0), ("topk-first", 0, 1)):
        node = helper.make_node("TopK", ["x0", "k"], ["y", "i"], axis=axis, largest=largest)
        cast = helper.make_node("Cast", ["i"], ["z"], to=1)
        f.graph(name, [node, cast], [x], {"k": ints(3)}, outputs=("y", "z"))
    equal = helper.make_node("TopK", ["s", "k"], ["v", "i"])
    converted(f, "topk-equal", [sign, equal], [x], {"k": ints(5)})
    for exclusive, reverse in ((0, 0), (1, 0), (0, 1), (1, 1)):
        name = f"cumsum-{exclusive}{reverse}"
        f.node(name, "CumSum", [x], constants=[np.int64(1)], exclusive=exclusive, reverse=reverse)


def indices(f):
    """Reading and writing at indices, constant and found at run time."""
    x = [3, 4, 5]
    elements = np.array([[[0, -1, 2], [1, 3, -4]], [[2, 2, 2], [0, 1, 0]]], dtype=np.int64)
    for axis in range(3):
        f.node(f"gatherelements-{axis}", "GatherElements", [x], constants=[elements % 3], axis=axis)
    f.node("gatherelements-negative", "GatherElements", [x], constants=[elements], axis=1)
    f.node("gathernd", "GatherND", [x], constants=[np.array([[0, 1], [2, -1]], dtype=np.int64)])
    f.node("gathernd-full", "GatherND", [x], constants=[np.array([[[0, 1, -5]], [[2, 0, 4]]], dtype=np.int64)])
    batch = np.array([[0], [3], [-1]], dtype=np.int64)
    f.node("gathernd-batch", "GatherND", [x], constants=[batch], batch_dims=1)
    best = helper.make_node("ArgMax", ["x0"], ["i"], axis=1)
    f.graph("gatherelements-found", [best, helper.make_node("GatherElements", ["x0", "i"], ["y"], axis=1)], [x], {})
    places = np.array([[0, 1], [2, -1], [0, 1]], dtype=np.int64)
    for reduction in ("none", "add", "mul"):
        nodes = [helper.make_node("ScatterND", ["x0", "i", "x1"], ["y"], reduction=reduction)]
        f.graph(f"scatternd-{reduction}", nodes, [x, [3, 5]], {"i": places})
    for reduction in ("none", "add", "max", "min"):
        nodes = [helper.make_node("ScatterElements", ["x0", "i", "x1"], ["y"], axis=1, reduction=reduction)]
        f.graph(f"scatterelements-{reduction}", nodes, [x, [2, 2, 3]], {"i": elements}, opset=18)
    f.node("tile", "Tile", [[2, 1, 3]], constants=[ints(2, 3, 2)])
    f.node("trilu", "Trilu", [[2, 4, 5]])
    f.node("trilu-lower", "Trilu", [[2, 4, 5]], constants=[np.int64(1)], upper=0)
    folded_indices(f)


def folded_indices(f):
    """The same of constants, as exporters make masks."""
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"], value=helper.make_tensor("v", 1, [1], [0.0])),
        helper.make_node("ScatterND", ["zeros", "places", "updates"], ["scattered"]),
        helper.make_node("GatherND", ["scattered", "rows"], ["gathered"]),
        helper.make_node("GatherElements", ["gathered", "columns"], ["mask"], axis=1),
        helper.make_node("Equal", ["mask", "two"], ["flags"]),
        helper.make_node("Not", ["flags"], ["others"]),
        helper.make_node("Where", ["others", "x0", "mask"], ["y"]),
    ]
    constants = {
        "shape": ints(3, 4),
        "places": np.array([[0, 1], [2, -1]], dtype=np.int64),
        "updates": np.array([2, 3], dtype=np.float32),
        "rows": np.array([[2], [0]], dtype=np.int64),
        "columns": np.array([[3, 0, 1], [1, -2, 1]], dtype=np.int64),
        "two": np.float32(2),
    }
    f.graph("folded-indices", nodes, [[2, 3]], constants)


def exporters_habits(f):
    """Parts without elements, and functions of constants that exporters leave in a graph."""
    f.graph(
        "empty-part",
        [
            helper.make_node("Slice", ["x0", "start", "start", "axis"], ["none"]),
            helper.make_node("Slice", ["x0", "start", "end", "axis"], ["all"]),
            helper.make_node("Concat", ["none", "all"], ["y"], axis=1),
        ],
        [[2, 5, 3]],
        {"start": ints(0), "end": ints(2**31), "axis": ints(1)},
    )
    f.graph(
        "clipped-pads",
        [
            helper.make_node("Clip", ["pads", "low"], ["p"]),
            helper.make_node("Pad", ["x0", "p"], ["y"]),
        ],
        [[2, 5]],
        {"pads": ints(-3, 1, 2, -1), "low": np.int64(0)},
    )
