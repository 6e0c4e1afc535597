"""Writes the small ONNX files that the engine's tests run, with inputs and what ONNX Runtime makes of them.

    python make_onnx_fixtures.py ../Tests/Fixtures/ONNX

Needs torch, onnx and onnxruntime (see requirements.txt). Weights and inputs come from seeds. The folder gets one .onnx
file a case, `values.bin` (little-endian float32: every case's inputs, then its outputs) and `index.json`, which says
where in it each tensor lies.
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto, helper, numpy_helper

import onnx_fixture_networks as networks

ort.set_default_logger_severity(3)


class Fixtures:
    def __init__(self, folder):
        self.folder = folder
        self.values = []
        self.count = 0
        self.index = []
        self.random = np.random.default_rng(20261121)
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if name.endswith((".onnx", ".bin", ".json")):
                os.remove(os.path.join(folder, name))

    def array(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def place(self, name, array):
        array = np.ascontiguousarray(array, dtype=np.float32)
        entry = {"name": name, "shape": list(array.shape), "offset": self.count}
        self.values.append(array.reshape(-1))
        self.count += array.size
        return entry

    def add(self, name, model, inputs):
        """Keeps a model, after running it."""
        options = ort.SessionOptions()
        # Unfused, so that the reference is the plain meaning of the graph.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, inputs)
        for output, result in zip(model.graph.output, results):
            if not output.type.tensor_type.HasField("shape"):
                for extent in result.shape:
                    output.type.tensor_type.shape.dim.add().dim_value = extent
                if not result.shape:
                    output.type.tensor_type.shape.SetInParent()
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(self.folder, name + ".onnx"))
        self.index.append(
            {
                "name": name,
                "inputs": [self.place(key, value) for key, value in inputs.items()],
                "outputs": [self.place(o.name, r) for o, r in zip(session.get_outputs(), results)],
            }
        )

    def node(self, name, op, shapes, opset=17, constants=(), **attributes):
        """One operator: inputs of the given shapes, then constants (None leaves one out)."""
        self.graph(
            name,
            [helper.make_node(op, *self.names(shapes, constants), **attributes)],
            shapes,
            {f"c{i}": c for i, c in enumerate(constants) if c is not None},
            opset,
        )

    @staticmethod
    def names(shapes, constants):
        inputs = [f"x{i}" for i in range(len(shapes))]
        inputs += ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
        return inputs, ["y"]

    def graph(self, name, nodes, shapes, constants, opset=17, outputs=("y",), data=None):
        inputs = {f"x{i}": self.array(*shape) for i, shape in enumerate(shapes)}
        if data is not None:
            inputs.update(data)
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in inputs.items()],
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
            [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        self.add(name, model, inputs)

    def network(self, name, module, inputs, opset=17, dynamic=None):
        """A torch module, exported as users do."""
        torch.manual_seed(len(self.index))
        networks.randomise(module)
        path = os.path.join(self.folder, name + ".onnx")
        names = [f"x{i}" for i in range(len(inputs))]
        tensors = tuple(torch.from_numpy(self.array(*shape)) for shape in inputs)
        torch.onnx.export(
            module.eval(),
            tensors,
            path,
            input_names=names,
            output_names=["y"],
            opset_version=opset,
            dynamo=False,
            dynamic_axes=dynamic,
        )
        self.add(name, onnx.load(path), {n: t.numpy() for n, t in zip(names, tensors)})

    def save(self):
        np.concatenate(self.values).astype("<f4").tofile(os.path.join(self.folder, "values.bin"))
        with open(os.path.join(self.folder, "index.json"), "w") as file:
            json.dump(self.index, file, indent=1)
            file.write("\n")


def ints(*values):
    return np.array(values, dtype=np.int64)


def windows(f):
    for rank, space in ((1, [11]), (2, [9, 10]), (3, [6, 7, 8])):
        k3, one = [3] * rank, [1] * rank
        x = [1, 4, *space]
        bias = f.array(6)
        f.node(f"conv{rank}d", "Conv", [x], constants=[f.array(6, 4, *k3), bias], pads=[1] * 2 * rank)
        f.node(
            f"conv{rank}d-stride", "Conv", [x], constants=[f.array(6, 4, *k3)], strides=[2] * rank, pads=[1, 0] * rank
        )
        f.node(
            f"conv{rank}d-dilated",
            "Conv",
            [x],
            constants=[f.array(6, 4, *k3), bias],
            dilations=[2] * rank,
            pads=[2] * 2 * rank,
        )
        f.node(f"conv{rank}d-groups", "Conv", [x], constants=[f.array(6, 2, *k3), bias], group=2)
        f.node(
            f"conv{rank}d-depthwise",
            "Conv",
            [x],
            constants=[f.array(4, 1, *k3), f.array(4)],
            group=4,
            pads=[1] * 2 * rank,
        )
        f.node(f"conv{rank}d-pointwise", "Conv", [x], constants=[f.array(6, 4, *one), bias])
        f.node(
            f"conv{rank}d-same-upper",
            "Conv",
            [x],
            constants=[f.array(6, 4, *[2] * rank)],
            auto_pad="SAME_UPPER",
            strides=[2] * rank,
        )
        f.node(f"conv{rank}d-same-lower", "Conv", [x], constants=[f.array(6, 4, *[4] * rank)], auto_pad="SAME_LOWER")
        f.node(
            f"convtranspose{rank}d",
            "ConvTranspose",
            [x],
            constants=[f.array(4, 6, *[2] * rank), bias],
            strides=[2] * rank,
        )
        f.node(
            f"convtranspose{rank}d-padded",
            "ConvTranspose",
            [x],
            constants=[f.array(4, 6, *k3), bias],
            strides=[2] * rank,
            pads=[1] * 2 * rank,
            output_padding=[1] * rank,
        )
        f.node(
            f"convtranspose{rank}d-groups",
            "ConvTranspose",
            [x],
            constants=[f.array(4, 3, *k3), bias],
            group=2,
            dilations=[2] * rank,
        )
        f.node(
            f"convtranspose{rank}d-output-shape",
            "ConvTranspose",
            [x],
            constants=[f.array(4, 3, *k3)],
            strides=[2] * rank,
            output_shape=[2 * s for s in space],
            auto_pad="SAME_UPPER",
        )
        f.node(f"maxpool{rank}d", "MaxPool", [x], kernel_shape=[2] * rank, strides=[2] * rank)
        f.node(
            f"maxpool{rank}d-ceil",
            "MaxPool",
            [x],
            kernel_shape=k3,
            strides=[2] * rank,
            pads=[1] * 2 * rank,
            ceil_mode=1,
        )
        f.node(f"averagepool{rank}d", "AveragePool", [x], kernel_shape=[2] * rank, strides=[2] * rank)
        f.node(
            f"averagepool{rank}d-padded",
            "AveragePool",
            [x],
            kernel_shape=k3,
            strides=[2] * rank,
            pads=[1] * 2 * rank,
            count_include_pad=1,
        )
        f.node(
            f"averagepool{rank}d-ceil",
            "AveragePool",
            [x],
            opset=19,
            kernel_shape=k3,
            strides=[2] * rank,
            pads=[1] * 2 * rank,
            ceil_mode=1,
        )
        f.node(f"globalaveragepool{rank}d", "GlobalAveragePool", [x])
    f.node(
        "conv3d-anisotropic",
        "Conv",
        [[1, 3, 5, 9, 8]],
        constants=[f.array(7, 3, 1, 3, 3)],
        strides=[1, 2, 2],
        pads=[0, 1, 1, 0, 1, 1],
    )
    f.node("conv2d-batch", "Conv", [[3, 4, 6, 5]], constants=[f.array(5, 4, 3, 3), f.array(5)], pads=[1, 1, 1, 1])
    f.node("conv2d-asymmetric", "Conv", [[1, 2, 8, 9]], constants=[f.array(3, 2, 3, 4)], pads=[0, 2, 1, 1])
    f.node("maxpool2d-dilated", "MaxPool", [[1, 3, 9, 9]], kernel_shape=[2, 3], dilations=[2, 2])


def normalisations(f):
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


def elementwise(f):
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


def resizes(f):
    for rank, space in ((1, [7]), (2, [5, 6]), (3, [3, 4, 5])):
        x = [1, 3, *space]
        up = np.array([1, 1, *[2.0] * rank], dtype=np.float32)
        odd = np.array([1, 1, *[1.7] * rank], dtype=np.float32)
        sizes = ints(1, 3, *[2 * s + 1 for s in space])
        f.node(
            f"resize{rank}d-nearest",
            "Resize",
            [x],
            constants=[None, up],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        f.node(f"resize{rank}d-nearest-half-pixel", "Resize", [x], constants=[None, odd], mode="nearest")
        for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
            f.node(
                f"resize{rank}d-linear-{mode.replace('_', '-')}",
                "Resize",
                [x],
                constants=[None, None, sizes][:3],
                mode="linear",
                coordinate_transformation_mode=mode,
            )
        f.node(f"resize{rank}d-linear-scales", "Resize", [x], constants=[None, odd], mode="linear")
        f.node(
            f"resize{rank}d-down",
            "Resize",
            [x],
            constants=[None, up / 3 + np.array([2 / 3] * 2 + [0] * rank, dtype=np.float32)],
            mode="linear",
        )
    f.node(
        "resize-nearest-ceil",
        "Resize",
        [[1, 2, 5, 6]],
        constants=[None, None, ints(1, 2, 8, 4)],
        mode="nearest",
        nearest_mode="ceil",
        coordinate_transformation_mode="align_corners",
    )
    f.node(
        "upsample",
        "Upsample",
        [[1, 2, 3, 4]],
        opset=9,
        constants=[np.array([1, 1, 2, 3], dtype=np.float32)],
        mode="nearest",
    )


def products(f):
    f.node("gemm", "Gemm", [[3, 5]], constants=[f.array(5, 4), f.array(4)])
    f.node(
        "gemm-transposed",
        "Gemm",
        [[5, 3]],
        constants=[f.array(4, 5), f.array(3, 1)],
        transA=1,
        transB=1,
        alpha=0.5,
        beta=2.0,
    )
    f.node("gemm-wide", "Gemm", [[3, 90]], constants=[f.array(300, 90), f.array(300)], transB=1)
    f.node("matmul", "MatMul", [[3, 5]], constants=[f.array(5, 4)])
    f.node("matmul-batch", "MatMul", [[2, 3, 5], [1, 5, 4]])
    f.node("matmul-broadcast", "MatMul", [[2, 1, 3, 5], [4, 5, 2]])
    f.node("matmul-vector", "MatMul", [[2, 3, 5], [5]])
    f.node("matmul-tall", "MatMul", [[300, 7]], constants=[f.array(7, 3)])


def whole(f):
    f.network("unet2d-plain", networks.PlainUNet(2, 1, 3, [6, 10, 16]), [[1, 1, 24, 32]])
    f.network("unet3d-plain", networks.PlainUNet(3, 1, 3, [6, 10, 16]), [[1, 1, 12, 16, 16]])
    f.network("unet3d-plain-two-channels", networks.PlainUNet(3, 2, 4, [5, 8]), [[1, 2, 8, 6, 10]], opset=13)
    f.network("unet3d-anisotropic", networks.PlainUNet(3, 1, 2, [6, 10, 12], flat=1), [[1, 1, 6, 16, 16]])
    f.network("unet2d-residual", networks.ResidualUNet(2, 2, 3, [6, 10, 16]), [[1, 2, 24, 16]])
    f.network("unet3d-residual", networks.ResidualUNet(3, 1, 3, [6, 10, 14]), [[1, 1, 12, 8, 16]])
    f.network(
        "unet3d-open-shape",
        networks.PlainUNet(3, 1, 2, [4, 8]),
        [[1, 1, 8, 12, 8]],
        dynamic={"x0": {0: "n", 2: "d", 3: "h", 4: "w"}, "y": {0: "n", 2: "d", 3: "h", 4: "w"}},
    )
    f.network("unet2d-batchnorm-resize", networks.ResizeUNet(), [[1, 3, 16, 24]])
    f.network("unet2d-groupnorm", networks.GroupNormNet(), [[1, 3, 12, 10]])
    f.network(
        "classifier-efficient",
        networks.EfficientClassifier(7),
        [[1, 3, 48, 40], [1, 7]],
        dynamic={"x0": {0: "n"}, "x1": {0: "n"}, "y": {0: "n"}},
    )


def main():
    fixtures = Fixtures(sys.argv[1])
    for part in (windows, normalisations, elementwise, shapes, resizes, products, whole):
        part(fixtures)
    fixtures.save()
    size = sum(os.path.getsize(os.path.join(fixtures.folder, n)) for n in os.listdir(fixtures.folder))
    print(f"{len(fixtures.index)} cases, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
