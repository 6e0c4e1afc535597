"""Trains the demonstration model `urinary-tract-ct` on synthetic phantoms and writes its package.

    python Tools/train/train_urinary_tract.py                 # trains, then exports
    python Tools/train/train_urinary_tract.py --export-only   # exports the last checkpoint again
    # The second stage continues from the checkpoint of the first, with more ureters that lack contrast beside vessels
    # that have it:
    python Tools/train/train_urinary_tract.py --start FIRST.pt --checkpoint SECOND.pt --hard 0.6 --focus 5 --rate 1e-3 \\
        --phantoms 200 --steps 1200 --batch 1

A 3-D U-Net at 3 mm in RAS, axes z, y, x. Training volumes are rendered at a random spacing and resampled as the
pipeline does. Patches are never flipped: left and right must be distinguished. No medical use.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.model_package import label, recipe, write_package
from nocturne_tools.phantoms.anatomy import FIELD_OF_VIEW, LABELS, Anatomy, draw
from nocturne_tools.phantoms.phantom import make_grid, render, render_labels
from nocturne_tools.reference_pipeline import normalise, resample_linear, resampled_shape
from nocturne_tools.urinary_tract import PACKAGE

PATCH = (80, 64, 96)  # z, y, x
SPACING = 3.0
FEATURES = (8, 16, 32, 64, 80)
NORMALIZATION = {"scheme": "ct", "lowerBound": -200, "upperBound": 600, "mean": 50.0, "standardDeviation": 120.0}
FIRST_SEED = 100_000  # samples, fixtures and evaluation use other seeds
WHOLE = ["left_kidney", "right_kidney", "bladder"]
COLORS = {  # Okabe-Ito: warm for left, cool for right
    "left_kidney": ("#E69F00", ("18639004", "Left kidney")),
    "right_kidney": ("#56B4E9", ("9846003", "Right kidney")),
    "left_ureter": ("#D55E00", ("26559004", "Left ureter")),
    "right_ureter": ("#0072B2", ("25308007", "Right ureter")),
    "bladder": ("#009E73", ("89837001", "Urinary bladder")),
}


class Block(nn.Sequential):
    """Twice convolution, instance normalisation and leaky ReLU; the first convolution may stride."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        layers: list[nn.Module] = []
        for channels, step in ((inputs, stride), (outputs, 1)):
            layers += [
                nn.Conv3d(channels, outputs, 3, step, 1),
                nn.InstanceNorm3d(outputs, affine=True),
                nn.LeakyReLU(0.01),
            ]
        super().__init__(*layers)


