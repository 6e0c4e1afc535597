"""Writes cases for the engine's tests: ONNX files with inputs and ONNX Runtime's outputs."""

import json
import os

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto, helper, numpy_helper

from nocturne_tools.onnx_fixtures.networks import randomise

ort.set_default_logger_severity(3)


class Fixtures:
    """Collects cases: models, inputs, and ONNX Runtime's outputs. Inputs and weights are drawn in the order of the calls."""

    def __init__(self, folder):
        self.folder = folder
        self.values = []
        self.count = 0
        self.index = []
        self.random = np.random.default_rng(20261121)
        torch.manual_seed(20261121)  # for the first network; later ones follow from the seed of the one before
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):
            if name.endswith((".onnx", ".bin", ".json")):
                os.remove(os.path.join(folder, name))

    def array(self, *shape):
        """Normally distributed values; every call advances the generator."""
        return self.random.standard_normal(shape).astype(np.float32)

    def place(self, name, array):
        """Appends a tensor to the values; its entry of the index."""
        array = np.ascontiguousarray(array, dtype=np.float32)
        entry = {"name": name, "shape": list(array.shape), "offset": self.count}
        self.values.append(array.reshape(-1))
        self.count += array.size
        return entry

    def add(self, name, model, inputs):
        """Runs a model and keeps it with its inputs and outputs."""
        options = ort.SessionOptions()
        # Without fusion, so that the reference is the plain meaning of the graph.
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
        """One operator: inputs x0, x1, … of the given shapes, then constants (None leaves one out)."""
        inputs = [f"x{i}" for i in range(len(shapes))]
        inputs += ["" if c is None else f"c{i}" for i, c in enumerate(constants)]
        given = {f"c{i}": c for i, c in enumerate(constants) if c is not None}
        self.graph(name, [helper.make_node(op, inputs, ["y"], **attributes)], shapes, given, opset)

    def graph(self, name, nodes, shapes, constants, opset=17, outputs=("y",)):
        """Some operators: inputs x0, x1, … of the given shapes, and named constants."""
        inputs = {f"x{i}": self.array(*shape) for i, shape in enumerate(shapes)}
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
        """A PyTorch module, exported as users do."""
        torch.manual_seed(len(self.index))
        randomise(module)
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
    """A constant of int64."""
    return np.array(values, dtype=np.int64)
