"""Whole networks in float64: what the engine's precisions are measured against.

    python make_float64_fixtures.py [--folder ../Tests/Fixtures/ONNX]

Reads networks and inputs that make_onnx_fixtures.py wrote, computes each network operator by operator with PyTorch in
float64, and writes the outputs to float64.bin and where they are to float64.json beside them. `evaluate` takes any ONNX
network of these operators. Needs torch and onnx (see requirements.txt). The same bytes come out every time.
"""

import argparse
import json
import os

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional

NETWORKS = [
    "unet2d-plain",
    "unet3d-plain",
    "unet3d-plain-two-channels",
    "unet3d-anisotropic",
    "unet2d-residual",
    "unet3d-residual",
]
CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


def convolve(kind: str, given: list[torch.Tensor], a: dict) -> torch.Tensor:
    rank = given[0].dim() - 2
    pads = list(a.get("pads", [0] * 2 * rank))
    if pads[:rank] != pads[rank:]:
        raise ValueError(f"{kind} pads one side more than the other")
    bias = given[2] if len(given) > 2 else None
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    if kind == "Conv":
        return CONVOLUTIONS[rank](given[0], given[1], bias, strides, pads[:rank], dilations, a.get("group", 1))
    extra = a.get("output_padding", [0] * rank)
    return TRANSPOSED[rank](given[0], given[1], bias, strides, pads[:rank], extra, a.get("group", 1), dilations)


def compute(node: onnx.NodeProto, given: list[torch.Tensor]) -> torch.Tensor:
    a = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    kind = node.op_type
    if kind in ("Conv", "ConvTranspose"):
        return convolve(kind, given, a)
    if kind == "InstanceNormalization":
        return functional.instance_norm(given[0], weight=given[1], bias=given[2], eps=a.get("epsilon", 1e-5))
    if kind == "LeakyRelu":
        return functional.leaky_relu(given[0], a.get("alpha", 0.01))
    if kind == "AveragePool":
        rank = given[0].dim() - 2
        if any(a.get("pads", [])):
            raise ValueError("AveragePool pads")
        pool = {2: functional.avg_pool2d, 3: functional.avg_pool3d}[rank]
        return pool(given[0], list(a["kernel_shape"]), list(a.get("strides", [1] * rank)))
    if kind == "Concat":
        return torch.cat(given, a["axis"])
    if kind == "Add":
        return given[0] + given[1]
    if kind == "Identity":
        return given[0]
    raise ValueError(f"{kind} is not among the operators of this tool")


def evaluate(path: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The first output of a network for some inputs, in float64."""
    graph = onnx.load(path).graph
    values = {i.name: torch.tensor(numpy_helper.to_array(i).astype(np.float64)) for i in graph.initializer}
    values |= {name: torch.tensor(array.astype(np.float64)) for name, array in inputs.items()}
    with torch.inference_mode():
        for node in graph.node:
            values[node.output[0]] = compute(node, [values[name] for name in node.input])
    return values[graph.output[0].name].numpy()


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(here, "..", "Tests", "Fixtures", "ONNX"))
    folder = parser.parse_args().folder
    # One thread, so that sums have one order.
    torch.set_num_threads(1)
    with open(os.path.join(folder, "index.json")) as file:
        cases = {case["name"]: case for case in json.load(file)}
    stored = np.fromfile(os.path.join(folder, "values.bin"), "<f4")
    index, results, offset = [], [], 0
    for name in NETWORKS:
        inputs = {}
        for entry in cases[name]["inputs"]:
            count = int(np.prod(entry["shape"]))
            inputs[entry["name"]] = stored[entry["offset"] : entry["offset"] + count].reshape(entry["shape"])
        result = evaluate(os.path.join(folder, name + ".onnx"), inputs)
        index.append({"name": name, "shape": list(result.shape), "offset": offset})
        results.append(result.ravel())
        offset += result.size
    np.concatenate(results).astype("<f8").tofile(os.path.join(folder, "float64.bin"))
    with open(os.path.join(folder, "float64.json"), "w") as file:
        json.dump(index, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
