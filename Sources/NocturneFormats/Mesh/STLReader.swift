public import NocturneCore
public import NocturneSystem

/// The contents of a binary STL file.
public struct STLContents: Sendable {
    /// The text of the 80 header bytes, up to the first zero.
    public let headerText: String
    /// The coordinate system that the header names; nil when it names none.
    public let frame: PatientFrame?
    /// The surface in RAS+, with equal corners merged into one vertex, in the order of first appearance.
    public let mesh: SurfaceMesh
    /// The normals as stored, converted to RAS+, one per triangle.
    public let normals: [SIMD3<Float>]
}

/// Reads binary STL.
public enum STLReader {
    /// Reads the file and merges corners that are bit-identical (0 and -0 count as equal).
    ///
    /// - Parameter assuming: the coordinate system to use when the header names none. 3D Slicer assumes LPS.
    /// - Throws: ``MeshFileError``. The number of triangles must agree exactly with the size of the file, which is
    ///   checked before anything is allocated; a corner that is not finite is refused.
    /// - Complexity: linear; about 100 bytes per triangle.
    public static func read(at path: String, assuming: PatientFrame = .lps) throws(MeshFileError) -> STLContents {
        let input = try MeshInput(path)
        let size = input.byteCount
        let start = try input.read(count: 84)
        guard start.count == 84 else {
            throw MeshFileError(.truncated, path: path, "the header ends after \(start.count) of 84 bytes")
        }
        let count = Int(start.littleEndian(at: 80, as: UInt32.self))
        let needed = 84 + 50 * count
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
        var merger = VertexMerger(frame: frame ?? assuming)
        let batch = 4096
        for first in stride(from: 0, to: count, by: batch) {
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
        return STLContents(headerText: headerText, frame: frame, mesh: merger.mesh, normals: merger.normals)
    }
}

/// Merges equal corners as triangles are added.
private struct VertexMerger {
    let frame: PatientFrame
    private(set) var mesh = SurfaceMesh()
    private(set) var normals: [SIMD3<Float>] = []
    private var known: [SIMD3<UInt32>: UInt32] = [:]

    init(frame: PatientFrame) { self.frame = frame }

    /// False when a corner is not finite.
    mutating func add(_ records: [UInt8], at offset: Int) -> Bool {
        var corners = SIMD3<UInt32>()
        for corner in 0..<3 {
            // Adding zero converts -0 to 0.
            let vertex = frame.converted(records.vector(at: offset + 12 * (corner + 1))) + SIMD3<Float>(repeating: 0)
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
        normals.append(frame.converted(records.vector(at: offset)))
        return true
    }
}
