"""Small networks of the kinds that users bring, for make_onnx_fixtures.py and the benchmark.

PlainUNet and ResidualUNet follow nnU-Net v2's PlainConvUNet and ResidualEncoderUNet: convolution, affine instance
normalisation (1e-5), leaky ReLU (0.01); two convolutions per stage, stride at the start of a stage, transposed convolutions
with kernel = stride going up, skips after the upsampled channels.
"""

import torch
from torch import nn


def kind(name, rank):
    return getattr(nn, f"{name}{rank}d")


def randomise(module):
    """Makes scales, shifts and running statistics random, so that no normalisation is an identity in a test."""
    for part in module.modules():
        if hasattr(part, "running_var"):
            if part.running_var is not None:
                part.running_var.uniform_(0.5, 1.5)
                part.running_mean.normal_(0, 0.2)
        if isinstance(part, (nn.BatchNorm2d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.GroupNorm)):
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, 0, 0.2)


class ConvNorm(nn.Sequential):
    def __init__(self, rank, cin, cout, stride=1, kernel=3, active=True):
        kernel = [kernel] * rank if isinstance(kernel, int) else kernel
        parts = [
            kind("Conv", rank)(cin, cout, kernel, stride, [k // 2 for k in kernel]),
            kind("InstanceNorm", rank)(cout, affine=True),
        ]
        if active:
            parts.append(nn.LeakyReLU(0.01, inplace=True))
        super().__init__(*parts)


class UNet(nn.Module):
    """Decoder and skips; subclasses provide the encoder's stages."""

    def __init__(self, rank, classes, features, encoder, strides, kernels):
        super().__init__()
        self.encoder = encoder
        self.up = nn.ModuleList()
        self.decoder = nn.ModuleList()
        for level in range(len(features) - 2, -1, -1):
            up = strides[level + 1]
            self.up.append(kind("ConvTranspose", rank)(features[level + 1], features[level], up, up))
            self.decoder.append(
                nn.Sequential(
                    ConvNorm(rank, 2 * features[level], features[level], kernel=kernels[level]),
                    ConvNorm(rank, features[level], features[level], kernel=kernels[level]),
                )
            )
        self.head = kind("Conv", rank)(features[0], classes, 1)

    def forward(self, x):
        skips = []
        for stage in self.encoder:
            x = stage(x)
            skips.append(x)
        skips.pop()
        for up, stage in zip(self.up, self.decoder):
            x = stage(torch.cat((up(x), skips.pop()), 1))
        return self.head(x)


class PlainUNet(UNet):
    """`flat` stages at the top work slice by slice, as nnU-Net does for thick slices."""

    def __init__(self, rank, channels, classes, features, flat=0):
        kernels = [[1] + [3] * (rank - 1) if level < flat else [3] * rank for level in range(len(features))]
        strides = [[1] * rank]
        for level in range(1, len(features)):
            strides.append([1] + [2] * (rank - 1) if level <= flat else [2] * rank)
        stages = nn.ModuleList()
        for level, count in enumerate(features):
            stages.append(
                nn.Sequential(
                    ConvNorm(rank, channels, count, strides[level], kernels[level]),
                    ConvNorm(rank, count, count, kernel=kernels[level]),
                )
            )
            channels = count
        super().__init__(rank, classes, features, stages, strides, kernels)


class ResidualBlock(nn.Module):
    def __init__(self, rank, cin, cout, stride):
        super().__init__()
        self.first = ConvNorm(rank, cin, cout, stride)
        self.second = ConvNorm(rank, cout, cout, active=False)
        skip = []
        if stride != 1:
            skip.append(kind("AvgPool", rank)(stride, stride))
        if cin != cout:
            skip.append(
                nn.Sequential(
                    kind("Conv", rank)(cin, cout, 1, bias=False), kind("InstanceNorm", rank)(cout, affine=True)
                )
            )
        self.skip = nn.Sequential(*skip)
        self.active = nn.LeakyReLU(0.01, inplace=True)

    def forward(self, x):
        return self.active(self.second(self.first(x)) + self.skip(x))


class ResidualUNet(UNet):
    def __init__(self, rank, channels, classes, features):
        stages = nn.ModuleList()
        for level, count in enumerate(features):
            stage = [ConvNorm(rank, channels, count)] if level == 0 else []
            stage.append(ResidualBlock(rank, count if level == 0 else channels, count, 1 if level == 0 else 2))
            stage.append(ResidualBlock(rank, count, count, 1))
            stages.append(nn.Sequential(*stage))
            channels = count
        levels = range(len(features))
        super().__init__(rank, classes, features, stages, [[2] * rank for _ in levels], [[3] * rank for _ in levels])


class ResizeUNet(nn.Module):
    """Batch normalisation, pooling, bilinear upsampling, additive skip, softmax: as other libraries build them."""

    def __init__(self):
        super().__init__()
        self.top = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.low = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.PReLU(8))
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        top = self.top(x)
        low = self.low(nn.functional.max_pool2d(top, 2))
        up = nn.functional.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.softmax(self.head(top + up), 1)


class GroupNormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.GroupNorm(4, 8),
            nn.ReLU(),
            nn.Conv2d(8, 6, 3, stride=2, padding=1),
            nn.GroupNorm(2, 6),
            nn.SiLU(),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.Conv2d(6, 2, 1),
        )

    def forward(self, x):
        return self.net(x)


class InvertedBottleneck(nn.Module):
    """MBConv of EfficientNet: expand, depthwise, squeeze and excite, project."""

    def __init__(self, cin, cout, expand, kernel, stride):
        super().__init__()
        wide = cin * expand
        self.expand = nn.Sequential()
        if expand != 1:
            self.expand = nn.Sequential(nn.Conv2d(cin, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
        self.depth = nn.Sequential(
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU()
        )
        squeezed = max(1, cin // 4)
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, squeezed, 1), nn.SiLU(), nn.Conv2d(squeezed, wide, 1), nn.Sigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(wide, cout, 1, bias=False), nn.BatchNorm2d(cout))
        self.residual = stride == 1 and cin == cout

    def forward(self, x):
        y = self.depth(self.expand(x))
        y = self.project(y * self.squeeze(y))
        return x + y if self.residual else y


class EfficientClassifier(nn.Module):
    """EfficientNet-like image branch, a branch for age, sex and the like, and a head on both."""

    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.blocks = nn.Sequential(
            InvertedBottleneck(8, 8, 1, 3, 1),
            InvertedBottleneck(8, 12, 6, 3, 2),
            InvertedBottleneck(12, 12, 6, 3, 1),
            InvertedBottleneck(12, 16, 6, 5, 2),
            InvertedBottleneck(16, 16, 6, 5, 1),
        )
        self.top = nn.Sequential(
            nn.Conv2d(16, 48, 1, bias=False), nn.BatchNorm2d(48), nn.SiLU(), nn.AdaptiveAvgPool2d(1)
        )
        self.metadata = nn.Sequential(
            nn.Linear(7, 16), nn.BatchNorm1d(16), nn.SiLU(), nn.Dropout(0.3), nn.Linear(16, 8)
        )
        self.head = nn.Linear(56, classes)

    def forward(self, image, metadata):
        features = torch.flatten(self.top(self.blocks(self.stem(image))), 1)
        return self.head(torch.cat((features, self.metadata(metadata)), 1))
