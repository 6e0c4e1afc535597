"""Cases of convolutions and pooling in one, two and three dimensions."""


def convolutions(f, rank, space, bias):
    """Convolutions of 4 channels over `space`."""
    x, k3, ones, twos = [1, 4, *space], [3] * rank, [1] * rank, [2] * rank
    name = f"conv{rank}d"
    f.node(name, "Conv", [x], constants=[f.array(6, 4, *k3), bias], pads=ones * 2)
    f.node(f"{name}-stride", "Conv", [x], constants=[f.array(6, 4, *k3)], strides=twos, pads=[1, 0] * rank)
    f.node(f"{name}-dilated", "Conv", [x], constants=[f.array(6, 4, *k3), bias], dilations=twos, pads=twos * 2)
    f.node(f"{name}-groups", "Conv", [x], constants=[f.array(6, 2, *k3), bias], group=2)
    f.node(f"{name}-depthwise", "Conv", [x], constants=[f.array(4, 1, *k3), f.array(4)], group=4, pads=ones * 2)
    f.node(f"{name}-pointwise", "Conv", [x], constants=[f.array(6, 4, *ones), bias])
    upper, lower = {"auto_pad": "SAME_UPPER", "strides": twos}, {"auto_pad": "SAME_LOWER"}
    f.node(f"{name}-same-upper", "Conv", [x], constants=[f.array(6, 4, *twos)], **upper)
    f.node(f"{name}-same-lower", "Conv", [x], constants=[f.array(6, 4, *[4] * rank)], **lower)


def transposed_convolutions(f, rank, space, bias):
    x, k3, ones, twos = [1, 4, *space], [3] * rank, [1] * rank, [2] * rank
    name, op = f"convtranspose{rank}d", "ConvTranspose"
    f.node(name, op, [x], constants=[f.array(4, 6, *twos), bias], strides=twos)
    padded = {"strides": twos, "pads": ones * 2, "output_padding": ones}
    f.node(f"{name}-padded", op, [x], constants=[f.array(4, 6, *k3), bias], **padded)
    f.node(f"{name}-groups", op, [x], constants=[f.array(4, 3, *k3), bias], group=2, dilations=twos)
    shaped = {"strides": twos, "output_shape": [2 * s for s in space], "auto_pad": "SAME_UPPER"}
    f.node(f"{name}-output-shape", op, [x], constants=[f.array(4, 3, *k3)], **shaped)


def pools(f, rank, space):
    x = [1, 4, *space]
    small = {"kernel_shape": [2] * rank, "strides": [2] * rank}
    large = {"kernel_shape": [3] * rank, "strides": [2] * rank, "pads": [1] * 2 * rank}
    f.node(f"maxpool{rank}d", "MaxPool", [x], **small)
    f.node(f"maxpool{rank}d-ceil", "MaxPool", [x], **large, ceil_mode=1)
    f.node(f"averagepool{rank}d", "AveragePool", [x], **small)
    f.node(f"averagepool{rank}d-padded", "AveragePool", [x], **large, count_include_pad=1)
    f.node(f"averagepool{rank}d-ceil", "AveragePool", [x], opset=19, **large, ceil_mode=1)
    f.node(f"globalaveragepool{rank}d", "GlobalAveragePool", [x])


def windows(f):
    """Everything that slides over space."""
    for rank, space in ((1, [11]), (2, [9, 10]), (3, [6, 7, 8])):
        bias = f.array(6)
        convolutions(f, rank, space, bias)
        transposed_convolutions(f, rank, space, bias)
        pools(f, rank, space)
    anisotropic = {"strides": [1, 2, 2], "pads": [0, 1, 1, 0, 1, 1]}
    f.node("conv3d-anisotropic", "Conv", [[1, 3, 5, 9, 8]], constants=[f.array(7, 3, 1, 3, 3)], **anisotropic)
    f.node("conv2d-batch", "Conv", [[3, 4, 6, 5]], constants=[f.array(5, 4, 3, 3), f.array(5)], pads=[1, 1, 1, 1])
    f.node("conv2d-asymmetric", "Conv", [[1, 2, 8, 9]], constants=[f.array(3, 2, 3, 4)], pads=[0, 2, 1, 1])
    f.node("maxpool2d-dilated", "MaxPool", [[1, 3, 9, 9]], kernel_shape=[2, 3], dilations=[2, 2])
