internal import NocturneCore

extension VolumeGeometry {
    /// From the map to DICOM's frame, LPS+ mm.
    init(shape: VolumeShape, lps: Affine) {
        let ras = lps.flippedBetweenRASAndLPS
        // Adding zero makes -0, which the flip leaves behind, a plain 0.
        let zero = SIMD3<Double>.zero
        self.init(
            shape: shape,
            affine: Affine(
                columnI: ras.columnI + zero,
                columnJ: ras.columnJ + zero,
                columnK: ras.columnK + zero,
                translation: ras.translation + zero
            )
        )
    }
}
