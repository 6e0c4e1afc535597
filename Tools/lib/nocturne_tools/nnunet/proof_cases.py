"""The cases in which Nocturne is compared with nnU-Net's own predictor: the training, and the volumes predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .make_folder import FolderSpec
from .photos import PhotoSize
from .shapes import Grid, Stack

REGIONS = {"background": 0, "whole": [1, 2, 3], "left": [1, 3], "core": 3}
TRAINING = Grid((60, 60, 60), (1.1, 1.1, 1.1))
SLABS = Grid((72, 72, 14), (0.9, 0.9, 5.0))


@dataclass(frozen=True)
class ProofCase:
    """A trained folder and the grids of what to predict; `before` is the previous stage of a cascade."""

    name: str
    spec: FolderSpec
    grids: list[Grid] | list[PhotoSize]
    before: FolderSpec | None = None

    @property
    def takes_photos(self) -> bool:
        return isinstance(self.spec.grid, PhotoSize)

    @property
    def takes_tiff(self) -> bool:
        return isinstance(self.spec.grid, Stack)


FULL = FolderSpec("3d_fullres", [1.5, 1.5, 1.5], [32, 32, 32], TRAINING)
PHOTO = FolderSpec(
    "2d",
    [1.0, 1.0],
    [64, 48],
    PhotoSize(160, 140),
    contrasts=["red", "green", "blue"],
    schemes=["RGBTo01Normalization"] * 3,
    masks=[False] * 3,
    mirroring=(0, 1),
    steps=500,
    reader="NaturalImage2DIO",
)
# Of odd sizes, smaller than the patch, and with a border that is cropped.
PHOTOS = [PhotoSize(231, 177), PhotoSize(37, 29), PhotoSize(149, 163, border=21), PhotoSize(48, 64)]
LOW = FolderSpec("3d_lowres", [2.5, 2.5, 2.5], [24, 24, 24], TRAINING, size=60)
CASES = [
    ProofCase("isotropic", FULL, [Grid((66, 62, 58), (1.0, 1.0, 1.0))]),
    ProofCase(
        "anisotropic",
        replace(
            FULL, spacing=[4.5, 1.2, 1.2], patch=[12, 40, 40], strides=[[1, 1, 1], [1, 2, 2], [2, 2, 2]], grid=SLABS
        ),
        [Grid((76, 70, 13), (0.8, 0.8, 5.0)), Grid((60, 64, 15), (1.05, 1.05, 4.0))],
    ),
    ProofCase(
        "oblique",
        replace(FULL, transpose=[1, 0, 2], steps=160),
        [Grid((60, 56, 50), (1.1, 1.2, 1.3), (12, -9, 20), flipped=(0,), order=(1, 0, 2))],
    ),
    ProofCase(
        "cropped",
        replace(
            FULL, contrasts=["t1"], schemes=["RescaleTo01Normalization"], reader="NibabelIOWithReorient", residual=True
        ),
        [Grid((90, 72, 66), (1.0, 1.1, 1.2), (6, 4, -5), flipped=(1,), order=(2, 0, 1))],
    ),
    ProofCase("small", replace(FULL, mirroring=(0, 1)), [Grid((28, 60, 18), (1.3, 1.0, 1.6))]),
    ProofCase(
        "two-channels",
        replace(FULL, contrasts=["t1", "t2"], schemes=["ZScoreNormalization"] * 2, masks=[True, True]),
        [Grid((64, 66, 60), (1.1, 1.0, 1.2))],
    ),
    ProofCase(
        "2d",
        replace(
            FULL, configuration="2d", spacing=[1.25, 1.25], patch=[40, 40], mirroring=(0, 1), grid=SLABS, steps=300
        ),
        [Grid((70, 66, 14), (1.0, 1.0, 4.0))],
    ),
    ProofCase(
        "regions",
        replace(FULL, labels=REGIONS, regions_class_order=[2, 1, 3], residual=True, steps=200),
        [Grid((62, 60, 56), (1.1, 1.1, 1.1))],
    ),
    ProofCase(
        "cascade",
        replace(FULL, configuration="3d_cascade_fullres", previous_stage="3d_lowres"),
        [Grid((62, 64, 60), (1.1, 1.0, 1.05))],
        LOW,
    ),
    ProofCase(
        "torch-resampling",
        replace(FULL, torch_resampling=True),
        [Grid((64, 60, 56), (1.0, 1.1, 1.2))],
    ),
    ProofCase(
        "tiff",
        replace(
            FULL,
            spacing=[4.5, 1.2, 1.2],
            patch=[12, 40, 40],
            strides=[[1, 1, 1], [1, 2, 2], [2, 2, 2]],
            grid=Stack((72, 72, 14), (0.9, 0.9, 5.0)),
            reader="Tiff3DIO",
        ),
        [
            Stack((76, 70, 13), (0.8, 0.85, 5.0)),
            Stack((60, 64, 15), (1.05, 1.0, 4.0)),
            Stack((66, 71, 22), (0.9, 0.9, 2.75)),
            Stack((58, 62, 60), (1.1, 1.0, 1.0)),
        ],
    ),
    ProofCase(
        "tiff channels",
        replace(
            FULL,
            contrasts=["t1", "t2"],
            schemes=["ZScoreNormalization"] * 2,
            masks=[True, True],
            transpose=[1, 0, 2],
            grid=Stack((60, 60, 60), (1.1, 1.1, 1.1)),
            reader="Tiff3DIO",
        ),
        [Stack((64, 66, 40), (1.1, 1.0, 1.7)), Stack((50, 62, 58), (1.3, 1.0, 1.1))],
    ),
    ProofCase("photos", PHOTO, PHOTOS),
    ProofCase(
        "grey photos",
        replace(PHOTO, contrasts=["grey"], schemes=["ZScoreNormalization"], masks=[True], transpose=[0, 2, 1]),
        PHOTOS,
    ),
    ProofCase(
        "primus",
        replace(FULL, trainer="nnUNet_Primus_S_Trainer", rate=5e-4, steps=400),
        [Grid((66, 62, 58), (1.0, 1.0, 1.0))],
    ),
]
