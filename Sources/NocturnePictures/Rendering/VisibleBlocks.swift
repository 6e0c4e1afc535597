import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Which blocks of eight voxels a side can be seen, so that rays pass over the others.
///
/// A block shows something if any intensity between its smallest and its largest voxel does, or any of its voxels has a label with
/// a colour. Voxels of the neighbours, between which and its own samples are interpolated, count as its own.
struct VisibleBlocks: Sendable {
    /// Indices of voxels are shifted by this to those of blocks.
    static let shift = 3
    static let side = 1 << shift

    /// Blocks along R, A and S.
    let shape: VolumeShape
    /// 1 if intensities are visible, 2 if labels are, 3 for both.
    private(set) var isVisible: [UInt8]

    /// - Throws: ``CancelledError``; the flag is checked for every plane of blocks.
    /// - Complexity: every voxel is read once, or twice at the border of a block.
    init(_ voxels: RenderedVoxels, _ table: TransferFunction.Table, scope: ComputeScope) throws(CancelledError) {
        let size = voxels.shape
        let blocks = VolumeShape(
            x: (size.x + Self.side - 1) >> Self.shift,
            y: (size.y + Self.side - 1) >> Self.shift,
            z: (size.z + Self.side - 1) >> Self.shift
        )
        shape = blocks
        isVisible = [UInt8](repeating: 0, count: blocks.count)
        try voxels.withReaders { readers throws(CancelledError) in
            try isVisible.withParallelBuffer { isVisible throws(CancelledError) in
                try scope.forEach(blocks.z) { k in
                    for j in 0..<blocks.y {
                        for i in 0..<blocks.x {
                            isVisible[blocks.offset(i, j, k)] = Self.visible(SIMD3(i, j, k), readers, voxels, table)
                        }
                    }
                }
            }
        }
    }

    private static func visible(
        _ block: SIMD3<Int>,
        _ readers: RenderedVoxels.Readers,
        _ voxels: RenderedVoxels,
        _ table: TransferFunction.Table
    ) -> UInt8 {
        let (start, size) = (block &<< shift, voxels.shape)
        let end = SIMD3(
            min(start.x + side + 1, size.x),
            min(start.y + side + 1, size.y),
            min(start.z + side + 1, size.z)
        )
        var (lower, upper, isLabelled) = (UInt16.max, UInt16.min, false)
        for z in start.z..<end.z {
            for y in start.y..<end.y {
                let row = readers.intensities + (voxels.origin + start.x + voxels.row * y + voxels.plane * z)
                for x in 0..<end.x - start.x {
                    lower = min(lower, row[x])
                    upper = max(upper, row[x])
                }
                guard let labels = readers.labels?.places, !isLabelled else { continue }
                let places = labels + size.offset(start.x, y, z)
                for x in 0..<end.x - start.x where places[x] != 0 { isLabelled = true }
            }
        }
        return (table.shows(lower, upper) ? 1 : 0) + (isLabelled ? 2 : 0)
    }

    /// The lowest and the highest index of each visible block: from half a voxel before its first voxel, at most to `end`.
    func boxes(until end: SIMD3<Double>) -> [(lower: SIMD3<Double>, upper: SIMD3<Double>)] {
        isVisible.indices.filter { isVisible[$0] != 0 }.map { place in
            let index = SIMD3(place % shape.x, place / shape.x % shape.y, place / shape.sliceCount)
            let lower = SIMD3<Double>(index) * Double(Self.side) - 0.5
            return (lower, pointwiseMin(lower + Double(Self.side) + 0.5, end))
        }
    }
}

extension VisibleBlocks {
    /// The part of a volume in which anything is visible, in mm along R, A and S from the middle of the volume.
    struct Extent: Sendable {
        let middle: SIMD3<Double>
        let size: SIMD3<Double>
        /// The greatest distance of what is visible from the axis along S through the middle.
        let radius: Double

        /// The whole volume where nothing is visible.
        init(_ voxels: RenderedVoxels, _ blocks: VisibleBlocks) {
            func forEachCorner(_ body: (SIMD3<Double>) -> Void) {
                let isEmpty = blocks.isVisible.allSatisfy { $0 == 0 }
                let boxes = isEmpty ? [(SIMD3(repeating: -0.5), voxels.end)] : blocks.boxes(until: voxels.end)
                for (lower, upper) in boxes {
                    for corner in 0..<8 {
                        let share = SIMD3<Double>(SIMD3(corner & 1, corner >> 1 & 1, corner >> 2))
                        body(voxels.affine(lower + (upper - lower) * share))
                    }
                }
            }
            var lower = SIMD3(repeating: Double.infinity)
            var upper = -lower
            forEachCorner { corner in
                lower = pointwiseMin(lower, corner)
                upper = pointwiseMax(upper, corner)
            }
            let middle = (lower + upper) / 2
            var square = 0.0
            forEachCorner { corner in
                let away = corner - middle
                square = max(square, away.x * away.x + away.y * away.y)
            }
            self.middle = middle
            size = upper - lower
            radius = square.squareRoot()
        }
    }
}
