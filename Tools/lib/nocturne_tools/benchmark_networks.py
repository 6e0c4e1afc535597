"""The networks of Tools/benchmarks/networks.py: random weights, as their own libraries build them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn


@dataclass(frozen=True)
class Network:
    name: str
    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    """Shape of the input, with a batch of 1."""


def plain_unet() -> nn.Module:
    from dynamic_network_architectures.architectures.unet import PlainConvUNet

    return PlainConvUNet(1, 5, (32, 64, 128, 256, 320), nn.Conv3d, 3, (1, 2, 2, 2, 2), 2, 3, 2, **nnunet_layers())


def nnunet_layers() -> dict:
    return {
        "conv_bias": True,
        "norm_op": nn.InstanceNorm3d,
        "norm_op_kwargs": {"eps": 1e-5, "affine": True},
        "nonlin": nn.LeakyReLU,
        "nonlin_kwargs": {"inplace": True},
    }


def residual_unet(stages: int, blocks: tuple[int, ...]) -> nn.Module:
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet

    features = (32, 64, 128, 256, 320, 320)[:stages]
    strides = (1,) + (2,) * (stages - 1)
    decoder = (1,) * (stages - 1)
    return ResidualEncoderUNet(
        1, stages, features, nn.Conv3d, 3, strides, blocks[:stages], 3, decoder, **nnunet_layers()
    )


def primus(size: str, shape: tuple[int, int, int]) -> nn.Module:
    from dynamic_network_architectures.architectures import primus as module

    width, depth, heads = {"S": (396, 12, 6), "M": (864, 16, 12)}[size]
    return module.Primus(1, width, (8, 8, 8), 3, depth, heads, input_shape=shape, init_values=0.1)


def monai(name: str, *arguments: object, **options: object) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import monai.networks.nets as nets

        return getattr(nets, name)(*arguments, **options)

    return build


def timm(name: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import timm as library

        # Without this, attention is one fused call, which the TorchScript exporter writes in the same operators.
        return library.create_model(name, pretrained=False, num_classes=8)

    return build


def segmentation(name: str) -> Callable[[], nn.Module]:
    """A network of torchvision; only the main output."""

    def build() -> nn.Module:
        from torchvision.models import segmentation as library

        return MainOutput(getattr(library, name)(weights=None, weights_backbone=None))

    return build


class MainOutput(nn.Module):
    """The first output of a network that has several."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.network(x)
        return result["out"] if isinstance(result, dict) else result[0]


def u2net() -> nn.Module:
    """U2-Net from the file of the package `backgroundremover`, without that package's other dependencies."""
    spec = importlib.util.find_spec("backgroundremover")
    if spec is None or spec.origin is None:
        raise ImportError("backgroundremover is not installed")
    path = Path(spec.origin).parent / "u2net" / "u2net.py"
    file = importlib.util.spec_from_file_location("u2net", path)
    assert file is not None and file.loader is not None
    module = importlib.util.module_from_spec(file)
    file.loader.exec_module(module)
    return MainOutput(module.U2NET(3, 1))


PATCH = (1, 1, 96, 96, 96)
PHOTO = (1, 3, 224, 224)

UNET = {"spatial_dims": 3, "in_channels": 1, "out_channels": 3, "channels": (16, 32, 64, 128, 256), "strides": (2,) * 4}
DYNUNET = (3, 1, 3, (3,) * 5, (1, 2, 2, 2, 2), (2,) * 4)

