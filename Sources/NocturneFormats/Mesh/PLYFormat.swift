public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Binary PLY (little endian), one file for each label, every vertex in the label's colour.
///
/// Positions are float32 millimetres; the comments `SPACE=LPS` (or `SPACE=RAS`) and `UNIT=mm` state coordinate system
/// and unit.
public struct PLYFormat: LabelMeshFormat {
    /// The format has no settings.
    public init() {}

    /// "ply".
    public var name: String { "ply" }

    /// Writes 15 bytes for each vertex and 13 for each triangle, after a header in text.
    /// - Throws: ``MeshFileError``; also for more vertices than an index of 31 bits can name. `CancelledError`.
    /// - Complexity: linear; 256 KiB of memory besides the mesh.
    public func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws {
        let mesh = surface.mesh
        try mesh.checkForWriting(to: path)
        // Indices are of the type `int`, which readers take for signed.
        guard mesh.vertices.count <= Int32.max else {
            throw MeshFileError(
                .invalidMesh,
                path: path,
                "\(mesh.vertices.count) vertices are more than a file can hold"
            )
        }
        var output = try MeshOutput(path: path, scope: scope)
        output.append(Header(frame: frame, vertexCount: mesh.vertices.count, faceCount: mesh.triangles.count).text)
        let color = [surface.color.x, surface.color.y, surface.color.z]
        for vertex in mesh.vertices {
            output.append(frame.converted(vertex))
            output.append(color)
            try output.spill()
        }
        for triangle in mesh.triangles {
            output.append([3])
            output.append(triangle)
            try output.spill()
        }
        try output.finish()
    }

    /// Reads only files with exactly the properties that ``write(_:frame:to:scope:)`` writes. The size of the file must
    /// agree with its header, which is checked before anything is allocated.
    public func read(_ label: String, at path: String, flag: CancellationFlag) throws -> MeshFileContents {
        let input = try MeshInput(path)
        let (header, start) = try Header.read(input)
        let (vertexBytes, faceBytes) = (
            header.vertexCount * Header.vertexBytes, header.faceCount * Header.faceBytes
        )
        let needed = start + vertexBytes + faceBytes
        guard input.byteCount >= needed else {
            throw MeshFileError(.truncated, path: path, "ends after \(input.byteCount) of \(needed) bytes")
        }
        guard input.byteCount == needed else {
            throw MeshFileError(
                .wrongTriangleCount,
                path: path,
                "\(input.byteCount) bytes, where its faces end at \(needed)"
            )
        }
        var mesh = SurfaceMesh()
        var color: SIMD3<UInt8>?
        let vertices = try input.read(count: vertexBytes, at: start)
        let faces = try input.read(count: faceBytes, at: start + vertexBytes)
        guard vertices.count == vertexBytes, faces.count == faceBytes else {
            throw MeshFileError(.truncated, path: path, "was truncated while it was read")
        }
        mesh.vertices.reserveCapacity(header.vertexCount)
        for offset in stride(from: 0, to: vertexBytes, by: Header.vertexBytes) {
            // Adding zero converts -0 to 0.
            let place = (header.frame ?? .lps).converted(vertices.vector(at: offset)) + SIMD3<Float>(repeating: 0)
            guard place.isFinite else { throw MeshFileError(.invalidMesh, path: path, "a corner is not finite") }
            mesh.vertices.append(place)
            color = color ?? SIMD3(vertices[offset + 12], vertices[offset + 13], vertices[offset + 14])
        }
        try flag.check()
        mesh.triangles.reserveCapacity(header.faceCount)
        let limit = UInt32(header.vertexCount)
        for offset in stride(from: 0, to: faceBytes, by: Header.faceBytes) {
            let triangle = faces.corners(at: offset + 1)
            guard faces[offset] == 3, triangle.x < limit, triangle.y < limit, triangle.z < limit else {
                throw MeshFileError(.invalidMesh, path: path, "a face is not a triangle of its vertices")
            }
            mesh.triangles.append(triangle)
        }
        return MeshFileContents(frame: header.frame, mesh: mesh, color: color)
    }
}

extension MeshSelection {
    /// One coloured file for each label.
    public static let ply = MeshSelection(PLYFormat())
}

extension PLYFormat {
    /// The text header before the binary data.
    private struct Header {
        let frame: PatientFrame?
        let vertexCount: Int
        let faceCount: Int

        /// Bytes of a position and a colour.
        static let vertexBytes = 15
        /// Bytes of a count and three indices.
        static let faceBytes = 13

        private static let largest = 1024
        private static let end = "end_header\n"

        var text: String {
            let comments = frame.map { "comment \($0.meshTag)\ncomment UNIT=mm\n" } ?? ""
            return "ply\nformat binary_little_endian 1.0\n" + comments + elements + Self.end
        }

        private var elements: String {
            "element vertex \(vertexCount)\nproperty float x\nproperty float y\nproperty float z\n"
                + "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                + "element face \(faceCount)\nproperty list uchar int vertex_indices\n"
        }

        /// Reads the header and determines where the data begins.
        static func read(_ input: borrowing MeshInput) throws(MeshFileError) -> (header: Header, dataOffset: Int) {
            let path = input.path
            let bytes = try input.read(count: largest, at: 0)
            guard bytes.starts(with: "ply\n".utf8) else {
                throw bytes.count < 4
                    ? MeshFileError(.truncated, path: path, "the header ends after \(bytes.count) bytes")
                    : MeshFileError(.wrongFormat, path: path, "is not a PLY file")
            }
            // Latin-1: one character per byte.
            let text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            guard let tail = text.unicodeScalars.firstRange(of: end.unicodeScalars) else {
                throw MeshFileError(.truncated, path: path, "the header does not end within \(bytes.count) bytes")
            }
            let lines = text[..<tail.lowerBound].split(separator: "\n")
            func count(_ element: String) -> Int? {
                lines.first { $0.hasPrefix("element \(element) ") }.flatMap { Int($0.dropFirst(9 + element.count)) }
            }
            guard let vertexCount = count("vertex"), let faceCount = count("face"),
                (0...Int(Int32.max)).contains(vertexCount), (0...Int(Int32.max)).contains(faceCount)
            else { throw MeshFileError(.wrongFormat, path: path, "has no vertices and faces") }
            let frame = PatientFrame.allCases.first { lines.contains("comment \($0.meshTag)") }
            let header = Header(frame: frame, vertexCount: vertexCount, faceCount: faceCount)
            let stated = lines.filter { !$0.hasPrefix("comment") }.joined(separator: "\n") + "\n"
            guard stated == "ply\nformat binary_little_endian 1.0\n" + header.elements else {
                throw MeshFileError(.wrongFormat, path: path, "its vertices are not positions and colours in binary")
            }
            return (header, text.unicodeScalars.distance(from: text.startIndex, to: tail.upperBound))
        }
    }
}
