internal import CNocturneKernels

/// Test-time augmentation by mirroring: the flips with which a tile is run, and the mean of the results.
///
/// For each of ``flips`` in order: ``flip(_:channels:patch:along:into:)``, run the network, and
/// ``accumulate(_:channels:patch:flippedAlong:into:)``; then divide the sum by ``count``. float32 throughout and always in
/// this order, as in nnU-Net on a CPU.
public struct MirrorPasses: Hashable, Sendable {
    /// The axes of every pass (0 = z, 1 = y, 2 = x): first no axis, then one, two, three of them, in lexicographic
    /// order.
    public let flips: [[Int]]

    /// - Parameter axes: the axes along which a network was trained to be mirrored; empty for a single plain pass.
    ///   Values other than 0, 1 and 2 and repetitions are ignored.
    public init(axes: [Int]) {
        let axes = Set(axes).intersection([0, 1, 2]).sorted()
        let subsets = (0..<1 << axes.count).map { bits in
            axes.indices.filter { bits >> $0 & 1 == 1 }.map { axes[$0] }
        }
        flips = subsets.sorted { $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1) }
    }

    /// The number of passes: 1, 2, 4 or 8.
    public var count: Int { flips.count }

    /// Writes `tile` (`[channel][z][y][x]`) mirrored along `axes`. The two buffers must be different.
    public static func flip(
        _ tile: UnsafeBufferPointer<Float>,
        channels: Int,
        patch: GridZYX,
        along axes: [Int],
        into result: UnsafeMutableBufferPointer<Float>
    ) {
        result.update(repeating: 0)
        accumulate(tile, channels: channels, patch: patch, flippedAlong: axes, into: result)
    }

    /// Adds an output computed from a flipped tile to the sum, flipped back. `sum` must initially be zero.
    public static func accumulate(
        _ tile: UnsafeBufferPointer<Float>,
        channels: Int,
        patch: GridZYX,
        flippedAlong axes: [Int],
        into sum: UnsafeMutableBufferPointer<Float>
    ) {
        precondition(tile.count == channels * patch.count && sum.count == tile.count, "not a tile of \(patch)")
        guard let source = tile.baseAddress, let target = sum.baseAddress else { return }
        let (flipZ, flipY, flipX) = (axes.contains(0), axes.contains(1), axes.contains(2))
        // Rows are contiguous in both buffers, so only x needs a reversed kernel; z and y are other rows.
        for channel in 0..<channels {
            for z in 0..<patch.z {
                let fromZ = flipZ ? patch.z - 1 - z : z
                for y in 0..<patch.y {
                    let fromY = flipY ? patch.y - 1 - y : y
                    let from = source + ((channel * patch.z + fromZ) * patch.y + fromY) * patch.x
                    let to = target + ((channel * patch.z + z) * patch.y + y) * patch.x
                    if flipX {
                        nk_blend_accumulate_reversed(to, from, patch.x)
                    } else {
                        nk_blend_accumulate(to, from, patch.x)
                    }
                }
            }
        }
    }
}
