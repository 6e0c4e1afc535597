public import NocturneCore

/// What a rendering of a volume shows.
public enum RenderingPreset: String, Sendable, Hashable, Codable, CaseIterable {
    /// Bones and contrast medium of a CT in HU; soft tissue is invisible.
    case ctBone = "ct-bone"
    /// Skin, muscles and vessels of a CT in HU around the bones.
    case ctSoftTissue = "ct-soft-tissue"
    /// The bright half of an MR image, whose intensities have no unit: by percentiles of its voxels.
    case mr

    /// Whether the preset presupposes intensities in HU.
    public var needsHounsfieldUnits: Bool { self != .mr }

    /// - Complexity: for ``mr``, a hundred thousand voxels are sorted; the others do not read the volume.
    public func transferFunction(for volume: Volume) -> TransferFunction {
        switch self {
        case .ctBone: Self.bone
        case .ctSoftTissue: Self.softTissue
        case .mr: Self.mr(volume)
        }
    }

    private static let bone = TransferFunction(
        [
            .init(-1024, SIMD3(120, 60, 40), extinction: 0),
            .init(140, SIMD3(150, 60, 45), extinction: 0),
            .init(240, SIMD3(200, 120, 85), extinction: 0.06),
            .init(400, SIMD3(235, 205, 160), extinction: 0.4),
            .init(1000, SIMD3(250, 242, 225), extinction: 1.2),
            .init(3071, SIMD3(255, 255, 255), extinction: 2),
        ],
        surfaceGradient: 50
    )

    private static let softTissue = TransferFunction(
        [
            .init(-1024, SIMD3(200, 150, 130), extinction: 0),
            .init(-400, SIMD3(205, 150, 125), extinction: 0),
            .init(-150, SIMD3(225, 175, 130), extinction: 0.008),
            .init(-30, SIMD3(215, 150, 110), extinction: 0.015),
            .init(30, SIMD3(180, 75, 60), extinction: 0.2),
            .init(120, SIMD3(205, 75, 60), extinction: 0.5),
            .init(220, SIMD3(235, 165, 125), extinction: 0.8),
            .init(500, SIMD3(245, 230, 205), extinction: 1.2),
            .init(3071, SIMD3(255, 255, 255), extinction: 2),
        ],
        surfaceGradient: 30
    )

    /// From the lowest to the highest percentile, with air in the lowest fifth.
    private static func mr(_ volume: Volume) -> TransferFunction {
        let scale = GreyScale(.percentiles, over: SlicedGrid(volume.geometry, through: nil).sampled(volume))
        let width = max(scale.upper - scale.lower, 1e-6 * max(1, abs(scale.lower)))
        func point(_ share: Double, _ color: SIMD3<UInt8>, _ extinction: Double) -> TransferFunction.Point {
            .init(scale.lower + share * width, color, extinction: extinction)
        }
        return TransferFunction(
            [
                point(0, SIMD3(60, 50, 50), 0),
                point(0.2, SIMD3(110, 85, 75), 0),
                point(0.4, SIMD3(175, 140, 120), 0.03),
                point(0.7, SIMD3(225, 205, 185), 0.15),
                point(1, SIMD3(255, 250, 240), 0.4),
            ],
            surfaceGradient: 0.04 * width
        )
    }
}
