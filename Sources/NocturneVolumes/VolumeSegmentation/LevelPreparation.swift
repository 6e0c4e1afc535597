import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// Prepares the input of a level's networks: every image channel normalized and resampled, then the labels of the
/// previous level, one channel each.
struct LevelPreparation {
    let level: CascadeLevel
    let source: VolumeSource
    /// One per image channel, on the stored grid.
    let channels: [FrozenVoxels<Float>]

    private var stored: VolumeShape { source.geometry.shape }

    /// The grid, cropped to the voxels that count if the package crops.
    /// - Throws: `NumericsError`, `AllocationError`, `CancelledError`.
    func grid(scope: ComputeScope) throws -> ModelGrid {
        var grid = try ModelGrid(source: source, level: level) { orientation in
            try channels.reduce(nil) { box, channel in
                let own = try VoxelBox.foreground(
                    channel,
                    above: level.crop?.above,
                    stored: stored,
                    orientation: orientation,
                    scope: scope
                )
                return own.map { box?.union($0) ?? $0 } ?? box
            }
        }
        if let crop = level.crop, crop.isOfNormalizedImage {
            grid.window = VoxelBox(all: grid.shape)
            // The image is made once more when its turn comes, since it may be large and the grids of all levels come first.
            let found = try VoxelBox.foreground(
                image(grid, previous: nil, scope: scope),
                above: crop.above,
                stored: grid.shape,
                orientation: .stored,
                scope: scope
            )
            if let found {
                let border = crop.padsMargin ? nil : grid.shape
                grid.window = found.enlarged(by: crop.margin, spacing: grid.spacing, upTo: border)
            }
        }
        return grid
    }

    /// - Parameter previous: the labels of the previous level on the stored grid; nil in the first level.
    /// - Returns: `[channel][z][y][x]` of the part of the grid that the networks see.
    func image(_ grid: ModelGrid, previous: FrozenVoxels<UInt16>?, scope: ComputeScope) throws -> FrozenVoxels<Float> {
        let view = try VoxelView(stored: stored, orientation: grid.orientation).cropped(to: grid.box)
        let mask =
            try previous != nil || level.needsMask ? ForegroundMask(of: channels, view: view, scope: scope) : nil
        var image = try VoxelBuffer<Float>(count: level.inputChannels * grid.shape.count)
        try image.withUnsafeMutableBufferPointer { image in
            func channels(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Float> {
                let count = grid.shape.count
                return UnsafeMutableBufferPointer(
                    rebasing: image[range.lowerBound * count..<range.upperBound * count]
                )
            }
            for index in level.normalizations.indices {
                try normalize(index, grid, view, mask, into: channels(index..<index + 1), scope)
            }
            guard let previous, !level.oneHotLabels.isEmpty else { return }
            let resampler = try LabelResampler(
                view: view,
                target: grid.shape,
                rule: grid.labels,
                separateAxis: grid.labels.separateAxis(current: grid.nativeSpacing, new: grid.spacing)
            )
            try resampler.oneHot(
                previous,
                mask: mask,
                values: level.oneHotLabels,
                into: channels(level.normalizations.count..<level.inputChannels),
                scope: scope
            )
        }
        guard !grid.isWhole else { return image.frozen() }
        return try Self.windowed(image, grid).frozen()
    }

    /// The image of one channel in the window, with 0 beyond the grid.
    private static func windowed(
        _ image: borrowing VoxelBuffer<Float>,
        _ grid: ModelGrid
    ) throws -> VoxelBuffer<Float> {
        let (window, shape, whole) = (grid.window, grid.window.shape, grid.shape)
        let (first, last) = (max(window.lower.x, 0), min(window.upper.x, whole.x))
        // Zeros.
        var result = try VoxelBuffer<Float>(count: shape.count)
        result.withUnsafeMutableBufferPointer { result in
            image.withUnsafeBufferPointer { image in
                for row in 0..<shape.z * shape.y {
                    let (z, y) = (row / shape.y + window.lower.z, row % shape.y + window.lower.y)
                    guard (0..<whole.z).contains(z), (0..<whole.y).contains(y) else { continue }
                    let start = (z * whole.y + y) * whole.x
                    let source = image[(start + first)..<(start + last)]
                    _ = result[(row * shape.x + first - window.lower.x)...].update(fromContentsOf: source)
                }
            }
        }
        return result
    }

    /// Writes a channel, normalized and resampled in the order that the package states.
    private func normalize(
        _ index: Int,
        _ grid: ModelGrid,
        _ view: VoxelView,
        _ mask: ForegroundMask?,
        into result: UnsafeMutableBufferPointer<Float>,
        _ scope: ComputeScope
    ) throws {
        func resampler(_ view: VoxelView, _ map: PointwiseMap = .identity) throws -> ImageResampler {
            try ImageResampler(
                view: view,
                target: grid.shape,
                rule: grid.image,
                separateAxis: grid.image.separateAxis(current: grid.nativeSpacing, new: grid.spacing),
                map: map
            )
        }
        // On the same grid: each voxel is only mapped to another value.
        func mapped(_ view: VoxelView, _ map: PointwiseMap) throws -> ImageResampler {
            try ImageResampler(view: view, target: view.shape, rule: ResamplingRule(order: .nearest), map: map)
        }
        let steps = level.normalizations[index]
        var (voxels, view) = (channels[index], view)
        // The statistics of the steps are then those of the resampled channel, as the package states.
        if level.normalizesAfterResampling {
            voxels = try resampler(view).resample(voxels, scope: scope).frozen()
            view = VoxelView(stored: grid.shape)
        }
        for (place, step) in steps.enumerated() {
            let map = try step.map(for: voxels, view: view, mask: mask, padding: padding(grid), scope: scope)
            // The last step is done while resampling reads the voxels, which saves a copy of the channel.
            if place == steps.count - 1 {
                let last =
                    try level.normalizesAfterResampling ? mapped(view, map) : resampler(view, map)
                return try last.resample(voxels, into: result, scope: scope)
            }
            // Earlier steps need a copy: the statistics of the next one are those of their result.
            voxels = try mapped(view, map).resample(voxels, scope: scope).frozen()
            view = VoxelView(stored: view.shape)
        }
    }

    /// How many voxels of the volume's own size fill the patch beyond the volume.
    private func padding(_ grid: ModelGrid) -> Int {
        let shape = grid.shape
        // For quantiles that count the filling: its share of the grid, in voxels of the volume before resampling.
        let padded =
            max(shape.z, level.patchSize[0]) * max(shape.y, level.patchSize[1])
            * max(shape.x, level.patchSize[2])
        let share = Double(padded - shape.count) / Double(shape.count)
        return Int((share * Double(grid.box.shape.count)).rounded())
    }
}
