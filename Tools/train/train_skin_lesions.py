"""Trains the demonstration model `skin-lesions-demo` on synthetic lesions and writes its package.

    python Tools/train/train_skin_lesions.py                 # draws, trains, exports, evaluates
    python Tools/train/train_skin_lesions.py --export-only   # exports and evaluates the last checkpoint again

The lesions are drawn (`nocturne_tools/skin`) with the features that dermoscopy textbooks name for each class. No picture
of a person was used, and the model is not valid for real skin. No medical use.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import SAMPLE_MODELS
from nocturne_tools.skin.network import SIZE, SkinNet
from nocturne_tools.skin.package import export, write_manifest
from nocturne_tools.skin.photographs import CLASSES, SITES, person, photograph
from nocturne_tools.skin.preparation import corrected, normalised
from nocturne_tools.skin.report import write_report

PACKAGE = SAMPLE_MODELS / "skin-lesions-demo"
FIRST_SEED = 100_000  # samples, fixtures and evaluation use smaller ones


def training_set(per_class: int, folder: Path) -> tuple[np.memmap, Tensor, Tensor]:
    """Pictures after colour constancy, halved (N, 190, 190, 3), kept in `folder`; the metadata vectors; the classes."""
    count = per_class * len(CLASSES)
    path = folder / f"pictures-{per_class}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "unfinished.npy"
        store = np.lib.format.open_memmap(unfinished, "w+", np.uint8, (count, SIZE // 2, SIZE // 2, 3))
        for index in range(count):
            picture = photograph(CLASSES[index % len(CLASSES)], FIRST_SEED + index // len(CLASSES))
            halved = corrected(picture).reshape(SIZE // 2, 2, SIZE // 2, 2, 3).mean(axis=(1, 3))
            store[index] = (halved + 0.5).astype(np.uint8)
        store.flush()
        unfinished.rename(path)
    people = []
    for index in range(count):
        rng = np.random.default_rng([0x9E0, FIRST_SEED + index])
        people.append(person(CLASSES[index % len(CLASSES)], rng).vector())
    return np.load(path, mmap_mode="r"), torch.tensor(people), torch.arange(count) % len(CLASSES)


def batch(pictures: np.memmap, picks: np.ndarray, rng: np.random.Generator) -> Tensor:
    """Normalised pictures, mirrored, rotated by multiples of 90 degrees, a little brighter or darker."""
    images = []
    for pick in picks:
        picture = np.rot90(pictures[pick], rng.integers(0, 4))
        picture = picture[:, ::-1] if rng.random() < 0.5 else picture
        images.append(normalised(np.clip(picture * np.float32(rng.uniform(0.85, 1.12)), 0, 255)))
    return torch.from_numpy(np.stack(images)).contiguous(memory_format=torch.channels_last)


def train(per_class: int, steps: int, size: int, rate: float, checkpoint: Path) -> None:
    """Trains from scratch; writes a running mean of the weights to `checkpoint`."""
    torch.manual_seed(20)
    rng = np.random.default_rng(20)
    started = time.monotonic()
    pictures, people, classes = training_set(per_class, checkpoint.with_suffix(".pictures"))
    print(f"{len(classes)} pictures in {time.monotonic() - started:.0f} s", flush=True)
    model = SkinNet(len(CLASSES), len(SITES)).to(memory_format=torch.channels_last)
    average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=average, use_buffers=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.15)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    unknown = torch.tensor([0.0, 1.0, 2.0, float(SITES.index("unknown"))])
    order, recent, right = np.array([], int), 0.0, 0.0
    for step in range(1, steps + 1):
        if len(order) < size:
            order = np.concatenate([order, rng.permutation(len(classes))])
        picks, order = order[:size], order[size:]
        # Every fourth picture has no metadata, so that the network learns to work without.
        hidden = torch.from_numpy(rng.random(size) < 0.25)[:, None]
        logits, _ = model.halved(batch(pictures, picks, rng), torch.where(hidden, unknown, people[picks]))
        loss = loss_of(logits, classes[picks])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        mean.update_parameters(model)
        share = (logits.argmax(1) == classes[picks]).float().mean().item()
        recent = loss.item() if step == 1 else 0.98 * recent + 0.02 * loss.item()
        right = share if step == 1 else 0.98 * right + 0.02 * share
        if step % 100 == 0 or step == steps:
            print(f"step {step} loss {recent:.4f} right {right:.3f} {time.monotonic() - started:.0f} s", flush=True)
            torch.save(mean.module.state_dict(), checkpoint)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-class", type=int, default=550, help="training pictures of each class")
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--held-out", type=int, default=60, help="pictures of each class to evaluate with")
    parser.add_argument("--checkpoint", type=Path, default=Path(tempfile.gettempdir()) / "skin-lesions-demo.pt")
    parser.add_argument("--export-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    if not options.export_only:
        train(options.per_class, options.steps, options.batch, options.rate, options.checkpoint)
    model = SkinNet(len(CLASSES), len(SITES)).eval()
    model.load_state_dict(torch.load(options.checkpoint, weights_only=True))
    attention_error = export(model, PACKAGE)
    write_manifest(PACKAGE)
    print(write_report(PACKAGE, options.held_out, attention_error, " ".join(options_of(options))))


def options_of(options: argparse.Namespace) -> list[str]:
    """The options that decide the weights, for the report."""
    return [f"--{key.replace('_', '-')} {getattr(options, key)}" for key in ("per_class", "steps", "batch", "rate")]


if __name__ == "__main__":
    main()
