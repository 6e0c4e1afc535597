public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Marks the voxels of a cropped image that belong to the body: those that are not 0 in some channel, and the holes in
/// them.
///
/// For nnU-Net's z-score with `use_mask_for_norm`, which leaves the zeros around the body unchanged, and for the labels
/// of a cascade, which are −1 outside. For MONAI's z-score of nonzero voxels, holes are not filled. A hole is a region
/// from which no path of zero-valued face neighbours leads to the border of the image.
public struct ForegroundMask: Sendable {
    /// The cropped image to which the mask belongs.
    public let view: VoxelView
    /// 1 inside and 0 outside, in the order of the view.
    public let inside: FrozenVoxels<UInt8>

    /// - Parameter channels: stored volumes of one image; NaN is not 0.
    /// - Throws: ``NumericsError`` when a channel is not such a volume, ``AllocationError``, ``CancelledError``.
    /// - Complexity: 1 byte per voxel of the view; a few passes over it, more for winding holes.
    public init(of channels: [FrozenVoxels<Float>], view: VoxelView, scope: ComputeScope) throws {
        try self.init(of: channels, view: view, fillsHoles: true, scope: scope)
    }

    /// The voxels of one channel that are not 0, without the holes in them.
    /// - Throws: ``NumericsError`` when the channel is not a stored volume, ``AllocationError``, ``CancelledError``.
    public init(nonzeroOf channel: FrozenVoxels<Float>, view: VoxelView, scope: ComputeScope) throws {
        try self.init(of: [channel], view: view, fillsHoles: false, scope: scope)
    }

    private init(
        of channels: [FrozenVoxels<Float>],
        view: VoxelView,
        fillsHoles: Bool,
        scope: ComputeScope
    ) throws {
        var marks = try VoxelBuffer<UInt8>(count: view.shape.count)
        for channel in channels {
            guard channel.count == view.storedCount else {
                throw NumericsError.count("image to mask", expected: view.storedCount, found: channel.count)
            }
            try marks.withParallelBuffer { marks in
                try channel.withParallelReader { source in
                    // A slice at a time; channels one after the other, because they mark the same bytes.
                    try scope.forEach(view.shape.z) { k in
                        for j in 0..<view.shape.y {
                            let from = view.offset(0, j, k)
                            let to = view.shape.offset(0, j, k)
                            for i in 0..<view.shape.x where source[from + i * view.step.x] != 0 { marks[to + i] = 1 }
                        }
                    }
                }
            }
        }
        if fillsHoles {
            try marks.withUnsafeMutableBufferPointer { marks in
                try Self.fillHoles(marks, view.shape, scope)
            }
        }
        self.view = view
        inside = marks.frozen()
    }

    private static let unknown: UInt8 = 0
    private static let body: UInt8 = 1
    private static let outside: UInt8 = 2

    /// Spreads the outside from the border, forwards and backwards in turn until nothing changes. No queue is used,
    /// because it could become as long as the image.
    private static func fillHoles(
        _ marks: UnsafeMutableBufferPointer<UInt8>,
        _ shape: VolumeShape,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for isForward in [true, false] {
                // Serial: a slice depends on the one before it.
                for step in 0..<shape.z {
                    try scope.check()
                    let k = isForward ? step : shape.z - 1 - step
                    if spread(marks, shape, slice: k, isForward: isForward) { hasChanged = true }
                }
            }
        }
        // What was never reached is inside: the body, and the holes in it.
        for index in marks.indices { marks[index] = marks[index] == outside ? 0 : 1 }
    }

    /// Marks voxels that have a neighbour outside, in the order of the direction: a run of them takes one pass.
    /// - Returns: whether any was marked.
    private static func spread(
        _ marks: UnsafeMutableBufferPointer<UInt8>,
        _ shape: VolumeShape,
        slice k: Int,
        isForward: Bool
    ) -> Bool {
        let (nx, nxy) = (shape.x, shape.sliceCount)
        var hasChanged = false
        for row in 0..<shape.y {
            let j = isForward ? row : shape.y - 1 - row
            let isBorderRow = j == 0 || j == shape.y - 1 || k == 0 || k == shape.z - 1
            for column in 0..<nx {
                let i = isForward ? column : nx - 1 - column
                let index = shape.offset(i, j, k)
                guard marks[index] == unknown else { continue }
                // The border is tested first: only other voxels have all six neighbours.
                if isBorderRow || i == 0 || i == nx - 1 || marks[index - 1] == outside || marks[index + 1] == outside
                    || marks[index - nx] == outside || marks[index + nx] == outside || marks[index - nxy] == outside
                    || marks[index + nxy] == outside
                {
                    marks[index] = outside
                    hasChanged = true
                }
            }
        }
        return hasChanged
    }
}