class UNet(nn.Module):
    """(batch, 1, z, y, x) normalised HU -> (batch, 6, z, y, x) logits; z, y, x are multiples of 16."""

    def __init__(self, features: tuple[int, ...] = FEATURES, classes: int = len(LABELS) + 1) -> None:
        super().__init__()
        pairs = list(zip(features, features[1:]))
        self.down = nn.ModuleList([Block(1, features[0]), *[Block(a, b, 2) for a, b in pairs]])
        self.up = nn.ModuleList([nn.ConvTranspose3d(b, a, 2, 2) for a, b in pairs])
        self.merge = nn.ModuleList([Block(2 * a, a) for a, _ in pairs])
        self.head = nn.Conv3d(features[0], classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        skips = []
        for block in self.down:
            image = block(image)
            skips.append(image)
        for level in reversed(range(len(self.up))):
            image = self.merge[level](torch.cat([self.up[level](image), skips[level]], dim=1))
        return self.head(image)


def training_volume(seed: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    """One phantom as the network sees it: normalised image and exact labels at 3 mm, both (z, y, x)."""
    rng = np.random.default_rng([0x7EA1, seed])
    fine, thick = rng.uniform(1.8, 3.6), rng.uniform(2.0, 6.5)
    spacing = [fine, fine * rng.choice([1.0, 1.0, rng.uniform(0.8, 1.25)]), thick]  # x, y, z
    plane = rng.choice(["axial", "axial", "coronal"])
    if plane == "coronal":
        spacing[1], spacing[2] = min(thick, 5.0), fine
    extent = np.array(FIELD_OF_VIEW) * [rng.uniform(0.97, 1.03), rng.uniform(0.97, 1.03), rng.uniform(0.9, 1.03)]
    tilt, center = rng.uniform(-7, 7, 3), rng.uniform(-8, 8, 3)
    anatomy = draw(seed)
    shape, affine = make_grid(tuple(spacing), "RAS", tuple(tilt), tuple(extent), tuple(center))
    hu, _ = render(anatomy, shape, affine)
    target = resampled_shape(shape, tuple(spacing), (SPACING,) * 3)
    ratio = np.array(shape) / np.array(target)
    scaled = affine.copy()  # voxel u of the new grid lies at (u + 0.5) * n / m - 0.5 of the old one
    scaled[:3, :3] = affine[:3, :3] * ratio
    scaled[:3, 3] = affine[:3, 3] + affine[:3, :3] @ (0.5 * ratio - 0.5)
    labels = render_labels(anatomy, target, scaled).transpose(2, 1, 0)
    image = resample_linear(normalise(hu.transpose(2, 1, 0), NORMALIZATION), target[::-1])
    short = [max(0, t - n) for n, t in zip(image.shape, PATCH)]
    padding = [(s // 2, s - s // 2) for s in short]
    return np.pad(image, padding).astype(np.float16), np.ascontiguousarray(np.pad(labels, padding))


def dark_ureters(anatomy: Anatomy) -> list[int]:
    """Labels of the ureters without contrast while the vessels have it: they are easily confused."""
    if anatomy.vessels[0].values[0] < 80:
        return []
    return [LABELS[name] for name, ureter in anatomy.ureters.items() if ureter.values.mean() < 80]


def training_seeds(phantoms: int, hard: float | None) -> list[int]:
    """The first seeds; with `hard`, that share of them has a dark ureter and the rest has none."""
    if hard is None:
        return [FIRST_SEED + n for n in range(phantoms)]
    wanted = {True: round(phantoms * hard), False: phantoms - round(phantoms * hard)}
    chosen: list[int] = []
    seed = FIRST_SEED
    while len(chosen) < phantoms:
        kind = bool(dark_ureters(draw(seed)))
        if wanted[kind] > 0:
            wanted[kind] -= 1
            chosen.append(seed)
        seed += 1
    return chosen


def training_patch(
    image: NDArray[np.float16], labels: NDArray[np.uint8], around: list[int], rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """A patch (1, z, y, x) and its labels (z, y, x); two thirds lie around a voxel of a label drawn from `around`."""
    slack = np.array(labels.shape) - PATCH
    start = rng.integers(0, slack + 1)
    if rng.random() < 2 / 3:
        voxels = np.flatnonzero(labels == around[rng.integers(0, len(around))])
        if len(voxels):
            center = np.array(np.unravel_index(rng.choice(voxels), labels.shape))
            start = np.clip(center - np.array(PATCH) // 2 + rng.integers(-8, 9, 3), 0, slack)
    cut = tuple(slice(s, s + t) for s, t in zip(start, PATCH))
    patch = image[cut].astype(np.float32)
    patch = patch * rng.uniform(0.92, 1.08) + rng.uniform(-0.06, 0.06)
    patch += rng.standard_normal(PATCH, dtype=np.float32) * rng.uniform(0, 0.06)
    return torch.from_numpy(patch.astype(np.float32))[None], torch.from_numpy(labels[cut].astype(np.int64))


def dice_and_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Mean soft Dice of the foreground over the batch plus cross entropy."""
    probability = torch.softmax(logits, dim=1)[:, 1:]
    truth = functional.one_hot(target, logits.shape[1]).movedim(-1, 1)[:, 1:].float()
    overlap = (probability * truth).sum(dim=(0, 2, 3, 4))
    size = probability.sum(dim=(0, 2, 3, 4)) + truth.sum(dim=(0, 2, 3, 4))
    return functional.cross_entropy(logits, target) + 1 - ((2 * overlap + 1) / (size + 1)).mean()


def cached_volume(seed: int, folder: Path) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    """`training_volume`, kept in `folder` for the next run."""
    path = folder / f"{seed}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        image, labels = training_volume(seed)
        np.savez(path, image=image, labels=labels)
    with np.load(path) as stored:
        return stored["image"], stored["labels"]


def train(options: argparse.Namespace) -> None:
    """Trains from scratch, or continues from the weights of `start`; writes a running mean of the weights.

    `rate` is the highest learning rate, `hard` the share of phantoms with a dark ureter (None: as drawn) and `focus` how
    many more times than another label a dark ureter is drawn as the middle of a patch.
    """
    steps, phantoms, checkpoint = options.steps, options.phantoms, options.checkpoint
    torch.manual_seed(20)
    rng = np.random.default_rng(20)
    started = time.monotonic()
    seeds = training_seeds(phantoms, options.hard)
    volumes = [cached_volume(seed, checkpoint.with_suffix(".phantoms")) for seed in seeds]
    around = [list(LABELS.values()) + dark_ureters(draw(seed)) * options.focus for seed in seeds]
    print(f"{phantoms} phantoms in {time.monotonic() - started:.0f} s", flush=True)
    model = UNet()
    if options.start is not None:
        model.load_state_dict(torch.load(options.start, weights_only=True))
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.rate, total_steps=steps, pct_start=0.08)
    recent = 0.0
    for step in range(1, steps + 1):
        picks = rng.integers(0, phantoms, options.batch)
        patches = [training_patch(*volumes[n], around[n], rng) for n in picks]
        images, targets = torch.stack([p[0] for p in patches]), torch.stack([p[1] for p in patches])
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(images)
        loss = dice_and_cross_entropy(logits.float(), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 12.0)
        optimizer.step()
        schedule.step()
        mean.update_parameters(model)
        recent = loss.item() if step == 1 else 0.98 * recent + 0.02 * loss.item()
        if step % 25 == 0 or step == steps:
            print(f"step {step} loss {recent:.4f} {time.monotonic() - started:.0f} s", flush=True)
            torch.save(mean.module.state_dict(), checkpoint)


def export(checkpoint: Path) -> None:
    """Writes the package: `network.onnx` with a fixed patch and `model.json`."""
    model = UNet().eval()
    model.load_state_dict(torch.load(checkpoint, weights_only=True))
    PACKAGE.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        model,
        (torch.zeros(1, 1, *PATCH),),
        str(PACKAGE / "network.onnx"),
        input_names=["input"],
        output_names=["logits"],
        opset_version=17,
        dynamo=False,
    )
    manifest = {
        "id": "urinary-tract-ct",
        "name": "Urinary tract (CT), synthetic demonstration",
        "description": "Kidneys, ureters and bladder in CT-like synthetic torsos. Trained on phantoms drawn from seeds "
        "without any patient data. Synthetic, for demonstration, no medical use.",
        "version": "1.0.0",
        "demonstration": True,
        "modalities": ["CT"],
        "channels": [{"name": "CT", "normalization": NORMALIZATION}],
        "labels": [label(value, name, *COLORS[name]) for name, value in LABELS.items()],
        "volumeSegmentation": recipe(
            "RAS",
            [SPACING] * 3,
            list(PATCH),
            # A ureter may be found in pieces, all of them right, so only the organs keep one component.
            keep_largest=WHOLE,
            fill_holes=WHOLE,
        ),
    }
    write_package(PACKAGE, manifest, ["network.onnx"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--phantoms", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, default=Path(tempfile.gettempdir()) / "urinary-tract-ct.pt")
    parser.add_argument("--start", type=Path, help="weights to continue from")
    parser.add_argument("--rate", type=float, default=2.5e-3, help="highest learning rate; falls to zero at the end")
    parser.add_argument("--hard", type=float, help="share of phantoms with a dark ureter (see dark_ureters)")
    parser.add_argument("--focus", type=int, default=0, help="how many more times a dark ureter is drawn")
    parser.add_argument("--export-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    if not options.export_only:
        train(options)
    export(options.checkpoint)


if __name__ == "__main__":
    main()
