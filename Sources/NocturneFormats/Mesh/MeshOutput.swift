internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// A mesh file being written through a buffer of 256 KiB.
struct MeshOutput: ~Copyable {
    private let scope: ComputeScope
    private var output: FileDescriptor
    private var buffer: [UInt8] = []
    private static let capacity = 256 << 10

    init(path: String, scope: ComputeScope) throws(MeshFileError) {
        self.scope = scope
        do { output = try FileDescriptor(creating: path) } catch { throw MeshFileError(.cannotWrite, writing: error) }
        buffer.reserveCapacity(MeshOutput.capacity + 4096)
    }

    mutating func append(_ text: String) { buffer.append(contentsOf: text.utf8) }

    mutating func append(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    mutating func append(_ value: UInt16) {
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    mutating func append(_ corners: SIMD3<UInt32>) {
        append(corners.x)
        append(corners.y)
        append(corners.z)
    }

    mutating func append(_ vector: SIMD3<Float>) {
        append(vector.x.bitPattern)
        append(vector.y.bitPattern)
        append(vector.z.bitPattern)
    }

    mutating func append(_ bytes: [UInt8]) { buffer.append(contentsOf: bytes) }

    /// Writes the buffer when it is full, and then checks the flag. Must be called after each record.
    mutating func spill() throws {
        if buffer.count >= MeshOutput.capacity { try flush() }
    }

    mutating func finish() throws {
        try flush()
        do { try output.close() } catch { throw MeshFileError(.cannotWrite, writing: error) }
    }

    private mutating func flush() throws {
        try scope.check()
        do { try output.write(buffer) } catch { throw MeshFileError(.cannotWrite, writing: error) }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension SurfaceMesh {
    /// Refuses a mesh that a reader could not use.
    func checkForWriting(to path: String) throws(MeshFileError) {
        guard triangles.count <= Int(UInt32.max) else {
            throw MeshFileError(.invalidMesh, path: path, "\(triangles.count) triangles are more than a file can hold")
        }
        guard vertices.allSatisfy(\.isFinite) else {
            throw MeshFileError(.invalidMesh, path: path, "cannot be written: a vertex is not finite")
        }
        let count = UInt32(clamping: vertices.count)
        if let bad = triangles.firstIndex(where: { $0.x >= count || $0.y >= count || $0.z >= count }) {
            throw MeshFileError(
                .invalidMesh,
                path: path,
                "cannot be written: triangle \(bad) refers to a missing vertex"
            )
        }
    }
}

extension PatientFrame {
    /// The tag that 3D Slicer writes and reads in mesh headers.
    var meshTag: String { self == .lps ? "SPACE=LPS" : "SPACE=RAS" }

    /// Converts a position from RAS+ to this coordinate system, or the other way round. It is a rotation by 180° about
    /// z, so the order of corners stays. Subtracting from zero avoids -0 in the files.
    func converted(_ position: SIMD3<Float>) -> SIMD3<Float> {
        self == .ras ? position : SIMD3(0 - position.x, 0 - position.y, position.z)
    }
}

/// The name reduced to printable ASCII, for headers and comments.
func printableASCII(_ name: String) -> String {
    String(decoding: name.utf8.map { (32..<127).contains($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
}
