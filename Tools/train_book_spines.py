"""Trains the demonstration model `book-spines` on synthetic shelves and writes its package.

    python Tools/train_book_spines.py                 # draws, trains, then exports
    python Tools/train_book_spines.py --export-only   # exports the last checkpoint again

A small U-Net that gives foreground, boundary and centre maps of a picture whose long side has 512 pixels. It sees the
picture at half that size inside. Every shelf is drawn from a seed (`shelves/`); no photo was used.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from shelves.maps import target_maps
from shelves.package import DEVIATION, LONG_SIDE, MEAN, write_book_spines
from shelves.picture import draw_shelf

FEATURES = (16, 32, 48, 64, 96)
FIRST_SEED = 100_000  # samples and evaluation use other seeds
CROP = 416


class Block(nn.Sequential):
    """Twice convolution, batch normalisation and ReLU; the first convolution may stride."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        layers: list[nn.Module] = []
        for channels, step in ((inputs, stride), (outputs, 1)):
            layers += [nn.Conv2d(channels, outputs, 3, step, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        super().__init__(*layers)


class SpineNet(nn.Module):
    """(batch, 3, y, x) normalised RGB -> (batch, 3, y, x) logits of foreground, boundary and centre.

    y and x are multiples of 32.
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
    """The network as it is exported: chances instead of logits."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, image: Tensor) -> Tensor:
        return torch.sigmoid(self.network(image))


def books_of(seed: int) -> int:
    """How many books a training shelf has: from none to fifty, mostly few enough to be seen well."""
    rng = np.random.default_rng([0xB00C, seed])
    kind = rng.random()
    if kind < 0.03:
        return 0
    if kind < 0.15:
        return 1
    return int(rng.integers(2, 13)) if kind < 0.55 else int(rng.integers(10, 27)) if kind < 0.87 else int(rng.integers(25, 51))


def training_shelf(seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Picture (y, x, 3) and maps (3, y, x), both in 0...255."""
    shelf = draw_shelf(seed, books_of(seed), LONG_SIDE / 640)
    return shelf.image, np.round(target_maps(shelf.instances) * 255).astype(np.uint8)


def training_crop(
    image: NDArray[np.uint8], maps: NDArray[np.uint8], rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """A square crop, mirrored half of the time, with other colours; what lies beside the picture is 0."""
    side = [min(CROP, n) for n in image.shape[:2]]
    y, x = (int(rng.integers(0, n - s + 1)) for n, s in zip(image.shape[:2], side))
    patch = image[y : y + side[0], x : x + side[1]].astype(np.float32) / 255
    target = maps[:, y : y + side[0], x : x + side[1]]
    if rng.random() < 0.5:
        patch, target = patch[:, ::-1], target[:, :, ::-1]
    patch = patch[..., rng.permutation(3)] * rng.uniform(0.8, 1.2, 3).astype(np.float32)
    patch = (patch - np.array(MEAN, np.float32)) / np.array(DEVIATION, np.float32)
    full, wanted = np.zeros((3, CROP, CROP), np.float32), np.zeros((3, CROP, CROP), np.uint8)
    full[:, : side[0], : side[1]] = patch.transpose(2, 0, 1)
    wanted[:, : side[0], : side[1]] = target
    return torch.from_numpy(full), torch.from_numpy(wanted)


def loss_of(logits: Tensor, target: Tensor) -> Tensor:
    """Cross entropy of the three maps, boundary weighted, plus soft Dice of foreground and boundary."""
    weight = torch.tensor([1.0, 2.0, 1.5]).view(1, 3, 1, 1)
    entropy = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    chance = torch.sigmoid(logits)[:, :2]
    truth = target[:, :2]
    overlap = (chance * truth).sum(dim=(0, 2, 3))
    size = chance.sum(dim=(0, 2, 3)) + truth.sum(dim=(0, 2, 3))
    distance = functional.l1_loss(torch.sigmoid(logits[:, 2]), target[:, 2])
    return (entropy * weight).mean() + (1 - (2 * overlap + 1) / (size + 1)).mean() + distance


def drawn(shelves: int, first: int, kept: Path) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """The training shelves, kept in a file for the next run."""
    if not kept.exists():
        with ProcessPoolExecutor(2) as pool:
            seeds = range(first, first + shelves)
            samples = list(pool.map(training_shelf, seeds, chunksize=8))
        np.savez(kept, *[part for sample in samples for part in sample])
        return samples
    with np.load(kept) as stored:
        return [(stored[f"arr_{2 * n}"], stored[f"arr_{2 * n + 1}"]) for n in range(shelves)]


def train(
    shelves: int, steps: int, minutes: float, batch: int, rate: float, checkpoint: Path, start: Path | None, first: int
) -> None:
    """Writes a running mean of the weights to `checkpoint`; ends after `steps` or `minutes`, with the rate near zero."""
    torch.manual_seed(first + 7)
    rng = np.random.default_rng([0x7EA1, first])
    started = time.monotonic()
    samples = drawn(shelves, FIRST_SEED + 10_000 * first, checkpoint.with_suffix(f".{first}.npz"))
    print(f"{shelves} shelves in {time.monotonic() - started:.0f} s", flush=True)
    model = SpineNet().to(memory_format=torch.channels_last)
    if start is not None:
        model.load_state_dict(torch.load(start, weights_only=True))
    mean = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98), use_buffers=True
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-4)
    recent, step, begun, way = 0.0, 0, time.monotonic(), 0.0
    while way < 1:
        step += 1
        way = max(step / steps, (time.monotonic() - begun) / (60 * minutes))
        for group in optimizer.param_groups:
            group["lr"] = rate * min(way / 0.05, 1) * max(0.5 + 0.5 * np.cos(np.pi * min(way, 1)), 0.01)
        crops = [training_crop(*samples[n], rng) for n in rng.integers(0, shelves, batch)]
        images = torch.stack([c[0] for c in crops]).to(memory_format=torch.channels_last)
        targets = torch.stack([c[1] for c in crops]).float() / 255
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(images)
        loss = loss_of(logits.float(), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        mean.update_parameters(model)
        recent = loss.item() if step == 1 else 0.97 * recent + 0.03 * loss.item()
        if step % 50 == 0 or way >= 1 or step == 10:
            print(f"step {step} loss {recent:.4f} {time.monotonic() - started:.0f} s", flush=True)
            torch.save(mean.module.state_dict(), checkpoint)


def export(checkpoint: Path) -> None:
    """Writes the package: `network.onnx`, open in height and width, and `model.json`."""
    model = SpineNet().eval()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))

    def write(path: Path) -> None:
        torch.onnx.export(
            Maps(model),
            (torch.zeros(1, 3, 480, 640),),
            str(path),
            input_names=["image"],
            output_names=["maps"],
            dynamic_axes={"image": {2: "height", 3: "width"}, "maps": {2: "height", 3: "width"}},
            opset_version=17,
            dynamo=False,
        )

    write_book_spines(write)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train and export book-spines.")
    parser.add_argument("--shelves", type=int, default=500)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--minutes", type=float, default=1e6, help="ends after so much time, if before all steps")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate; falls to zero at the end")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--checkpoint", type=Path, default=Path(tempfile.gettempdir()) / "book-spines.pt")
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--round", type=int, default=0, help="another number draws other shelves and crops")
    parser.add_argument("--export-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if not options.export_only:
        train(
            options.shelves,
            options.steps,
            options.minutes,
            options.batch,
            options.rate,
            options.checkpoint,
            options.start,
            options.round,
        )
    export(options.checkpoint)


if __name__ == "__main__":
    main()
