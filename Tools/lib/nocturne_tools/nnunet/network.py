"""nnU-Net's networks: built by its own code, loaded strictly, exported to ONNX and compared with the export."""

from __future__ import annotations

import contextlib
import io
import warnings
from copy import deepcopy

from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer
from nnunetv2.utilities.get_network_from_plans import get_network_from_plans
from nnunetv2.utilities.plans_handling.plans_handler import ConfigurationManager, PlansManager
from torch import nn

from nocturne_tools.onnx_export import LARGEST_DIFFERENCE, compare, export

from .folder import Checkpoint
from .refusal import Refusal, listed
from .settings import Configuration

__all__ = ["LARGEST_DIFFERENCE", "build", "compare", "export", "load", "pretraining_advice", "trainer_note"]

KNOWN_NETWORKS = ("PlainConvUNet", "ResidualEncoderUNet")
NETWORK_MODULES = ("dynamic_network_architectures", "architectures")  # the module below it was renamed once
KNOWN_PARTS = ("Conv2d", "Conv3d", "InstanceNorm2d", "InstanceNorm3d", "BatchNorm2d", "BatchNorm3d", "LeakyReLU")
KNOWN_PARTS += ("ReLU", "Dropout", "Dropout2d", "Dropout3d")
# Modules of torch.nn that have them: of old plans.
KNOWN_PLACES = ([], *(["modules", name] for name in ("conv", "instancenorm", "batchnorm", "activation", "dropout")))
# nnU-Net's trainers whose networks differ from the plans.
BATCH_NORM_TRAINERS = ("nnUNetTrainerBN",)
PRIMUS_TRAINERS = "nnunetv2.training.nnUNetTrainer.primus."  # these build networks of their own; the module's name
PRIMUS_STEP = 8  # voxels of a token along each axis


def build(configuration: Configuration, trainer: str, inputs: int, outputs: int) -> nn.Module:
    """The network of a configuration, without deep supervision, with random weights."""
    if "primus" in trainer.lower():
        return _build_primus(configuration, trainer, inputs, outputs)
    values = deepcopy(configuration.values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old plans
            architecture = ConfigurationManager(values).configuration["architecture"]
        name, arguments = architecture["network_class_name"], dict(architecture["arch_kwargs"])
    except KeyError as error:
        raise configuration.refusal(f"neither architecture nor all of the old keys: {error} is missing") from None
    except RuntimeError as error:
        raise configuration.refusal(f"unknown network ({error})") from None
    # nnU-Net imports these names: each has to be one of a list, whole, and none is imported as the file has it.
    words = str(name).split(".")
    if len(words) != 4 or (*words[:2],) != NETWORK_MODULES or words[-1] not in KNOWN_NETWORKS:
        advice = pretraining_advice(configuration, trainer)
        raise configuration.refusal(f"unknown network class {name}; known: {listed(KNOWN_NETWORKS)}{advice}")
    name = ".".join((*NETWORK_MODULES, "unet", words[-1]))
    required = list(architecture.get("_kw_requires_import", ["conv_op", "norm_op", "dropout_op", "nonlin"]))
    for key in required:
        part = arguments.get(key)
        if part is None:
            continue
        words = str(part).split(".")
        if words[:2] != ["torch", "nn"] or words[-1] not in KNOWN_PARTS or words[2:-1] not in KNOWN_PLACES:
            raise configuration.refusal(f"unknown {key} {part} of {name}; known: {listed(KNOWN_PARTS)}")
        arguments[key] = f"torch.nn.{words[-1]}"
    if trainer in BATCH_NORM_TRAINERS:
        arguments["norm_op"] = f"torch.nn.BatchNorm{len(configuration.patch)}d"
        arguments["norm_op_kwargs"] = {"eps": 1e-5, "affine": True}
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about classes that were moved
            network = get_network_from_plans(name, arguments, required, inputs, outputs, False, False)
    except Exception as error:  # the constructors' own checks are assertions
        raise configuration.refusal(f"{name} cannot be built ({type(error).__name__}: {error})") from None
    return network.eval()


def _build_primus(configuration: Configuration, trainer: str, inputs: int, outputs: int) -> nn.Module:
    """The network of one of nnU-Net's trainers for Primus, which take only the patch size from the plans."""
    trainers = {known.__name__: known for known in _trainers(nnUNetTrainer) if known.__module__.startswith(PRIMUS_TRAINERS)}
    if trainer not in trainers:
        names = listed(sorted(name for name in trainers if not name.startswith("Abstract")))
        fact = f"unknown network: trainer {trainer}; those of the installed nnU-Net for Primus: {names}"
        raise configuration.refusal(fact + pretraining_advice(configuration, trainer))
    if any(side % PRIMUS_STEP for side in configuration.patch):
        raise configuration.refusal(f"patch_size {configuration.patch}; Primus takes multiples of {PRIMUS_STEP}")
    values = ConfigurationManager(deepcopy(configuration.values))
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            network = trainers[trainer].build_network_architecture(
                PlansManager(configuration.plans), values, inputs, outputs, False
            )
    except Exception as error:  # the constructors' own checks are assertions
        raise configuration.refusal(f"the network of {trainer} cannot be built ({type(error).__name__}: {error})") from None
    return network.eval()


def pretraining_advice(configuration: Configuration, trainer: str) -> str:
    """What a refusal adds for trainers that begin with pretrained weights, which are in forks of nnU-Net: plans have a block
    `pretrain_info`. Empty for others."""
    if not configuration.plans.get("pretrain_info") and "pretrained" not in trainer.lower():
        return ""
    name = f"trainer {trainer}" if trainer else "training"
    return (
        f". The {name} begins with pretrained weights; exported is only the network that the plans describe. Otherwise predict with "
        "the fork of nnU-Net that trained it"
    )


def trainer_note(trainer: str) -> str | None:
    """A note for a trainer that is not nnU-Net's own: its network is assumed to be that of the plans."""
    if trainer in {known.__name__ for known in _trainers(nnUNetTrainer)}:
        return None
    return f"trainer {trainer or '(unnamed)'} is not nnU-Net's own; its weights fit the network of the plans"


def _trainers(base: type) -> list[type]:
    from nnunetv2.utilities.find_objects import recursive_find_trainer_class_by_name

    with contextlib.suppress(Exception):
        recursive_find_trainer_class_by_name("none of them")  # imports every module of trainers
    found, waiting = [base], [base]
    while waiting:
        below = waiting.pop().__subclasses__()
        found += below
        waiting += below
    return found


def load(network: nn.Module, checkpoint: Checkpoint, advice: str = "") -> None:
    """Loads the weights; every name and shape must fit. A refusal ends with `advice`."""
    own, given = network.state_dict(), checkpoint.weights
    missing, unknown = [k for k in own if k not in given], [k for k in given if k not in own]
    if missing or unknown:
        fact = f"weights missing: {listed(missing) or 'none'}; unexpected weights: {listed(unknown) or 'none'}"
        raise Refusal(checkpoint.path, f"does not fit the network of the plans: {fact}{advice}")
    for name, value in own.items():
        if value.shape != given[name].shape:
            shapes = f"{list(given[name].shape)}, expected {list(value.shape)}"
            raise Refusal(checkpoint.path, f"does not fit the network of the plans: {name} has shape {shapes}{advice}")
    network.load_state_dict(given, strict=True)
