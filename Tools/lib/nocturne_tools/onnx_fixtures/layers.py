"""Cases of the layers of transformers: normalisation, GELU, linear layers, attention, Einsum, rearrangements."""

import numpy as np
from onnx import helper

from nocturne_tools.onnx_fixtures.writer import ints


def layers(f):
    """Operators of transformers alone."""
    x = [2, 5, 7, 19]
    f.node("layernorm", "LayerNormalization", [x], constants=[f.array(19), f.array(19)])
    f.node("layernorm-wide", "LayerNormalization", [[3, 70]], constants=[f.array(70)], epsilon=1e-6)
    f.node("layernorm-axes", "LayerNormalization", [x], constants=[f.array(7, 19), f.array(7, 19)], axis=2)
    f.node("layernorm-all", "LayerNormalization", [[4, 6]], constants=[f.array(4, 6)], axis=-2)
    f.node("gelu", "Gelu", [[2, 4, 3, 50]], opset=20)
    f.node("gelu-tanh", "Gelu", [[2, 4, 3, 50]], opset=20, approximate="tanh")
    f.node("reducel1", "ReduceL1", [x], axes=[1], keepdims=1)
    f.node("reducel2", "ReduceL2", [x], axes=[-1], keepdims=1)
    f.node("reducel2-18", "ReduceL2", [x], opset=18, constants=[ints(1, 2)], keepdims=0)
    f.node("reduceprod", "ReduceProd", [x], axes=[1], keepdims=0)
    f.node("reducesumsquare", "ReduceSumSquare", [x], axes=[3], keepdims=0)
    f.node("reducemax-middle", "ReduceMax", [x], axes=[2], keepdims=0)
    f.node("globalmaxpool", "GlobalMaxPool", [[2, 3, 4, 5]])
    f.node("depthtospace", "DepthToSpace", [[1, 12, 3, 2]], blocksize=2)
    f.node("depthtospace-crd", "DepthToSpace", [[1, 12, 3, 2]], blocksize=2, mode="CRD")
    f.node("spacetodepth", "SpaceToDepth", [[2, 3, 4, 6]], blocksize=2)
    f.node("softmax-space", "Softmax", [[2, 3, 4, 70]], axis=2)
    f.node("softmax-long", "Softmax", [[3, 2100]], axis=-1)
    f.node("logsoftmax-middle", "LogSoftmax", [[2, 6, 5]], axis=1)
    for op in ("Sin", "Cos", "Sign", "Round"):
        f.node(op.lower(), op, [[3, 40]])


def einsums(f):
    """Einsum: the forms that exporters write."""
    for name, equation, shapes in (
        ("attention-scores", "blxd,blyd->blxy", [[2, 3, 5, 4], [2, 3, 6, 4]]),
        ("attention-values", "bhxy,bhyd->bhxd", [[2, 3, 5, 6], [2, 3, 6, 4]]),
        ("spaced", "b h i d, b h j d -> b h i j", [[1, 2, 5, 4], [1, 2, 3, 4]]),
        ("tokens", "bihd,bjhd->bhij", [[2, 5, 3, 4], [2, 6, 3, 4]]),
        ("summed", "abc,cd->d", [[2, 3, 4], [4, 5]]),
        ("two-summed", "abcd,cde->aeb", [[2, 3, 4, 5], [4, 5, 6]]),
        ("outer", "a,b->ba", [[3], [4]]),
        ("elements", "ab,ab->ab", [[3, 4], [3, 4]]),
        ("implicit", "ij,jk", [[3, 4], [4, 2]]),
        ("transpose", "abc->cab", [[2, 3, 4]]),
        ("sum", "abc->b", [[2, 3, 4]]),
    ):
        f.node(f"einsum-{name}", "Einsum", shapes, equation=equation)


