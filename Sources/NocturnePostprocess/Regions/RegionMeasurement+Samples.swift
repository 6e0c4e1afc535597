import NocturneConcurrency
import NocturneCore
import NocturneSystem

extension RegionMeasurement {
    /// The intensities of a region, in the rows of the smallest box around it; NaN where there is no sample.
    struct Samples: Sendable {
        private let values: FrozenVoxels<Float>
        private let columns: Int
        private let rows: Int
        /// Number of samples in the shape and in the volume.
        let count: Int
        /// Number of samples in the shape but beyond the outermost voxel centres.
        let outside: Int

        /// The voxels of the grid inside a shape.
        init(_ grid: RegionPlacer.Placement.Grid, on image: Volume, scope: ComputeScope) throws {
            let (shape, affine) = (image.geometry.shape, image.geometry.affine)
            let isOnGrid = grid.slice.map { (0..<shape[$0.axis]).contains($0.index) } ?? true
            guard isOnGrid, let box = grid.candidates(in: shape) else {
                try self.init(columns: 0, rows: 0, scope: scope) { _, _ in (0, 0) }
                return
            }
            let size = box.shape
            self = try image.voxels.withParallelReader { reader in
                return try Samples(columns: size.x, rows: size.y * size.z, scope: scope) {
                    row,
                    target in
                    let (j, k) = (box.lower.y + row % size.y, box.lower.z + row / size.y)
                    let line = reader.base + (k * shape.y + j) * shape.x + box.lower.x
                    var count = 0
                    for column in 0..<size.x {
                        let index = SIMD3(Double(box.lower.x + column), Double(j), Double(k))
                        let isInside = grid.contains(index: index, point: affine(index))
                        // NaN, which no statistic counts, keeps rows of equal length: a mask would be a second array.
                        target[column] = isInside ? line[column] : .nan
                        if isInside { count += 1 }
                    }
                    return (count, 0)
                }
            }
        }

        /// Points of a plane, interpolated trilinearly between the eight voxel centres around each.
        init(_ samples: RegionPlacer.Placement.Samples, on image: Volume, scope: ComputeScope) throws {
            let geometry = image.geometry
            guard let inverse = geometry.affine.inverse else {
                throw RegionPlacer.Placement.Problem(detail: "the grid is flat")
            }
            let frame = samples.frame
            self = try image.voxels.withParallelReader { reader in
                return try Samples(columns: samples.columns, rows: samples.rows, scope: scope) {
                    row,
                    target in
                    var (count, outside) = (0, 0)
                    let y = Double(samples.first.y + row) * samples.spacing
                    for column in 0..<samples.columns {
                        target[column] = .nan
                        let x = Double(samples.first.x + column) * samples.spacing
                        guard samples.outline.contains(SIMD2(x, y)) else { continue }
                        let index = inverse(frame.center + frame.right * x + frame.up * y)
                        if let value = trilinearValue(reader.base, geometry.shape, at: index) {
                            target[column] = Float(value)
                            count += 1
                        } else {
                            outside += 1
                        }
                    }
                    return (count, outside)
                }
            }
        }

        /// - Parameter fill: writes the samples of a row, and counts those inside and those outside the volume.
        private init(
            columns: Int,
            rows: Int,
            scope: ComputeScope,
            fill: @Sendable (Int, UnsafeMutablePointer<Float>) -> (Int, Int)
        ) throws {
            var values = try VoxelBuffer<Float>(count: columns * rows)
            var counts = [(Int, Int)](repeating: (0, 0), count: rows)
            if columns > 0, rows > 0 {
                try counts.withParallelBuffer { tally in
                    try values.withParallelBuffer { target in
                        try scope.forEachRange(of: rows, by: max(1, (1 << 14) / columns)) { range in
                            for row in range where !scope.flag.isCancelled {
                                tally[row] = fill(row, target.base + row * columns)
                            }
                        }
                    }
                }
            }
            self.values = values.frozen()
            self.columns = columns
            self.rows = rows
            count = counts.reduce(0) { $0 + $1.0 }
            outside = counts.reduce(0) { $0 + $1.1 }
        }

        /// nil without a finite sample.
        func intensity(
            _ histogram: RegionOfInterest.HistogramRule,
            scope: ComputeScope
        ) throws(CancelledError) -> IntensitySummary? {
            guard count > 0 else { return nil }
            let (columns, rows) = (columns, rows)
            return try values.withParallelReader { reader throws(CancelledError) in
                var tally = IntensitySummary.Tally()
                let part = max(1, (1 << 20) / columns)
                for begin in stride(from: 0, to: rows, by: part) {
                    try scope.check()
                    let end = min(rows, begin + part)
                    tally.add(UnsafeBufferPointer(start: reader.base + begin * columns, count: (end - begin) * columns))
                }
                let found = try IntensityDistribution.find(
                    [IntensityDistribution.Request(tally, histogram)],
                    rows: rows,
                    rowsInPart: part,
                    runs: { rows, body in
                        body(
                            0,
                            UnsafeBufferPointer(
                                start: reader.base + rows.lowerBound * columns,
                                count: rows.count * columns
                            )
                        )
                    },
                    scope: scope
                )
                return IntensitySummary(tally, found[0])
            }
        }
    }
}
