"""Trains the demonstration model `book-spines` on synthetic shelves and writes its package.

    python Tools/train/train_book_spines.py                 # draws, trains, then exports
    python Tools/train/train_book_spines.py --export-only   # exports the last checkpoint again
    python Tools/train/train_book_spines.py --start Samples/Models/book-spines/network.onnx --rate 1e-3 --round 4

A small U-Net whose outputs are foreground, boundary and centre maps of a picture with a long side of 1152 pixels. Inside it
works at half that size and, at its lowest level, at a 64th. Every shelf is drawn from a seed (`nocturne_tools/shelves`), some
with a long side of 640 pixels, in which more of a shelf fits into a crop, others with 1024, and so are pictures without books
(`others.py`); no photo was used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.shelves.maps import target_maps
from nocturne_tools.shelves.others import draw_other
from nocturne_tools.shelves.package import DEVIATION, MEAN, write_book_spines
from nocturne_tools.shelves.picture import draw_shelf

FEATURES = (16, 32, 48, 72, 96, 128)
FIRST_SEED = 100_000  # samples and evaluation use other seeds
FIRST_LARGE_SEED = 300_000
LARGE = 1.6  # 1024 pixels on the long side instead of 640
FEW = 24  # shelves with more books are drawn from less often: nobody counts them


class Block(nn.Sequential):
    """Twice convolution, batch normalisation and ReLU; the first convolution may stride."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        layers: list[nn.Module] = []
        for channels, step in ((inputs, stride), (outputs, 1)):
            layers += [nn.Conv2d(channels, outputs, 3, step, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        super().__init__(*layers)


class SpineNet(nn.Module):
    """(batch, 3, y, x) normalised RGB -> (batch, 3, y, x) logits of foreground, boundary and centre.

    y and x are multiples of 64.
    """

    def __init__(self, features: tuple[int, ...] = FEATURES) -> None:
        super().__init__()
        pairs = list(zip(features, features[1:]))
        self.stem = nn.Sequential(nn.Conv2d(3, features[0], 5, 2, 2, bias=False), nn.BatchNorm2d(features[0]), nn.ReLU())
        self.first = Block(features[0], features[0])
        self.down = nn.ModuleList([Block(a, b, 2) for a, b in pairs])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in pairs])
        self.merge = nn.ModuleList([Block(2 * a, a) for a, _ in pairs])
        self.head = nn.ConvTranspose2d(features[0], 3, 2, 2)

    def forward(self, image: Tensor) -> Tensor:
        image = self.first(self.stem(image))
        skips = []
        for block in self.down:
            skips.append(image)
            image = block(image)
        for level in reversed(range(len(self.up))):
            image = self.merge[level](torch.cat([self.up[level](image), skips[level]], dim=1))
        return self.head(image)


class Maps(nn.Module):
    """The network as it is exported: probabilities instead of logits."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: Tensor) -> Tensor:
        return torch.sigmoid(self.network(image))


def load_network(model: SpineNet, path: Path, samples: Tensor) -> None:
    """Loads weights of a checkpoint, or of an exported network, whose normalisations are part of its convolutions: there
    each normalisation gets the statistics of its input on the samples, and the scale and shift that keep its output."""
    if path.suffix != ".onnx":
        model.load_state_dict(torch.load(path, weights_only=True))
        return
    graph = onnx.load(path).graph
    values = {v.name: torch.from_numpy(numpy_helper.to_array(v).copy()) for v in graph.initializer}
    for name, module in model.named_modules():
        if isinstance(module, nn.ConvTranspose2d):
            module.load_state_dict({part: values[f"network.{name}.{part}"] for part in ("weight", "bias")})
    folded = [(values[node.input[1]], values[node.input[2]]) for node in graph.node if node.op_type == "Conv"]
    blocks = [model.stem, model.first, *model.down, *reversed(model.merge)]
    layers = [layer for block in blocks for layer in block]
    convolutions = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    normalisations = [layer for layer in layers if isinstance(layer, nn.BatchNorm2d)]

    def settle(layer: nn.BatchNorm2d, inputs: tuple[Tensor]) -> None:
        mean, variance = inputs[0].mean((0, 2, 3)), inputs[0].var((0, 2, 3))
        layer.running_mean.copy_(mean)
        layer.running_var.copy_(variance)
        layer.bias.copy_(layer.bias + mean)
        layer.weight.copy_((variance + layer.eps).sqrt())

    hooks = [layer.register_forward_pre_hook(settle) for layer in normalisations]
    model.eval()
    with torch.no_grad():
        for convolution, normalisation, (weight, bias) in zip(convolutions, normalisations, folded, strict=True):
            convolution.weight.copy_(weight)
            normalisation.bias.copy_(bias)
        model(samples)
    for hook in hooks:
        hook.remove()
    model.train()


def books_of(seed: int) -> int:
    """How many books a training shelf has: from none to fifty, mostly few enough to be well visible."""
    rng = np.random.default_rng([0xB00C, seed])
    kind = rng.random()
    if kind < 0.03:
        return 0
    if kind < 0.15:
        return 1
    return int(rng.integers(2, 13)) if kind < 0.55 else int(rng.integers(10, 27)) if kind < 0.87 else int(rng.integers(25, 51))


def save_shelf(path: Path, scale: float = 1.0) -> None:
    """Draws the shelf whose seed is the name of the file: (y, x, 5), the picture and its packed maps."""
    shelf = draw_shelf(int(path.stem), books_of(int(path.stem)), scale)
    np.save(path, np.concatenate([shelf.image, packed(shelf.instances)], axis=-1))


def save_other(path: Path) -> None:
    """Draws the picture without books whose seed is the name of the file, in the same form."""
    image = draw_other(int(path.stem), round(640 * LARGE))
    np.save(path, np.concatenate([image, np.zeros((*image.shape[:2], 2), np.uint8)], axis=-1))


def packed(instances: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(y, x, 2): the centre map in 0...255; bits of foreground (1), boundary (2) and boundary between two books (4)."""
    foreground, boundary, centre = target_maps(instances)
    touching = np.zeros(instances.shape, bool)
    for a, b, near, far in (
        (instances[:, :-1], instances[:, 1:], touching[:, :-1], touching[:, 1:]),
        (instances[:-1], instances[1:], touching[:-1], touching[1:]),
    ):
        both = (a != b) & (a > 0) & (b > 0)
        near |= both
        far |= both
    touching = ndimage.binary_dilation(touching, iterations=2)
    bits = foreground.astype(np.uint8) + 2 * boundary.astype(np.uint8) + 4 * touching.astype(np.uint8)
    return np.stack([np.round(centre * 255).astype(np.uint8), bits], axis=-1)


