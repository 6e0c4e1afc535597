"""Cases of resizing, matrix products and whole networks."""

import numpy as np

from nocturne_tools.onnx_fixtures import networks
from nocturne_tools.onnx_fixtures.writer import ints


def resizes(f):
    """Resizing in every mode and coordinate transformation."""
    for rank, space in ((1, [7]), (2, [5, 6]), (3, [3, 4, 5])):
        x = [1, 3, *space]
        up = np.array([1, 1, *[2.0] * rank], dtype=np.float32)
        odd = np.array([1, 1, *[1.7] * rank], dtype=np.float32)
        sizes = ints(1, 3, *[2 * s + 1 for s in space])
        f.node(
            f"resize{rank}d-nearest",
            "Resize",
            [x],
            constants=[None, up],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        f.node(f"resize{rank}d-nearest-half-pixel", "Resize", [x], constants=[None, odd], mode="nearest")
        for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
            f.node(
                f"resize{rank}d-linear-{mode.replace('_', '-')}",
                "Resize",
                [x],
                constants=[None, None, sizes][:3],
                mode="linear",
                coordinate_transformation_mode=mode,
            )
        f.node(f"resize{rank}d-linear-scales", "Resize", [x], constants=[None, odd], mode="linear")
        f.node(
            f"resize{rank}d-down",
            "Resize",
            [x],
            constants=[None, up / 3 + np.array([2 / 3] * 2 + [0] * rank, dtype=np.float32)],
            mode="linear",
        )
    f.node(
        "resize-nearest-ceil",
        "Resize",
        [[1, 2, 5, 6]],
        constants=[None, None, ints(1, 2, 8, 4)],
        mode="nearest",
        nearest_mode="ceil",
        coordinate_transformation_mode="align_corners",
    )
    f.node(
        "upsample",
        "Upsample",
        [[1, 2, 3, 4]],
        opset=9,
        constants=[np.array([1, 1, 2, 3], dtype=np.float32)],
        mode="nearest",
    )


def products(f):
    """Matrix products."""
    f.node("gemm", "Gemm", [[3, 5]], constants=[f.array(5, 4), f.array(4)])
    f.node(
        "gemm-transposed",
        "Gemm",
        [[5, 3]],
        constants=[f.array(4, 5), f.array(3, 1)],
        transA=1,
        transB=1,
        alpha=0.5,
        beta=2.0,
    )
    f.node("gemm-wide", "Gemm", [[3, 90]], constants=[f.array(300, 90), f.array(300)], transB=1)
    f.node("matmul", "MatMul", [[3, 5]], constants=[f.array(5, 4)])
    f.node("matmul-batch", "MatMul", [[2, 3, 5], [1, 5, 4]])
    f.node("matmul-broadcast", "MatMul", [[2, 1, 3, 5], [4, 5, 2]])
    f.node("matmul-vector", "MatMul", [[2, 3, 5], [5]])
    f.node("matmul-tall", "MatMul", [[300, 7]], constants=[f.array(7, 3)])


def whole_networks(f):
    """Small networks of the kinds that users bring."""
    f.network("unet2d-plain", networks.PlainUNet(2, 1, 3, [6, 10, 16]), [[1, 1, 24, 32]])
    f.network("unet3d-plain", networks.PlainUNet(3, 1, 3, [6, 10, 16]), [[1, 1, 12, 16, 16]])
    f.network("unet3d-plain-two-channels", networks.PlainUNet(3, 2, 4, [5, 8]), [[1, 2, 8, 6, 10]], opset=13)
    f.network("unet3d-anisotropic", networks.PlainUNet(3, 1, 2, [6, 10, 12], flat=1), [[1, 1, 6, 16, 16]])
    f.network("unet2d-residual", networks.ResidualUNet(2, 2, 3, [6, 10, 16]), [[1, 2, 24, 16]])
    f.network("unet3d-residual", networks.ResidualUNet(3, 1, 3, [6, 10, 14]), [[1, 1, 12, 8, 16]])
    f.network(
        "unet3d-open-shape",
        networks.PlainUNet(3, 1, 2, [4, 8]),
        [[1, 1, 8, 12, 8]],
        dynamic={"x0": {0: "n", 2: "d", 3: "h", 4: "w"}, "y": {0: "n", 2: "d", 3: "h", 4: "w"}},
    )
    f.network("unet2d-batchnorm-resize", networks.ResizeUNet(), [[1, 3, 16, 24]])
    f.network("unet2d-groupnorm", networks.GroupNormNet(), [[1, 3, 12, 10]])
    f.network(
        "classifier-efficient",
        networks.EfficientClassifier(7),
        [[1, 3, 48, 40], [1, 7]],
        dynamic={"x0": {0: "n"}, "x1": {0: "n"}, "y": {0: "n"}},
    )
