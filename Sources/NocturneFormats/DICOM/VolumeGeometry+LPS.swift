internal import NocturneCore

extension VolumeGeometry {
    /// From the map to DICOM's coordinate system, LPS+ mm.
    init(shape: VolumeShape, lps: Affine) {
        let ras = lps.flippedBetweenRASAndLPS
        // Adding zero converts -0, which results from the sign change, to 0.
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
