import NocturneCore

extension RegionPlacer.Placement {
    /// A region that cannot be placed on a grid, and the reason.
    struct Problem: Error {
        let detail: String
    }

    /// A flat region in RAS+ mm.
    struct Frame: Sendable {
        var center: SIMD3<Double>
        /// Perpendicular unit vectors.
        var right: SIMD3<Double>
        var up: SIMD3<Double>

        func coordinates(_ point: SIMD3<Double>) -> SIMD2<Double> {
            SIMD2(dot(point - center, right), dot(point - center, up))
        }
    }
}

extension RegionPlacer {
    /// The positions of a region's samples: voxels of the grid, or points of a plane across it.
    enum Placement {
        /// Voxels whose centres are inside a shape.
        struct Grid: Sendable {
            enum Inside: Sendable {
                case sphere(center: SIMD3<Double>, radius: Double)
                /// In RAS+ mm.
                case patientBox(lower: SIMD3<Double>, upper: SIMD3<Double>)
                case voxelBox(lower: SIMD3<Double>, upper: SIMD3<Double>)
                case flat(Frame, Outline)
            }

            var inside: Inside
            /// The extent of the shape in voxel indices.
            var lower: SIMD3<Double>
            var upper: SIMD3<Double>
            /// The slice of a flat region.
            var slice: (axis: Int, index: Int)?

            func contains(index: SIMD3<Double>, point: SIMD3<Double>) -> Bool {
                let t = Outline.tolerance
                switch inside {
                case .sphere(let center, let radius): return length(point - center) <= radius + t
                case .patientBox(let lower, let upper):
                    return (0..<3).allSatisfy { point[$0] >= lower[$0] - t && point[$0] <= upper[$0] + t }
                case .voxelBox(let lower, let upper):
                    return (0..<3).allSatisfy { index[$0] >= lower[$0] - t && index[$0] <= upper[$0] + t }
                case .flat(let frame, let outline): return outline.contains(frame.coordinates(point))
                }
            }

            /// The voxels that may be inside; nil if there are none.
            func candidates(in shape: VolumeShape) -> VoxelBox? {
                var box = VoxelBox(all: shape)
                for axis in 0..<3 {
                    let last = Double(shape[axis] - 1)
                    let from = max(0, (lower[axis] - 1e-6).rounded(.up))
                    let to = min(last, (upper[axis] + 1e-6).rounded(.down))
                    guard from <= to else { return nil }
                    box.lower[axis] = Int(from)
                    box.upper[axis] = Int(to) + 1
                }
                return box
            }

            func status(in shape: VolumeShape) -> RegionMeasurement.Status {
                let axes = (0..<3).filter { $0 != slice?.axis }
                if let slice, !(0..<shape[slice.axis]).contains(slice.index) { return .outside }
                func end(_ axis: Int) -> Double { Double(shape[axis]) - 0.5 }
                if axes.contains(where: { upper[$0] < -0.5 || lower[$0] > end($0) }) { return .outside }
                return axes.allSatisfy { lower[$0] >= -0.5 - 1e-6 && upper[$0] <= end($0) + 1e-6 } ? .complete : .cut
            }
        }

        /// Points of a plane: whole steps of `spacing` mm from the region's centre along its two axes.
        struct Samples: Sendable {
            /// A larger number is refused: 64 MiB.
            static let maximumCount = 1 << 24

            var frame: Frame
            var outline: Outline
            var spacing: Double
            /// The first steps, and the numbers of columns and rows.
            var first: SIMD2<Int>
            var columns: Int
            var rows: Int
        }

        case grid(Grid)
        case samples(Samples)

        /// The volume of the shape in mm³, or its area in mm².
        var size: Double? {
            switch self {
            case .samples(let samples): return samples.outline.area
            case .grid(let grid):
                switch grid.inside {
                case .flat(_, let outline): return outline.area
                case .sphere(_, let radius): return 4 / 3 * Double.pi * radius * radius * radius
                case .patientBox(let lower, let upper), .voxelBox(let lower, let upper):
                    let edges = upper - lower
                    return edges.x * edges.y * edges.z
                }
            }
        }

        /// 4 bytes for every sample or every candidate voxel.
        func bytes(in shape: VolumeShape) -> Int {
            switch self {
            case .samples(let samples): samples.columns * samples.rows * 4
            case .grid(let grid): (grid.candidates(in: shape)?.shape.count ?? 0) * 4
            }
        }
    }
}
