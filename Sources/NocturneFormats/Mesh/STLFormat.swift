public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Binary STL, one file for each label, without colours.
public struct STLFormat: LabelMeshFormat {
    /// The format has no settings.
    public init() {}

    /// "stl".
    public var name: String { "stl" }

    /// Writes 80 bytes of header, the number of triangles, and 50 bytes per triangle, in millimetres.
    ///
    /// The header is `SPACE=LPS UNIT=mm` (or `SPACE=RAS`, as 3D Slicer tags its files) and the name, shortened to fit,
    /// with `_` for anything but printable ASCII. Normals are computed from the corners; a triangle without area has a
    /// zero normal. LPS negates x and y, which is a rotation, so corners stay counter-clockwise seen from outside.
    ///
    /// - Throws: ``MeshFileError``: `invalidMesh` before anything is written, `cannotWrite` with the system's reason;
    ///   `CancelledError`. The caller removes a partial file.
    /// - Complexity: linear; 256 KiB of memory besides the mesh.
    public func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws {
        let mesh = surface.mesh
        try mesh.checkForWriting(to: path)
        var output = try MeshOutput(path: path, scope: scope)
        var header = Array("\(frame.meshTag) UNIT=mm \(printableASCII(surface.name))".utf8.prefix(80))
        header += [UInt8](repeating: 0, count: 80 - header.count)
        output.append(header)
        output.append(UInt32(mesh.triangles.count))
        for triangle in mesh.triangles {
            let a = frame.converted(mesh.vertices[Int(triangle.x)])
            let b = frame.converted(mesh.vertices[Int(triangle.y)])
            let c = frame.converted(mesh.vertices[Int(triangle.z)])
            output.append(Self.normal(a, b, c))
            output.append(a)
            output.append(b)
            output.append(c)
            output.append(UInt16(0))
            try output.spill()
        }
        try output.finish()
    }

    /// Reads the file and merges corners that are bit-identical (0 and -0 count as equal), in the order of first appearance.
    /// As in 3D Slicer, coordinates are LPS where the header names no coordinate system.
    ///
    /// - Throws: ``MeshFileError``. The number of triangles must agree exactly with the size of the file, which is
    ///   checked before anything is allocated; a corner that is not finite is refused. `CancelledError`.
    /// - Complexity: linear; less than 100 bytes per triangle.
    public func read(_ label: String, at path: String, flag: CancellationFlag) throws -> MeshFileContents {
        let input = try MeshInput(path)
        let size = input.byteCount
        let start = try input.read(count: 84)
        guard start.count == 84 else {
            throw MeshFileError(.truncated, path: path, "the header ends after \(start.count) of 84 bytes")
        }
        let count = Int(start.littleEndian(at: 80, as: UInt32.self))
        // 80 bytes of header and a count, then 12 numbers of 4 bytes and an attribute of 2 for each triangle.
        let needed = 84 + 50 * count
        // Binary files may begin with "solid", too: only the size shows which form it is.
        if size != needed, start.starts(with: "solid".utf8) {
            throw MeshFileError(.wrongFormat, path: path, "not a binary STL file (text STL is not supported)")
        }
        if size < needed {
            throw MeshFileError(
                .truncated,
                path: path,
                "ends after \(size) of the \(needed) bytes of \(count) triangles"
            )
        }
        if size > needed {
            throw MeshFileError(
                .wrongTriangleCount,
                path: path,
                "\(size) bytes, where \(count) triangles take \(needed)"
            )
        }
        let headerText = String(decoding: start[..<80].prefix { $0 != 0 }, as: UTF8.self)
        let frame = PatientFrame.allCases.first { headerText.contains($0.meshTag) }
        var merger = VertexMerger(frame: frame ?? .lps)
        // 200 KiB are read at a time.
        let batch = 4096
        for first in stride(from: 0, to: count, by: batch) {
            try flag.check()
            let here = min(batch, count - first)
            let records = try input.read(count: 50 * here)
            guard records.count == 50 * here else {
                throw MeshFileError(.truncated, path: path, "was truncated while it was read")
            }
            for index in 0..<here {
                guard merger.add(records, at: 50 * index) else {
                    throw MeshFileError(
                        .invalidMesh,
                        path: path,
                        "a corner of triangle \(first + index) is not finite"
                    )
                }
            }
        }
        return MeshFileContents(frame: frame, mesh: merger.mesh)
    }

    /// Computed in double: the edges of a fine mesh are small differences of large numbers.
    private static func normal(_ a: SIMD3<Float>, _ b: SIMD3<Float>, _ c: SIMD3<Float>) -> SIMD3<Float> {
        let origin = SIMD3<Double>(a)
        let across = cross(SIMD3<Double>(b) - origin, SIMD3<Double>(c) - origin)
        let size = length(across)
        guard size > 0, size.isFinite else { return .zero }
        return SIMD3<Float>(across / size)
    }
}

extension MeshSelection {
    /// One binary file for each label.
    public static let stl = MeshSelection(STLFormat())
}

extension STLFormat {
    /// Merges equal corners as triangles are added.
    private struct VertexMerger {
        let frame: PatientFrame
        private(set) var mesh = SurfaceMesh()
        private var known: [SIMD3<UInt32>: UInt32] = [:]

        init(frame: PatientFrame) { self.frame = frame }

        /// False when a corner is not finite.
        mutating func add(_ records: [UInt8], at offset: Int) -> Bool {
            var corners = SIMD3<UInt32>()
            for corner in 0..<3 {
                // Adding zero converts -0 to 0.
                let vertex =
                    frame.converted(records.vector(at: offset + 12 * (corner + 1))) + SIMD3<Float>(repeating: 0)
                guard vertex.isFinite else { return false }
                let key = SIMD3(vertex.x.bitPattern, vertex.y.bitPattern, vertex.z.bitPattern)
                if let index = known[key] {
                    corners[corner] = index
                } else {
                    corners[corner] = UInt32(mesh.vertices.count)
                    known[key] = corners[corner]
                    mesh.vertices.append(vertex)
                }
            }
            mesh.triangles.append(corners)
            return true
        }
    }
}
