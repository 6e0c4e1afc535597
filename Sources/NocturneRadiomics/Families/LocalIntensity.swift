internal import NocturneCore

private typealias Definition = FeatureDefinition<PeakMeasures>

private let features: [Definition] = [
    Definition("loc_peak_loc", "VJGA", "Local intensity peak") { $0.local },
    Definition("loc_peak_glob", "0F91", "Global intensity peak") { $0.global },
]

extension FeatureFamily {
    /// Peaks of the mean intensity within 1 cm³ (section 3.2, 9ST6).
    static let localIntensity = FeatureFamily(.localIntensity, features) { source throws(FeatureAbsence) in
        PeakMeasures(try source.intensities())
    }
}

/// The means around the voxels of a region, over all voxels of the image that are finite and whose centres lie in the
/// sphere, in the region or not.
struct PeakMeasures: Sendable {
    /// Around the voxel with the greatest intensity; of several, the greatest mean.
    let local: Double
    /// The greatest mean around any voxel.
    let global: Double

    /// - Complexity: two reads of running sums for each voxel and each row of the sphere.
    init(_ region: RadiomicsRegion) {
        let sums = RunningSums(region.surroundings)
        let rows = SphereRow.rows(radius: RadiomicsRegion.peakRadius, spacing: region.spacing, within: sums.shape)
        // Found first, since several voxels can have the greatest intensity.
        var greatest = -Float.infinity
        for place in region.intensities.indices where region.intensityMask[place] != 0 {
            greatest = max(greatest, region.intensities[place])
        }
        var (local, global) = (-Double.infinity, -Double.infinity)
        var totals = [Double](repeating: 0, count: region.shape.x)
        var counts = [Double](repeating: 0, count: region.shape.x)
        for k in 0..<region.shape.z {
            for j in 0..<region.shape.y {
                let first = region.shape.offset(0, j, k)
                // Rows without a voxel of the region are passed over, as the sums of a row are costly.
                guard region.intensityMask[first..<first + region.shape.x].contains(1) else { continue }
                sums.add(rows, at: SIMD3(0, j, k) &+ region.surroundings.offset, to: &totals, &counts)
                for i in 0..<region.shape.x where region.intensityMask[first + i] != 0 {
                    // Not 0: the sphere contains the voxel itself, whose intensity is finite.
                    let mean = totals[i] / counts[i]
                    global = max(global, mean)
                    if region.intensities[first + i] == greatest { local = max(local, mean) }
                }
            }
        }
        self.local = local
        self.global = global
    }
}

extension PeakMeasures {
    /// A row of voxels of a sphere.
    fileprivate struct SphereRow {
        let j: Int
        let k: Int
        /// The voxels on either side of the row's middle.
        let reach: Int

        /// - Parameter shape: of the image. Of voxels of a micrometre a sphere would have 10⁷ rows, most of them outside.
        static func rows(radius: Double, spacing: SIMD3<Double>, within shape: VolumeShape) -> [SphereRow] {
            let most = Int(min(radius / spacing.y, Double(shape.y)))
            let far = Int(min(radius / spacing.z, Double(shape.z)))
            return (-far...far).flatMap { k in
                (-most...most).compactMap { j -> SphereRow? in
                    let (y, z) = (Double(j) * spacing.y, Double(k) * spacing.z)
                    let left = radius * radius - y * y - z * z
                    return left >= 0
                        ? SphereRow(j: j, k: k, reach: Int(min(left.squareRoot() / spacing.x, Double(shape.x)))) : nil
                }
            }
        }
    }

    /// For each row of an image, the sum and the number of the finite voxels before each place.
    fileprivate struct RunningSums {
        let shape: VolumeShape
        private let sums: [Double]
        private let counts: [Int32]

        init(_ image: RadiomicsRegion.Surroundings) {
            shape = image.shape
            let width = shape.x + 1
            var sums = [Double](repeating: 0, count: width * shape.y * shape.z)
            var counts = [Int32](repeating: 0, count: width * shape.y * shape.z)
            for row in 0..<shape.y * shape.z {
                for i in 0..<shape.x {
                    let value = image.intensities[row * shape.x + i]
                    sums[row * width + i + 1] = sums[row * width + i] + (value.isFinite ? Double(value) : 0)
                    counts[row * width + i + 1] = counts[row * width + i] + (value.isFinite ? 1 : 0)
                }
            }
            self.sums = sums
            self.counts = counts
        }

        /// Replaces `totals` and `numbers` by those of the spheres around the voxels of a row that begins at `start`.
        func add(_ rows: [SphereRow], at start: SIMD3<Int>, to totals: inout [Double], _ numbers: inout [Double]) {
            for i in totals.indices { (totals[i], numbers[i]) = (0, 0) }
            for row in rows {
                let (j, k) = (start.y + row.j, start.z + row.k)
                guard j >= 0, k >= 0, j < shape.y, k < shape.z else { continue }
                let base = (k * shape.y + j) * (shape.x + 1)
                for i in totals.indices {
                    // Cut off at the ends of the row: voxels beyond the image are not counted.
                    let first = base + max(start.x + i - row.reach, 0)
                    let end = base + min(start.x + i + row.reach + 1, shape.x)
                    totals[i] += sums[end] - sums[first]
                    numbers[i] += Double(counts[end] - counts[first])
                }
            }
        }
    }
}
