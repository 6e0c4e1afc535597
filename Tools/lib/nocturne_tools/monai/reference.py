"""A bundle run by MONAI itself: its transforms, its sliding window, its post-processing."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch
from monai.bundle import ConfigParser
from monai.data import MetaTensor
from numpy.typing import NDArray


class Reference:
    """A bundle with its network in memory."""

    def __init__(self, folder: Path) -> None:
        parser = ConfigParser()
        parser.read_config(str(folder / "configs" / "inference.json"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._before = parser.get_parsed_content("preprocessing")
            self._inferer = parser.get_parsed_content("inferer")
            self._after = parser.get_parsed_content("postprocessing")
            self._network = parser.get_parsed_content("network_def").eval()
        self._network.load_state_dict(torch.load(folder / "models" / "model.pt", weights_only=True))

    def labels(self, channels: list[Path], clears: bool = False) -> NDArray[np.uint16]:
        """The label map on the grid of the files, in their order (x, y, z).

        `clears` sets values below 1e-6 to 0 after Spacingd. MONAI's rounding of positions leaves such values where a voxel of
        the new grid coincides with a zero of the old one beside others, at least in the first planes; as nonzero voxels they are
        normalized.
        """
        paths = [str(path) for path in channels]
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = {"image": paths if len(paths) > 1 else paths[0]}
            for transform in self._before.transforms:
                data = transform(data)
                if clears and type(transform).__name__ == "Spacingd":
                    data["image"][data["image"].abs() < 1e-6] = 0
            result = self._inferer(data["image"][None], self._network)
            data["pred"] = result[0] if isinstance(result, MetaTensor) else MetaTensor(result[0])
            labels = self._after(data)["pred"]
        return np.asarray(labels[0]).astype(np.uint16)
