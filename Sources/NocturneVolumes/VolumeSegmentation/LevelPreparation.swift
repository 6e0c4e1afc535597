import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

/// Prepares the input of a level's networks: every image channel normalized and resampled, then the labels of the
/// previous level, one channel each.
struct LevelPreparation {
    let level: CascadeLevel
    let source: VolumeSource
    /// One per image channel, on the stored grid.
    let channels: [FrozenVoxels<Float>]

    private var stored: VolumeShape { source.geometry.shape }

    /// The grid, cropped to the nonzero voxels if the package crops.
    func grid(scope: ComputeScope) throws -> ModelGrid {
        try ModelGrid(source: source, level: level) { orientation in
            try channels.reduce(nil) { box, channel in
                let own = try VoxelBox.nonzero(channel, stored: stored, orientation: orientation, scope: scope)
                return own.map { box?.union($0) ?? $0 } ?? box
            }
        }
    }

    /// - Parameter previous: the labels of the previous level on the stored grid; nil in the first level.
    /// - Returns: `[channel][z][y][x]` in the grid's shape.
    func image(_ grid: ModelGrid, previous: FrozenVoxels<UInt16>?, scope: ComputeScope) throws -> FrozenVoxels<Float> {
        let view = try VoxelView(stored: stored, orientation: grid.orientation).cropped(to: grid.box)
        let mask = needsMask(previous) ? try ForegroundMask(of: channels, view: view, scope: scope) : nil
        var image = try VoxelBuffer<Float>(count: level.inputChannels * grid.shape.count)
        try image.withUnsafeMutableBufferPointer { image in
            func channels(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Float> {
                let count = grid.shape.count
                return UnsafeMutableBufferPointer(
                    rebasing: image[range.lowerBound * count..<range.upperBound * count]
                )
            }
            for (index, normalization) in level.normalizations.enumerated() {
                if level.normalizesAfterResampling {
                    let to = channels(index..<index + 1)
                    try normalizeResampled(self.channels[index], normalization, grid, view, into: to, scope)
                    continue
                }
                let map = try normalization.asNumerics.map(
                    for: self.channels[index],
                    view: view,
                    mask: mask,
                    padding: normalization.countsPadding ? padding(grid) : 0,
                    scope: scope
                )
                let resampler = try ImageResampler(
                    view: view,
                    target: grid.shape,
                    rule: grid.image,
                    separateAxis: grid.image.separateAxis(current: grid.nativeSpacing, new: grid.spacing),
                    map: map
                )
                try resampler.resample(self.channels[index], into: channels(index..<index + 1), scope: scope)
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
        return image.frozen()
    }

    /// Writes a channel that is first resampled, then normalized by its own statistics.
    private func normalizeResampled(
        _ channel: FrozenVoxels<Float>,
        _ normalization: IntensityNormalization,
        _ grid: ModelGrid,
        _ view: VoxelView,
        into result: UnsafeMutableBufferPointer<Float>,
        _ scope: ComputeScope
    ) throws {
        let resampled = try ImageResampler(
            view: view,
            target: grid.shape,
            rule: grid.image,
            separateAxis: grid.image.separateAxis(current: grid.nativeSpacing, new: grid.spacing)
        ).resample(channel, scope: scope).frozen()
        let whole = VoxelView(stored: grid.shape)
        let map = try normalization.asNumerics.map(
            for: resampled,
            view: whole,
            padding: normalization.countsPadding ? padding(grid) : 0,
            scope: scope
        )
        try ImageResampler(view: whole, target: grid.shape, rule: ResamplingRule(order: .nearest), map: map)
            .resample(resampled, into: result, scope: scope)
    }

    /// How many voxels of the volume's own size fill the patch beyond the volume.
    private func padding(_ grid: ModelGrid) -> Int {
        let shape = grid.shape
        let padded =
            max(shape.z, level.patchSize[0]) * max(shape.y, level.patchSize[1])
            * max(shape.x, level.patchSize[2])
        let share = Double(padded - shape.count) / Double(shape.count)
        return Int((share * Double(grid.box.shape.count)).rounded())
    }

    private func needsMask(_ previous: FrozenVoxels<UInt16>?) -> Bool {
        previous != nil || level.normalizations.contains(.zScore(usesMask: true))
    }
}

extension IntensityNormalization {
    /// The same scheme as the numerics module's type.
    var asNumerics: Normalization {
        switch self {
        case .ct(let lower, let upper, let mean, let deviation):
            .ct(lower: lower, upper: upper, mean: mean, deviation: deviation)
        case .zScore(let usesMask): .zScore(useMask: usesMask)
        case .zScoreOfNonzero: .zScoreOfNonzero
        case .linear(let mean, let deviation): .linear(mean: mean, deviation: deviation)
        case .rescale(let lower, let upper): .rescale(lower: lower, upper: upper)
        case .rescale01: .rescale01
        case .rgb01: .rgb01
        case .none: .none
        case .quantiles(let lower, let upper, _): .quantiles(lower: lower, upper: upper)
        }
    }

    fileprivate var countsPadding: Bool {
        if case .quantiles(_, _, let countsPadding) = self { countsPadding } else { false }
    }
}
