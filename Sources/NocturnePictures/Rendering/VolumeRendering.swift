public import NocturneConcurrency
public import NocturneCore

/// A rendering of the whole volume: rays of light pass through it and are absorbed as the transfer function states.
///
/// Parallel rays round the patient's long axis, the head on top; the light comes from the viewer. Shown is the part of the volume
/// in which anything is visible, in mm of the patient's own directions, so an oblique grid is drawn upright. Labels with a
/// colour are smooth surfaces, translucent, and seen also behind what the transfer function makes opaque.
///
/// The bytes of all pictures are the same for any number of threads and for any order in which the same voxels are stored.
public struct VolumeRendering: Sendable {
    /// No ray has more samples.
    private static let mostSamples = 2048.0

    let voxels: RenderedVoxels
    let table: TransferFunction.Table
    /// For the frames of the turn: twice the step takes half of the time.
    let frameTable: TransferFunction.Table
    let blocks: VisibleBlocks
    /// The smallest distance between voxels in mm.
    let spacing: Double
    let extent: VisibleBlocks.Extent

    /// The peak memory in bytes of drawing, in addition to the volume and its labels.
    public static func predictedBytes(_ shape: VolumeShape, threads: Int) -> Int {
        // The pictures, and the rows or frames that threads draw.
        RenderedVoxels.predictedBytes(shape, hasLabels: true) + (4 << 20)
            + max(1, threads) * maximumFramePixelCount * 3
    }

    /// Reduces the volume to at most 256 voxels a side; it is not needed afterwards.
    /// - Parameters:
    ///   - labels: on the volume's own grid; nil for none.
    ///   - colors: red, green and blue.
    /// - Throws: ``CancelledError``; the flag is checked for every plane. `AllocationError`.
    /// - Complexity: every voxel is read once.
    public init(
        _ volume: Volume,
        labels: LabelVolume? = nil,
        colors: [UInt16: SIMD3<UInt8>] = [:],
        function: TransferFunction,
        scope: ComputeScope
    ) throws {
        precondition(
            labels.map { $0.geometry.shape == volume.geometry.shape } ?? true,
            "labels and image lie on one grid"
        )
        voxels = try RenderedVoxels(
            volume,
            labels: labels,
            colors: colors,
            range: function.lower...function.upper,
            scope: scope
        )
        spacing = (0..<3).map { [affine = voxels.affine] in length(affine.column($0)) }.min() ?? 1
        let diagonal = length(voxels.affine.linear(voxels.end + 0.5))
        let step = max(spacing / 2, diagonal / Self.mostSamples)
        table = TransferFunction.Table(function, step: step)
        frameTable = TransferFunction.Table(function, step: 2 * step)
        blocks = try VisibleBlocks(voxels, table, scope: scope)
        extent = VisibleBlocks.Extent(voxels, blocks)
    }
}
