"""An EfficientNet-like classifier of a picture with a person's data, small and fast, and its Grad-CAM as a graph.

The last maps are averaged and joined with the embedded data; a hidden layer leads to the classes. For this head the
gradient of a class with respect to the last maps is known in closed form, so that the attention map needs no autograd.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

SIZE = 380
MAPS = 160
# Expansion, output channels, repeats, stride, kernel. The halving and the stem reduce 380 to 48 before.
STAGES = [(2, 24, 1, 1, 3), (4, 40, 2, 2, 5), (4, 80, 2, 2, 3), (4, 112, 1, 1, 5)]


class Squeeze(nn.Module):
    """Weights channels by the content of the whole picture."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.reduce, self.expand = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)

    def forward(self, maps: Tensor) -> Tensor:
        inner = nn.functional.silu(self.reduce(nn.functional.adaptive_avg_pool2d(maps, 1)))
        return maps * torch.sigmoid(self.expand(inner))


class Inverted(nn.Module):
    """MBConv: expand, depthwise, squeeze, project; added to its input where the shapes are equal."""

    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int, kernel: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.body = nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU(),
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
            nn.BatchNorm2d(wide), nn.SiLU(),
            Squeeze(wide, max(4, inputs // 4)),
            nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.adds = stride == 1 and inputs == outputs

    def forward(self, maps: Tensor) -> Tensor:
        result = self.body(maps)
        return maps + result if self.adds else result


class Head(nn.Module):
    """Means of the maps and a person's data -> classes."""

    def __init__(self, classes: int, sites: int, embedded: int = 24, hidden: int = 96) -> None:
        super().__init__()
        self.register_buffer("sexes", torch.arange(3.0)[None])
        self.register_buffer("sites", torch.arange(float(sites))[None])
        self.embed = nn.Linear(2 + 3 + sites, embedded)
        self.hidden = nn.Linear(MAPS + embedded, hidden)
        self.output = nn.Linear(hidden, classes)

    def embedding(self, metadata: Tensor) -> Tensor:
        """The vector (N, 4): age, age missing, sex index, site index; the indices become one-hot."""
        age, sex, site = metadata[:, :2], metadata[:, 2:3], metadata[:, 3:4]
        one_hot = torch.cat(
            [age, torch.relu(1 - (sex - self.sexes).abs()), torch.relu(1 - (site - self.sites).abs())], 1
        )
        return nn.functional.silu(self.embed(one_hot))

    def before(self, pooled: Tensor, metadata: Tensor) -> Tensor:
        """The hidden layer before its SiLU."""
        return self.hidden(torch.cat([pooled, self.embedding(metadata)], 1))

    def forward(self, pooled: Tensor, metadata: Tensor) -> Tensor:
        return self.output(nn.functional.silu(self.before(pooled, metadata)))


class SkinNet(nn.Module):
    """(N, 3, 380, 380) normalised picture and (N, 4) data -> logits (N, classes) and the last maps (N, 160, 12, 12)."""

    def __init__(self, classes: int, sites: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, 24, 7, 4, 3, bias=False), nn.BatchNorm2d(24), nn.SiLU()]
        inputs = 24
        for expansion, outputs, repeats, stride, kernel in STAGES:
            for index in range(repeats):
                layers.append(Inverted(inputs, outputs, expansion, stride if index == 0 else 1, kernel))
                inputs = outputs
        layers += [nn.Conv2d(inputs, MAPS, 1, bias=False), nn.BatchNorm2d(MAPS), nn.SiLU()]
        self.trunk = nn.Sequential(*layers)
        self.head = Head(classes, sites)

    def forward(self, image: Tensor, metadata: Tensor) -> tuple[Tensor, Tensor]:
        return self.halved(nn.functional.avg_pool2d(image, 2), metadata)

    def halved(self, image: Tensor, metadata: Tensor) -> tuple[Tensor, Tensor]:
        """The same for a picture whose pixels are means of 2 x 2: what is trained on, at a quarter of the cost."""
        features = self.trunk(image)
        return self.head(features.mean(dim=(2, 3)), metadata), features


class Attention(nn.Module):
    """Grad-CAM of `SkinNet`: last maps, data and a one-hot class (N, classes) -> map (N, h, w).

    d logit / d pooled = W1' (silu'(z) * W2[class]), where z is the hidden layer before its SiLU and W1 its part for the
    maps; each place of a map contributes 1 / (h w) of it.
    """

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor, metadata: Tensor, target: Tensor) -> Tensor:
        inner = self.head.before(features.mean(dim=(2, 3)), metadata)
        gate = torch.sigmoid(inner)
        slope = gate * (1 + inner * (1 - gate))
        weights = (target @ self.head.output.weight * slope) @ self.head.hidden.weight[:, :MAPS]
        places = features.shape[2] * features.shape[3]
        return torch.relu((features * weights[:, :, None, None]).sum(dim=1) / places)


def gradient_attention(network: SkinNet, features: Tensor, metadata: Tensor, index: int) -> Tensor:
    """The same for one class by autograd, before the ReLU: the reference."""
    features = features.detach().clone().requires_grad_()
    network.head(features.mean(dim=(2, 3)), metadata)[:, index].sum().backward()
    weights = features.grad.mean(dim=(2, 3), keepdim=True)
    return (features * weights).sum(dim=1).detach()
