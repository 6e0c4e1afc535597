"""The operator at the end of a network that makes probabilities of logits, which Nocturne applies itself."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import GraphProto, NodeProto

from nocturne_tools.nnunet.refusal import Refusal

ACTIVATIONS = ("Sigmoid", "Softmax")
# Operators that change the type or the shape of values, or bound them: probabilities remain probabilities.
KEEPING_VALUES = ("Cast", "Clip", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def final_activation(graph: GraphProto, output: str) -> NodeProto | None:
    """The node, if nothing but casts, bounds and changes of shape follows it."""
    makers = {name: node for node in graph.node for name in node.output}
    while node := makers.get(output):
        if node.op_type in ACTIVATIONS:
            return node
        if node.op_type not in KEEPING_VALUES:
            return None
        output = node.input[0]
    return None


def refuse_activation(file: Path, applied: str, setting: str | None = None) -> None:
    """Refuses a network whose first output ends in one, in the words of Nocturne; `applied` comes after the network.

    `setting` is the setting of the package that leaves it out.
    """
    graph = onnx.load(str(file), load_external_data=False).graph
    node = final_activation(graph, graph.output[0].name)
    if node is None:
        return
    then = "which Nocturne applies" if node.op_type == applied else f"to which Nocturne applies {applied}"
    fact = f"ends in {node.op_type}, {then}: export it without{f', or set {setting}' if setting else ''}"
    raise Refusal(Path(file.name), fact)


def without_softmax(file: Path) -> None:
    """Removes the softmax that makes the only output of a network; the output keeps its name."""
    model = onnx.load(str(file))
    graph, name = model.graph, model.graph.output[0].name
    node = final_activation(graph, name)
    if len(graph.output) != 1 or node is None or node.op_type != "Softmax" or node.output[0] != name:
        raise Refusal(file, "does not end in one Softmax")
    logits = node.input[0]
    graph.node.remove(node)
    for other in graph.node:
        other.input[:] = [name if one == logits else one for one in other.input]
        other.output[:] = [name if one == logits else one for one in other.output]
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(file))
