public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// What making the surfaces of a label map will take, known before any is made.
///
/// The number of vertices is exact: one for every voxel face between the label and the rest. The number of triangles,
/// and so the bytes, are upper bounds; a surface of smooth shape has two triangles a vertex, and the bound is
/// ``trianglesPerVertex``.
public struct SurfaceForecast: Sendable {
    private let faces: [Int]
    private let options: SurfaceOptions
    /// The bits of a box as large as the volume.
    private let boxBytes: Int

    /// The most triangles that the table of cells makes of a vertex.
    public static let trianglesPerVertex = 4 * CubeTable.shared.mostTrianglesPerCut

    /// Looks at every voxel once. Memory: 512 KiB a thread of `scope`.
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

    /// The vertices that the surface of a label will have, exactly; 0 when the label is absent.
    public func vertexCount(of value: UInt16) -> Int { faces[Int(value)] }

    /// The most bytes that ``SurfaceExtractor/surface(of:in:options:scope:)`` holds at a time for a label, its result
    /// included.
    public func workingBytes(of value: UInt16) -> Int {
        let vertices = vertexCount(of: value)
        guard vertices > 0 else { return 0 }
        let triangles = triangleBound(vertices)
        // Points and what they account for.
        var bytes = 36 * vertices + 16 * triangles
        var whileWorking = 16 * vertices
        if options.smoothingRounds > 0 {
            // Where each vertex's neighbours are, and the points of the step before.
            bytes += 4 * vertices + 12 * triangles
            whileWorking = max(whileWorking, 32 * vertices)
        }
        if options.restoresVolume {
            // The shell of each vertex and their sums (at least 8 vertices each), and normals.
            bytes += 4 * vertices + 14 * vertices
            whileWorking = max(whileWorking, 32 * vertices)
        }
        return boxBytes + bytes + whileWorking
    }

    /// The most bytes of the mesh that results.
    public func meshBytes(of value: UInt16) -> Int {
        16 * vertexCount(of: value) + 16 * triangleBound(vertexCount(of: value))
    }

    private func triangleBound(_ vertices: Int) -> Int {
        Int((Double(vertices) * Self.trianglesPerVertex).rounded(.up))
    }

    /// Labels in batches that can be made at the same time: in the order given, as many together as fit in `bytes`, one
    /// alone when it is larger than that by itself. Absent labels are left out.
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

    /// The most bytes that the labels take when they are made in batches of at most `bytes`.
    public func peakBytes(of values: [UInt16], within bytes: Int) -> Int {
        batches(of: values, within: bytes).map { $0.reduce(0) { $0 + workingBytes(of: $1) } }.max() ?? 0
    }
}

extension SurfaceExtractor {
    /// Makes the surfaces of several labels in bounded memory, and hands each over to be written and let go.
    ///
    /// Labels that fit in `bytes` together are made at the same time, on all idle threads; then `body` gets them one by
    /// one, in the order of `values`, on the calling thread. The meshes are those of ``surface(of:in:options:scope:)``.
    /// - Parameters:
    ///   - values: absent labels are passed over.
    ///   - bytes: what may be held at a time. A label that needs more is made alone: see
    ///     ``SurfaceForecast/peakBytes(of:within:)``.
    ///   - known: the forecast of these labels and options where it was made already; it costs a pass over the labels.
    /// - Throws: ``CancelledError``, and what `body` throws.
    public static func forEachSurface(
        of values: [UInt16],
        in labels: LabelVolume,
        options: SurfaceOptions = SurfaceOptions(),
        within bytes: Int,
        forecast known: SurfaceForecast? = nil,
        scope: ComputeScope,
        _ body: (_ value: UInt16, _ mesh: consuming SurfaceMesh) throws -> Void
    ) throws {
        let forecast = try known ?? SurfaceForecast(of: labels, options: options, scope: scope)
        for batch in forecast.batches(of: values, within: bytes) {
            var meshes = [SurfaceMesh](repeating: SurfaceMesh(), count: batch.count)
            try meshes.withParallelBuffer { target throws(CancelledError) in
                try scope.forEach(batch.count) { index in
                    // The only error is cancellation, which the loop itself reports.
                    guard let mesh = try? surface(of: batch[index], in: labels, options: options, scope: scope) else {
                        return
                    }
                    target[index] = mesh
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