def linear_layers(f):
    """Products with constant matrices, and what follows them."""
    matmul, add = ("MatMul", ["x0", "w"], ["p"]), ("Add", ["p", "b"], ["q"])
    weights = {"w": f.array(20, 33), "b": f.array(33)}
    nodes = [helper.make_node(*matmul), helper.make_node(*add)]
    f.graph("linear", [*nodes, helper.make_node("Relu", ["q"], ["y"])], [[2, 7, 20]], weights)
    f.graph("linear-residual", [*nodes, helper.make_node("Add", ["x1", "q"], ["y"])], [[2, 7, 20], [2, 7, 33]], weights)
    scaled = [*nodes, helper.make_node("Mul", ["q", "g"], ["y"])]
    f.graph("linear-scaled", scaled, [[1, 130, 20]], {**weights, "g": f.array(33)})
    f.node("linear-long", "MatMul", [[1, 224, 40]], constants=[f.array(40, 24)])
    halves = [
        helper.make_node("Div", ["x0", "r"], ["a"]),
        helper.make_node("Erf", ["a"], ["e"]),
        helper.make_node("Add", ["e", "one"], ["c"]),
        helper.make_node("Mul", ["x0", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]
    numbers = {"r": np.float32(2**0.5), "one": np.float32(1), "half": np.float32(0.5)}
    f.graph("gelu-parts", halves, [[2, 5, 9]], numbers)


def attention_nodes(heads, tokens, width, masks):
    """Queries, keys and values from one tensor, as PyTorch writes it."""
    nodes = [
        helper.make_node("Reshape", ["x0", "split"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[2, 0, 3, 1, 4]),
        *[helper.make_node("Gather", ["t", f"i{i}"], [name], axis=0) for i, name in enumerate("qkv")],
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("Mul", ["q", "scale"], ["qs"]),
        helper.make_node("MatMul", ["qs", "kt"], ["scores0"]),
    ]
    for i in range(masks):
        nodes.append(helper.make_node("Add", [f"scores{i}", f"m{i}"], [f"scores{i + 1}"]))
    nodes += [
        helper.make_node("Softmax", [f"scores{masks}"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["ot"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["ot", "join"], ["y"]),
    ]
    constants = {f"i{i}": np.int64(i) for i in range(3)}
    constants["split"] = ints(0, tokens, 3, heads, width)
    constants["join"] = ints(0, tokens, heads * width)
    constants["scale"] = np.float32(width**-0.5)
    return nodes, constants


def attentions(f):
    """Attention, with more keys than one group has, and with addends."""
    for name, batch, heads, tokens, width, masks in (
        ("small", 2, 3, 10, 8, 0),
        ("long", 1, 1, 1100, 4, 0),
        ("bias", 2, 3, 12, 5, 1),
        ("bias-and-mask", 4, 2, 9, 8, 2),
    ):
        nodes, constants = attention_nodes(heads, tokens, width, masks)
        if masks > 0:
            constants["m0"] = f.array(1, heads, tokens, tokens)
        if masks > 1:
            constants["m1"] = np.where(f.array(batch, 1, tokens, tokens) > 1, np.float32(-100), np.float32(0))
        f.graph(f"attention-{name}", nodes, [[batch, tokens, 3 * heads * width]], constants)
    windows(f)


def windows(f):
    """The shifted windows of Swin: a mask for each window, added between two reshapes."""
    nodes, constants = attention_nodes(2, 9, 8, 1)
    at = next(i for i, node in enumerate(nodes) if node.op_type == "Softmax")
    nodes[at:at] = [
        helper.make_node("Reshape", ["scores1", "apart"], ["r"]),
        helper.make_node("Add", ["r", "m1"], ["rm"]),
        helper.make_node("Reshape", ["rm", "together"], ["masked"]),
    ]
    nodes[at + 3].input[0] = "masked"
    constants |= {"apart": ints(2, 3, 2, 9, 9), "together": ints(6, 2, 9, 9), "m0": f.array(1, 2, 9, 9)}
    constants["m1"] = np.where(f.array(1, 3, 1, 9, 9) > 0.5, np.float32(-100), np.float32(0))
    f.graph("attention-windows", nodes, [[6, 9, 48]], constants)
