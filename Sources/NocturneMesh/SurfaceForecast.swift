public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Predicts the memory for extracting the surfaces of a label map, before any is extracted.
///
/// The number of vertices is exact: one for every voxel face between the label and the rest. The number of triangles,
/// and therefore the bytes, are upper bounds; a smooth surface has two triangles per vertex, and the bound is
/// ``trianglesPerVertex``.
public struct SurfaceForecast: Sendable {
    private let faces: [Int]
    private let options: SurfaceOptions
    /// The size of the bits of a box as large as the volume.
    private let boxBytes: Int

    /// The maximum number of triangles per vertex in the table of cells.
    public static let trianglesPerVertex = 4 * CubeTable.shared.maximumTrianglesPerCut

    /// Reads every voxel once. Memory: 512 KiB per thread of `scope`.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised.
    public init(
        of labels: LabelVolume,
        options: SurfaceOptions = SurfaceOptions(),
        scope: ComputeScope
    ) throws(CancelledError) {
        let shape = labels.geometry.shape
        faces = try FaceCount(of: labels, scope: scope).faces
        self.options = options
        let all = LabelBox(lower: SIMD3(0, 0, 0), upper: SIMD3(shape.x - 1, shape.y - 1, shape.z - 1))
        boxBytes = LabelBits.byteCount(all) + 16 * (shape.y + 2) * (shape.z + 2)
    }

    /// The exact number of vertices of the surface of a label; 0 when the label is absent.
    public func vertexCount(of value: UInt16) -> Int { faces[Int(value)] }

    /// The peak memory in bytes of ``SurfaceExtractor/surface(of:in:options:scope:)`` for a label, including its
    /// result.
    public func workingBytes(of value: UInt16) -> Int {
        let vertices = vertexCount(of: value)
        guard vertices > 0 else { return 0 }
        let triangles = triangleBound(vertices)
        // Points and the volumes assigned to them.
        var bytes = 36 * vertices + 16 * triangles
        var temporaryPeak = 16 * vertices
        if options.smoothingRounds > 0 {
            // The start of each vertex's neighbours, and the points of the previous step.
            bytes += 4 * vertices + 12 * triangles
            temporaryPeak = max(temporaryPeak, 32 * vertices)
        }
        if options.restoresVolume {
            // The shell of each vertex and their sums (at least 8 vertices each), and normals.
            bytes += 4 * vertices + 14 * vertices
            temporaryPeak = max(temporaryPeak, 32 * vertices)
        }
        return boxBytes + bytes + temporaryPeak
    }

    private func triangleBound(_ vertices: Int) -> Int {
        Int((Double(vertices) * Self.trianglesPerVertex).rounded(.up))
    }

    /// Labels in batches that can be processed at the same time: in the given order, as many together as fit in
    /// `bytes`; a label that exceeds this limit forms its own batch. Absent labels are omitted.
    public func batches(of values: [UInt16], within bytes: Int) -> [[UInt16]] {
        var batches: [[UInt16]] = []
        var room = 0
        for value in values where vertexCount(of: value) > 0 {
            let needed = workingBytes(of: value)
            if batches.isEmpty || needed > room {
                batches.append([value])
                room = bytes - needed
            } else {
                batches[batches.count - 1].append(value)
                room -= needed
            }
        }
        return batches
    }

    /// The peak memory in bytes for the labels when they are processed in batches of at most `bytes`.
    public func peakBytes(of values: [UInt16], within bytes: Int) -> Int {
        batches(of: values, within: bytes).map { $0.reduce(0) { $0 + workingBytes(of: $1) } }.max() ?? 0
    }
}

extension SurfaceForecast {
    /// Extracts the surfaces of several labels in bounded memory, and passes each to `body`, after which it is freed.
    ///
    /// Labels that fit in `bytes` together are processed at the same time, on all idle threads; then `body` gets them
    /// one by one, in the order of `values`, on the calling thread. The meshes are those of
    /// ``SurfaceExtractor/surface(of:in:options:scope:)`` with the options of the forecast.
    /// - Parameters:
    ///   - values: absent labels are skipped.
    ///   - labels: those of the forecast.
    ///   - bytes: the memory limit. A label that needs more is processed alone: see ``peakBytes(of:within:)``.
    /// - Throws: ``CancelledError``, and what `body` throws.
    public func forEachSurface(
        of values: [UInt16],
        in labels: LabelVolume,
        within bytes: Int,
        scope: ComputeScope,
        _ body: (_ value: UInt16, _ mesh: consuming SurfaceMesh) throws -> Void
    ) throws {
        for batch in batches(of: values, within: bytes) {
            var meshes = [SurfaceMesh](repeating: SurfaceMesh(), count: batch.count)
            try meshes.withParallelBuffer { target throws(CancelledError) in
                try scope.forEach(batch.count) { index in
                    // The only error is cancellation, which the loop itself reports.
                    let mesh = try? SurfaceExtractor.surface(
                        of: batch[index],
                        in: labels,
                        options: options,
                        scope: scope
                    )
                    if let mesh { target[index] = mesh }
                }
            }
            for index in batch.indices {
                try scope.check()
                let mesh = meshes[index]
                meshes[index] = SurfaceMesh()
                try body(batch[index], mesh)
            }
        }
    }
}