NETWORKS = (
    Network("nnU-Net plain", plain_unet, PATCH),
    Network("nnU-Net ResEnc M", lambda: residual_unet(6, (1, 3, 4, 6, 6, 6)), PATCH),
    Network("nnU-Net ResEnc L", lambda: residual_unet(6, (1, 3, 4, 6, 6, 6)), (1, 1, 128, 128, 128)),
    Network("nnU-Net Primus S, 96³", lambda: primus("S", (96, 96, 96)), PATCH),
    Network("nnU-Net Primus M, 96³", lambda: primus("M", (96, 96, 96)), PATCH),
    Network("nnU-Net Primus S, 160³", lambda: primus("S", (160, 160, 160)), (1, 1, 160, 160, 160)),
    Network("MONAI UNet", monai("UNet", **UNET, num_res_units=2), PATCH),
    Network("MONAI DynUNet", monai("DynUNet", *DYNUNET, res_block=True), PATCH),
    Network("MONAI SegResNet", monai("SegResNet", 3, 16, in_channels=1, out_channels=3), PATCH),
    Network("MONAI SwinUNETR", monai("SwinUNETR", 1, 3, feature_size=24), PATCH),
    Network("MONAI UNETR", monai("UNETR", 1, 3, (96, 96, 96)), PATCH),
    Network("MONAI VNet", monai("VNet"), PATCH),
    Network("MONAI AttentionUnet", monai("AttentionUnet", 3, 1, 3, (16, 32, 64, 128), (2, 2, 2)), PATCH),
    Network("MONAI MedNeXt S", monai("MedNeXtS", in_channels=1, out_channels=3), (1, 1, 64, 64, 64)),
    Network("timm EfficientNet B0", timm("efficientnet_b0"), PHOTO),
    Network("timm ResNet 50", timm("resnet50"), PHOTO),
    Network("timm BiT ResNetV2 50", timm("resnetv2_50x1_bit"), PHOTO),
    Network("timm ConvNeXt tiny", timm("convnext_tiny"), PHOTO),
    Network("timm ConvNeXtV2 tiny", timm("convnextv2_tiny"), PHOTO),
    Network("timm ViT B/16", timm("vit_base_patch16_224"), PHOTO),
    Network("timm EVA02 small", timm("eva02_small_patch14_224"), PHOTO),
    Network("timm DINOv2 ViT S/14", timm("vit_small_patch14_dinov2"), (1, 3, 518, 518)),
    Network("timm Swin tiny", timm("swin_tiny_patch4_window7_224"), PHOTO),
    Network("timm SwinV2 tiny", timm("swinv2_tiny_window8_256"), (1, 3, 256, 256)),
    Network("timm MaxViT tiny", timm("maxvit_tiny_tf_224"), PHOTO),
    Network("timm MobileNetV3 large", timm("mobilenetv3_large_100"), PHOTO),
    Network("timm MobileNetV4 small", timm("mobilenetv4_conv_small"), PHOTO),
    Network("timm DenseNet 121", timm("densenet121"), PHOTO),
    Network("torchvision DeepLabV3 ResNet 50", segmentation("deeplabv3_resnet50"), PHOTO),
    Network("torchvision LR-ASPP", segmentation("lraspp_mobilenet_v3_large"), PHOTO),
    Network("torchvision FCN ResNet 50", segmentation("fcn_resnet50"), PHOTO),
    Network("U2-Net", u2net, (1, 3, 320, 320)),
)


def export(network: Network, path: Path, exporter: str) -> None:
    """Writes a network as one ONNX file: `torchscript` at operator set 17, `dynamo` at 20."""
    torch.manual_seed(1)
    module = network.build().eval()
    if hasattr(module, "decoder") and hasattr(module.decoder, "deep_supervision"):
        module.decoder.deep_supervision = False
    randomise(module)
    example = torch.randn(network.shape, generator=torch.Generator().manual_seed(2))
    options = {"input_names": ["x"], "output_names": ["y"]}
    with torch.inference_mode():
        if exporter == "torchscript":
            torch.onnx.export(module, (example,), path, opset_version=17, dynamo=False, **options)
        else:
            torch.onnx.export(
                module, (example,), path, opset_version=20, dynamo=True, external_data=False, verbose=False, **options
            )


def randomise(module: nn.Module) -> None:
    """Makes statistics and scales random, so that no normalisation is the identity."""
    generator = torch.Generator().manual_seed(3)
    for part in module.modules():
        if getattr(part, "running_var", None) is not None:
            part.running_var.uniform_(0.5, 1.5, generator=generator)
            part.running_mean.normal_(0, 0.2, generator=generator)
        if "Norm" in type(part).__name__ and isinstance(getattr(part, "weight", None), nn.Parameter):
            part.weight.data.uniform_(0.5, 1.5, generator=generator)
