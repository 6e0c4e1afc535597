import NocturneConcurrency
import NocturneCore
import NocturnePostprocess

/// The box in which the parts of a program work, found by the labels of its region network.
struct RegionBox: Equatable {
    /// How often a box whose labels touch its sides is enlarged.
    static let maximumGrowth = 3

    private(set) var box: VoxelBox
    private let shape: VolumeShape
    /// In whole voxels along x, y and z.
    private let margin: SIMD3<Int>

    /// - Parameters:
    ///   - labelled: the box around all voxels of the labels; of all components together.
    ///   - geometry: of the volume in which the labels are.
    init(around labelled: VoxelBox, margin: Margin, in geometry: VolumeGeometry) {
        let spacing = SIMD3<Double>(SIMD3<Float>(geometry.spacing))
        shape = geometry.shape
        let extent = labelled.shape
        self.margin = SIMD3(
            margin.voxels(extent: extent.x, spacing: spacing.x),
            margin.voxels(extent: extent.y, spacing: spacing.y),
            margin.voxels(extent: extent.z, spacing: spacing.z)
        )
        box = labelled
        box = moved(Array(repeating: true, count: 6))
    }

    /// The box between the planes of a grid of which more than `share` has labels, scaled to the volume: deepbet's
    /// `get_bbox_with_margin`, in float32 as there. Nil without such planes.
    /// - Parameters:
    ///   - values: of the labels.
    ///   - labels: on the grid.
    ///   - margin: on each side, as a share of the extent.
    init?(
        planesAbove share: Double,
        of values: [UInt16],
        _ labels: FrozenVoxels<UInt16>,
        on grid: ProgramGrid,
        margin: Double
    ) {
        let (grid, whole, place) = (grid.shape, grid.turned, grid)
        let counts = Self.planeCounts(Set(values), labels, grid)
        var box = VoxelBox(all: whole)
        for axis in 0..<3 {
            let least = share * Double(grid.count / grid[axis])
            guard let first = counts[axis].firstIndex(where: { Double($0) > least }),
                let last = counts[axis].lastIndex(where: { Double($0) > least })
            else { return nil }
            let scale = Float(whole[axis]) / Float(grid[axis])
            let center = (scale * (Float(last + 1 + first) / 2)).rounded(.toNearestOrEven)
            let size = (1 + 2 * Float(margin)) * (scale * Float(last + 1 - first))
            let half = size.rounded(.toNearestOrEven) / 2
            box.lower[axis] = max(0, Int(center - half))
            box.upper[axis] = min(whole[axis], Int(center + half))
        }
        guard (0..<3).allSatisfy({ box.lower[$0] < box.upper[$0] }) else { return nil }
        self.box = place.stored(box)
        shape = whole
        self.margin = .zero
    }

    /// The voxels with labels in each plane across x, y and z.
    private static func planeCounts(
        _ values: Set<UInt16>,
        _ labels: FrozenVoxels<UInt16>,
        _ shape: VolumeShape
    ) -> [[Int]] {
        var counts = (0..<3).map { [Int](repeating: 0, count: shape[$0]) }
        labels.withUnsafeBufferPointer { labels in
            for (index, value) in labels.enumerated() where value != 0 && values.contains(value) {
                counts[0][index % shape.x] += 1
                counts[1][index / shape.x % shape.y] += 1
                counts[2][index / (shape.x * shape.y)] += 1
            }
        }
        return counts
    }

    /// The box with some of its sides moved outward by the margin, up to the border of the volume.
    /// - Parameters:
    ///   - sides: lower and upper side along x, then y, then z.
    ///   - least: moves them by at least as many voxels.
    private func moved(_ sides: [Bool], atLeast least: Int = 0) -> VoxelBox {
        var result = box
        for axis in 0..<3 {
            let distance = max(margin[axis], least)
            if sides[2 * axis] { result.lower[axis] = max(0, box.lower[axis] - distance) }
            if sides[2 * axis + 1] { result.upper[axis] = min(shape[axis], box.upper[axis] + distance) }
        }
        return result
    }

    /// The larger box, if labels touch sides of this one that are inside the volume; nil if none does.
    /// - Parameter labelled: the box around all labels that were found in this box, in its own indices.
    func grown(for labelled: VoxelBox) -> RegionBox? {
        let sides = (0..<6).map { side in
            let axis = side / 2
            if side % 2 == 0 { return labelled.lower[axis] == 0 && box.lower[axis] > 0 }
            return labelled.upper[axis] == box.shape[axis] && box.upper[axis] < shape[axis]
        }
        guard sides.contains(true) else { return nil }
        var larger = self
        larger.box = moved(sides, atLeast: 8)
        return larger
    }
}

extension VoxelBox {
    /// The box around all voxels whose label is among `values`; nil values for any label. Nil when there is none.
    /// - Complexity: one read of the labels, in parallel by slices.
    static func around(
        _ values: Set<UInt16>?,
        of labels: FrozenVoxels<UInt16>,
        _ shape: VolumeShape,
        scope: ComputeScope
    ) throws -> VoxelBox? {
        let boxes = try labels.withParallelReader { try VoxelBox.ofLabels(in: $0, shape, scope) }
        return VoxelBox(around: boxes.filter { values?.contains($0.key) ?? true }.map(\.value))
    }
}
