"""Writes tiny packages for tests of photo classification into Tests/Fixtures/PhotoModels.

    python Tools/make_photo_test_models.py

All of them take 16 x 16 pixels of 0...1 and look at means of channels alone, so that what they give is known:

- `primary`: logits 10 x the means of red, green and blue; attention is the class's channel, in 4 x 4 cells.
- `primary-told`: the same, and the vector of metadata: 3 x age / 100 is added to red, the sex index to green.
- `probabilities`: 0.75, 0.5 and 0.25 times the means, as they are.
- `not-numbers`: logits of log(mean - 2), which is none.
- `uniform`: an attention map of ones; `broken-attention`: one that is not numbers.

The same script gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "PhotoModels"
SITES = ["anterior torso", "head/neck", "unknown"]
Info = tuple[str, list[int]]


def graph(nodes: list[NodeProto], inputs: list[Info], outputs: list[Info], **constants: list) -> bytes:
    """A checked graph; constants of whole numbers are indices."""
    infos = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in part] for part in (inputs, outputs)]
    kinds = {name: np.int64 if np.array(v).dtype.kind == "i" else np.float32 for name, v in constants.items()}
    tensors = [numpy_helper.from_array(np.array(v, kinds[name]), name) for name, v in constants.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "synthetic", infos[0], infos[1], tensors),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def node(op: str, inputs: list[str], output: str, **attributes: object) -> NodeProto:
    return helper.make_node(op, inputs, [output], name=output, **attributes)


IMAGE: Info = ("image", [1, 3, 16, 16])
OUTPUTS: list[Info] = [("logits", [1, 3]), ("features", [1, 3, 4, 4])]
MEANS = [
    node("AveragePool", ["image"], "features", kernel_shape=[4, 4], strides=[4, 4]),
    node("GlobalAveragePool", ["features"], "pooled"),
    node("Flatten", ["pooled"], "means"),
]


def classifier(*last: NodeProto, inputs: tuple[Info, ...] = (IMAGE,), **constants: list[float]) -> bytes:
    return graph([*MEANS, *last], list(inputs), OUTPUTS, **constants)


def attention(kind: str) -> bytes:
    """The channel of the target; ones; or the logarithm of less than 0."""
    nodes = [node("Unsqueeze", ["target", "axes"], "columns"), node("Mul", ["features", "columns"], "weighted")]
    nodes.append(node("ReduceSum", ["weighted", "channel"], "summed", keepdims=0))
    last = {
        "channel": [node("Relu", ["summed"], "map")],
        "ones": [node("Mul", ["summed", "zero"], "nothing"), node("Add", ["nothing", "one"], "map")],
        "broken": [node("Sub", ["summed", "two"], "less"), node("Log", ["less"], "map")],
    }[kind]
    used = {name for entry in last for name in entry.input}
    numbers = {name: [value] for name, value in (("zero", 0.0), ("one", 1.0), ("two", 2.0)) if name in used}
    inputs: list[Info] = [("features", [1, 3, 4, 4]), ("target", [1, 3])]
    return graph([*nodes, *last], inputs, [("map", [1, 4, 4])], axes=[2, 3], channel=[1], **numbers)


def write(name: str, classes: bytes, cam: bytes | None, **section: object) -> None:
    """Writes one package of the classes red, green and blue."""
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    contents = {"classifier.onnx": classes, **({"attention.onnx": cam} if cam else {})}
    files = []
    for file, content in contents.items():
        (folder / file).write_bytes(content)
        files.append({"path": file, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)})
    colors = {"red": "#D55E00", "green": "#009E73", "blue": "#0072B2"}
    manifest = {
        "schemaVersion": 2,
        "id": name,
        "name": f"Test model {name}",
        "description": "Synthetic, for tests.",
        "version": "1.0.0",
        "licence": "Apache-2.0",
        "task": "photo-classification",
        "files": files,
        "photoClassification": {
            "inputSize": 16,
            "minimumSide": 8,
            "mean": [0, 0, 0],
            "standardDeviation": [1, 1, 1],
            "colorConstancyPower": None,
            "classes": [
                {"name": k, "title": f"{k} picture", "malignant": k != "blue", "color": v} for k, v in colors.items()
            ],
            "risk": {"highClasses": ["red"], "highThreshold": 0.3, "moderateThreshold": 0.1},
            "networks": {"classifier": "classifier.onnx", "attention": "attention.onnx" if cam else None},
            **section,
        },
    }
    (folder / "model.json").write_text(json.dumps(manifest, indent=2) + "\n")


def main() -> None:
    plain = classifier(node("Mul", ["means", "ten"], "logits"), ten=[10.0])
    told = classifier(
        node("Mul", ["means", "ten"], "scaled"),
        node("MatMul", ["metadata", "effect"], "known"),
        node("Add", ["scaled", "known"], "logits"),
        inputs=(IMAGE, ("metadata", [1, 4])),
        ten=[10.0],
        effect=[[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
    )
    shares = classifier(node("Mul", ["means", "shares"], "logits"), shares=[0.75, 0.5, 0.25])
    none = classifier(node("Sub", ["means", "two"], "less"), node("Log", ["less"], "logits"), two=[2.0])
    write("primary", plain, attention("channel"))
    write("primary-told", told, attention("channel"), metadata={"sites": SITES})
    write("probabilities", shares, None, output="probabilities")
    write("not-numbers", none, None)
    write("uniform", plain, attention("ones"))
    write("broken-attention", plain, attention("broken"))


if __name__ == "__main__":
    main()
