public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// The intensities of all voxels of a volume.
public struct VolumeIntensities: Hashable, Sendable {
    /// An intensity below which a share of the voxels lies.
    public struct Percentile: Hashable, Sendable, Codable {
        /// From 0 to 100.
        public let percent: Double
        /// Linear between the two voxels next to it, as in `numpy.percentile`.
        public var value: Double
    }

    /// Voxels that are neither NaN nor infinite: only these are measured.
    public let finiteCount: Int
    /// Of these voxels.
    public var summary: IntensitySummary
    /// In the order asked for.
    public var percentiles: [Percentile]
}

extension VolumeIntensities {
    /// Moments in one pass over the voxels and in double precision; median, percentiles and histogram in three more. Sums are
    /// merged in a fixed order, so the result is bit-identical for any number of threads.
    /// - Parameters:
    ///   - percents: from 0 to 100, at most 15.
    ///   - histogram: its bins; without edges they span the values.
    /// - Returns: nil for a volume without a finite voxel.
    /// - Throws: ``CancelledError``; the flag is checked about every million voxels.
    public static func measure(
        _ volume: Volume,
        percents: [Double],
        histogram: RegionOfInterest.HistogramRule = .standard,
        scope: ComputeScope
    ) throws(CancelledError) -> VolumeIntensities? {
        precondition(
            percents.count < IntensityDistribution.maximumQuantileCount
                && percents.allSatisfy { (0...100).contains($0) },
            "percentiles lie between 0 and 100"
        )
        let shape = volume.geometry.shape
        let (rows, rowsInPart) = (shape.y * shape.z, max(1, (1 << 20) / shape.x))
        return try volume.voxels.withParallelReader { reader throws(CancelledError) in
            var parts = [IntensitySummary.Tally](
                repeating: IntensitySummary.Tally(),
                count: (rows + rowsInPart - 1) / rowsInPart
            )
            try parts.withParallelBuffer { parts throws(CancelledError) in
                try scope.forEachRange(of: rows, by: rowsInPart) { range in
                    parts[range.lowerBound / rowsInPart].add(run(range, reader, shape.x))
                }
            }
            var tally = IntensitySummary.Tally()
            for part in parts { tally.merge(part) }
            guard tally.count > 0 else { return nil }
            let request = IntensityDistribution.Request(tally, histogram, shares: [0.5] + percents.map { $0 / 100 })
            let found = try IntensityDistribution.find(
                [request],
                rows: rows,
                rowsInPart: rowsInPart,
                runs: { range, body in body(0, run(range, reader, shape.x)) },
                scope: scope
            )[0]
            guard let found, let summary = IntensitySummary(tally, found) else { return nil }
            return VolumeIntensities(
                finiteCount: tally.count,
                summary: summary,
                percentiles: zip(percents, found.quantiles.dropFirst()).map { .init(percent: $0, value: $1) }
            )
        }
    }

    /// The extra memory of ``measure(_:percents:histogram:scope:)``, in bytes.
    public static func predictedBytes(threads: Int) -> Int { IntensityDistribution.predictedBytes(threads: threads) }

    private static func run(
        _ rows: Range<Int>,
        _ voxels: ParallelReader<Float>,
        _ columns: Int
    ) -> UnsafeBufferPointer<Float> {
        UnsafeBufferPointer(start: voxels.base + rows.lowerBound * columns, count: rows.count * columns)
    }
}
