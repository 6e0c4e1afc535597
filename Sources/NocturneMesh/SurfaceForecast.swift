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
        faces = try Self.faces(of: labels, scope)
        self.options = options
        boxBytes = LabelBits.byteCount(shape) + 16 * (shape.y + 2) * (shape.z + 2)
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
        if options.smoothingRounds > 0 || options.tolerance > 0 {
            // The start of each vertex's neighbours, and the points of the previous step. Afterwards, for reducing, the start of each
            // vertex's triangles, the limits, the choices and the removed vertices.
            bytes += 4 * vertices + 12 * triangles
            temporaryPeak = max(temporaryPeak, 32 * vertices)
            if options.tolerance > 0 { temporaryPeak = max(temporaryPeak, 30 * vertices + 4 * triangles) }
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
    ///   - bytes: the memory limit. A label that needs more is processed alone.
    /// - Throws: ``CancelledError``, and what `body` throws.
    public func forEachSurface(
        of values: [UInt16],
        in labels: LabelVolume,
        within bytes: Int,
        scope: ComputeScope,
        _ body: (_ value: UInt16, _ mesh: consuming SurfaceMesh) throws -> Void
    ) throws {
        for batch in batches(of: values, within: bytes) {
            var meshes = try scope.map(batch.count) { index in
                // The only error is cancellation, which the loop itself reports.
                let mesh = try? SurfaceExtractor.surface(of: batch[index], in: labels, options: options, scope: scope)
                return mesh ?? SurfaceMesh()
            }
            for index in batch.indices {
                try scope.check()
                let mesh = meshes[index]
                meshes[index] = SurfaceMesh()
                try body(batch[index], mesh)
            }
        }
    }

    /// The number of voxel faces between each label and everything else, including the border of the volume.
    ///
    /// A surface has exactly one point per face, so this is the size of every surface before any is extracted. Time: one
    /// read of every voxel, at memory speed where neighbours are equal. Memory: 512 KiB per thread.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    private static func faces(of labels: LabelVolume, _ scope: ComputeScope) throws(CancelledError) -> [Int] {
        let shape = labels.geometry.shape
        // Only a few parts, because each keeps a table; the sums are integers, so their order does not matter.
        let parts = max(1, min(scope.width, shape.z))
        let tables = try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            try scope.map(parts) { part in
                var table = [Int](repeating: 0, count: 1 << 16)
                table.withUnsafeMutableBufferPointer { table in
                    for k in shape.z * part / parts..<shape.z * (part + 1) / parts where !scope.flag.isCancelled {
                        add(slice: k, of: voxels.base, shape, to: table.baseAddress!)
                    }
                }
                return table
            }
        }
        return tables.dropFirst().reduce(into: tables[0]) { sums, table in
            for value in sums.indices { sums[value] += table[value] }
        }
    }

    private static func add(
        slice k: Int,
        of voxels: UnsafePointer<UInt16>,
        _ shape: VolumeShape,
        to table: UnsafeMutablePointer<Int>
    ) {
        for j in 0..<shape.y {
            let line = voxels + shape.offset(0, j, k)
            table[Int(line[0])] += 1
            table[Int(line[shape.x - 1])] += 1
            addDifferences(line, line + 1, shape.x - 1, to: table)
            for (step, isFirst, isLast) in [
                (shape.x, j == 0, j == shape.y - 1), (shape.sliceCount, k == 0, k == shape.z - 1),
            ] {
                if isFirst { for i in 0..<shape.x { table[Int(line[i])] += 1 } }
                if isLast {
                    for i in 0..<shape.x { table[Int(line[i])] += 1 }
                } else {
                    addDifferences(line, line + step, shape.x, to: table)
                }
            }
        }
    }

    private static func addDifferences(
        _ a: UnsafePointer<UInt16>,
        _ b: UnsafePointer<UInt16>,
        _ count: Int,
        to table: UnsafeMutablePointer<Int>
    ) {
        let block = 32
        var first = 0
        while first < count {
            let end = min(count, first + block)
            var different: UInt16 = 0
            for i in first..<end { different |= a[i] ^ b[i] }
            if different != 0 {
                for i in first..<end where a[i] != b[i] {
                    table[Int(a[i])] += 1
                    table[Int(b[i])] += 1
                }
            }
            first = end
        }
    }
}
