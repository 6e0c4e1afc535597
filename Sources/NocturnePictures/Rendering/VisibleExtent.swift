import NocturneCore

/// The part of a volume in which anything is visible, in mm along R, A and S from the middle of the volume.
struct VisibleExtent: Sendable {
    let middle: SIMD3<Double>
    let size: SIMD3<Double>
    /// The greatest distance of what is visible from the axis along S through the middle.
    let radius: Double

    /// The whole volume where nothing is visible.
    init(_ voxels: RenderedVoxels, _ blocks: VisibleBlocks) {
        func forEachCorner(_ body: (SIMD3<Double>) -> Void) {
            let isEmpty = !blocks.isVisible.contains(1)
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