def training_crop(sample: NDArray[np.uint8], crop: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """A square of `crop` pixels, mirrored half of the time, with changed colours; pixels outside the picture are 0."""
    side = [min(crop, n) for n in sample.shape[:2]]
    y, x = (int(rng.integers(0, n - s + 1)) for n, s in zip(sample.shape[:2], side))
    window = np.array(sample[y : y + side[0], x : x + side[1]])
    if rng.random() < 0.5:
        window = window[:, ::-1]
    patch, target = window[..., :3], window[..., 3:]
    deviation = np.array(DEVIATION, np.float32)
    gain = rng.uniform(0.8, 1.2, 3).astype(np.float32) / 255 / deviation
    patch = patch[..., rng.permutation(3)] * gain - np.array(MEAN, np.float32) / deviation
    full, wanted = np.zeros((crop, crop, 3), np.float32), np.zeros((crop, crop, 2), np.uint8)
    full[: side[0], : side[1]] = patch
    wanted[: side[0], : side[1]] = target
    return torch.from_numpy(full), torch.from_numpy(wanted)


class Pictures:
    """Drawn pictures in files, and how often each is taken."""

    def __init__(self, paths: list[Path], has_books: bool = True) -> None:
        self.paths = paths
        weights = np.array([0.4 if has_books and books_of(int(path.stem)) > FEW else 1.0 for path in paths])
        self.weights = weights / weights.sum()

    def batch(self, size: int, crop: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """(size, 3, crop, crop), channels last in memory, and (size, crop, crop, 2)."""
        places = rng.choice(len(self.paths), size, p=self.weights)
        crops = [training_crop(np.load(self.paths[n], mmap_mode="r"), crop, rng) for n in places]
        return torch.stack([c[0] for c in crops]).permute(0, 3, 1, 2), torch.stack([c[1] for c in crops])


def loss_of(logits: Tensor, packed: Tensor) -> Tensor:
    """Cross entropy of the three maps, with the largest weights at boundaries where two books touch, plus soft Dice of
    foreground and boundary, plus the centre map's mean distance. packed: (batch, y, x, 2)."""
    bits = packed[..., 1]
    target = torch.stack([bits & 1, (bits >> 1) & 1, packed[..., 0].float() / 255], dim=1).float()
    entropy = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    touching = 1 + 2 * (bits >> 2).float()
    weighted = entropy[:, 0].mean() + 2 * (entropy[:, 1] * touching).mean() + 1.5 * entropy[:, 2].mean()
    probability = torch.sigmoid(logits)
    overlap = (probability[:, :2] * target[:, :2]).sum(dim=(0, 2, 3))
    size = probability[:, :2].sum(dim=(0, 2, 3)) + target[:, :2].sum(dim=(0, 2, 3))
    distance = functional.l1_loss(probability[:, 2], target[:, 2])
    return weighted / 3 + (1 - (2 * overlap + 1) / (size + 1)).mean() + distance


def drawn(count: int, first: int, folder: Path, save: Callable[[Path], None]) -> list[Path]:
    """The training pictures, kept in files for the next run: 1.4 MB each, 3.3 MB large ones."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{seed}.npy" for seed in range(first, first + count)]
    missing = [path for path in paths if not path.exists()]
    if missing:
        with ProcessPoolExecutor(2) as pool:
            list(pool.map(save, missing, chunksize=8))
    return paths


def train(options: argparse.Namespace) -> None:
    """Writes a running mean of the weights to the checkpoint; ends after `steps` or `minutes`, with the rate near zero."""
    first, steps, rate, checkpoint = options.round, options.steps, options.rate, options.checkpoint
    torch.manual_seed(first + 7)
    rng = np.random.default_rng([0x7EA1, first])
    started = time.monotonic()
    start, large_start = FIRST_SEED + 10_000 * first, FIRST_LARGE_SEED + 10_000 * first
    small = Pictures(drawn(options.shelves, start, checkpoint.with_suffix(".shelves"), save_shelf))
    save_large = partial(save_shelf, scale=LARGE)
    large = Pictures(drawn(options.large, large_start, checkpoint.with_suffix(".large"), save_large))
    others = Pictures(drawn(options.others, start, checkpoint.with_suffix(".others"), save_other), has_books=False)
    print(f"{options.shelves} and {options.large} shelves in {time.monotonic() - started:.0f} s", flush=True)
    batch = options.batch
    half = max(batch // 2, 1)
    turns = [(small, batch, 448), (large, half, 640), (large, batch, 448), (large, half, 640), (large, batch, 448)]
    turns.append((others, batch, 448))
    model = SpineNet().to(memory_format=torch.channels_last)
    if options.start is not None:
        load_network(model, options.start, small.batch(16, 448, rng)[0])
    mean = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995), use_buffers=True
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-4)
    recent, step, begun, share = 0.0, 0, time.monotonic(), 0.0
    while share < 1:
        step += 1
        share = max(step / steps, (time.monotonic() - begun) / (60 * options.minutes))
        for group in optimizer.param_groups:
            group["lr"] = rate * min(share / 0.03, 1) * max(0.5 + 0.5 * np.cos(np.pi * min(share, 1)), 0.01)
        pictures, size, crop = turns[step % len(turns)]
        images, targets = pictures.batch(size, crop, rng)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(images)
        loss = loss_of(logits.float(), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        mean.update_parameters(model)
        recent = loss.item() if step == 1 else 0.97 * recent + 0.03 * loss.item()
        if step % 100 == 0 or share >= 1 or step == 10:
            print(f"step {step} loss {recent:.4f} {time.monotonic() - started:.0f} s", flush=True)
            torch.save(mean.module.state_dict(), checkpoint)
    take_statistics(mean.module, large, rng)
    torch.save(mean.module.state_dict(), checkpoint)


def take_statistics(model: nn.Module, shelves: Pictures, rng: np.random.Generator) -> None:
    """Takes the statistics of the normalisations from shelves alone: those of batches without books are others, and a mean of both
    fits neither."""
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.reset_running_stats()
            layer.momentum = None  # a mean over all batches
    model.train()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for turn in range(150):
            model(shelves.batch(2, 640, rng)[0] if turn % 2 == 0 else shelves.batch(4, 448, rng)[0])


def export(checkpoint: Path) -> None:
    """Writes the package: `network.onnx`, open in height and width, and `model.json`."""
    model = SpineNet().eval()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))

    def write(path: Path) -> None:
        torch.onnx.export(
            Maps(model),
            (torch.zeros(1, 3, 512, 640),),
            str(path),
            input_names=["image"],
            output_names=["maps"],
            dynamic_axes={"image": {2: "height", 3: "width"}, "maps": {2: "height", 3: "width"}},
            opset_version=17,
            dynamo=False,
        )

    write_book_spines(write)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shelves", type=int, default=7000, help="with a long side of 640 pixels")
    parser.add_argument("--large", type=int, default=2500, help="with a long side of 1024 pixels")
    parser.add_argument("--others", type=int, default=600, help="pictures without books")
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--minutes", type=float, default=1e6, help="ends after this time, even before all steps")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate; falls to zero at the end")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoint", type=Path, default=Path(tempfile.gettempdir()) / "book-spines.pt")
    parser.add_argument("--start", type=Path, help="a checkpoint or an exported network to continue from")
    parser.add_argument("--round", type=int, default=3, help="another number draws other shelves and crops")
    parser.add_argument("--export-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if not options.export_only:
        train(options)
    export(options.checkpoint)


if __name__ == "__main__":
    main()
