import NocturneCore

extension IntensitySummary {
    /// Mean and standard deviation of numbers that arrive in parts.
    ///
    /// Each part is summed in two passes (mean, then squares about it) and merged by the formula of Chan, Golub and LeVeque
    /// (1979), so there is no cancellation when the mean is far from 0.
    struct Tally: Sendable {
        var count = 0
        var mean = 0.0
        /// The sum of squared deviations from the mean.
        var squares = 0.0
        var minimum = Double.infinity
        var maximum = -Double.infinity

        mutating func merge(_ other: Tally) {
            guard other.count > 0 else { return }
            guard count > 0 else {
                self = other
                return
            }
            let all = Double(count + other.count)
            let difference = other.mean - mean
            squares += other.squares + difference * difference * (Double(count) * Double(other.count) / all)
            mean += difference * (Double(other.count) / all)
            count += other.count
            minimum = min(minimum, other.minimum)
            maximum = max(maximum, other.maximum)
        }

        /// Adds consecutive voxels. Those that are not finite are ignored.
        mutating func add(_ values: UnsafeBufferPointer<Float>) {
            var piece = Tally()
            var sum = 0.0
            for value in values where value.isFinite {
                let value = Double(value)
                sum += value
                piece.count += 1
                piece.minimum = min(piece.minimum, value)
                piece.maximum = max(piece.maximum, value)
            }
            guard piece.count > 0 else { return }
            piece.mean = sum / Double(piece.count)
            for value in values where value.isFinite {
                let difference = Double(value) - piece.mean
                piece.squares += difference * difference
            }
            merge(piece)
        }
    }
}

extension LabelMeasurement {
    /// The counts of one label so far. Index sums are integers, so they are exact.
    struct Tally: Sendable {
        var count = 0
        /// Of i, j and k of all voxels, for the centroid.
        var indexSums = SIMD3<Int>(0, 0, 0)
        var box = VoxelBox(lower: SIMD3(repeating: Int.max), upper: SIMD3(repeating: Int.min))
        var intensity = IntensitySummary.Tally()

        mutating func addRun(_ columns: Range<Int>, _ j: Int, _ k: Int) {
            let length = columns.count
            count += length
            indexSums &+= SIMD3((columns.lowerBound + columns.upperBound - 1) * length / 2, j * length, k * length)
            box = box.union(
                VoxelBox(lower: SIMD3(columns.lowerBound, j, k), upper: SIMD3(columns.upperBound, j + 1, k + 1))
            )
        }

        mutating func merge(_ other: Tally) {
            guard other.count > 0 else { return }
            count += other.count
            indexSums &+= other.indexSums
            box = box.union(other.box)
            intensity.merge(other.intensity)
        }
    }
}
