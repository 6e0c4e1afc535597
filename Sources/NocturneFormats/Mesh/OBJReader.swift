public import NocturneCore

#if canImport(Glibc)
    internal import Glibc
#endif

/// Reads back what ``OBJWriter`` writes.
public enum OBJReader {
    /// Vertices and triangles, turned to RAS+, and the frame that the comments name.
    ///
    /// Of a face with more corners than three, or with other indices beside that of the vertex, nothing is known here: such a
    /// file is refused.
    /// - Throws: ``MeshFileError``, naming the line.
    /// - Complexity: linear; the file's bytes and the mesh.
    public static func read(at path: String) throws(MeshFileError) -> (frame: PatientFrame?, mesh: SurfaceMesh) {
        let bytes = try content(of: path)
        var frame: PatientFrame?
        var mesh = SurfaceMesh()
        var number = 0
        for line in bytes.split(separator: 10) {
            number += 1
            func invalid(_ detail: String) -> MeshFileError {
                MeshFileError(.invalidMesh, path: path, "line \(number): \(detail)")
            }
            let words = line.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
            switch words.first {
            case "#": frame = frame ?? PatientFrame.allCases.first { words.contains($0.meshTag) }
            case "v":
                let numbers = words.dropFirst().compactMap(Float.init)
                guard words.count == 4, numbers.count == 3, numbers.allSatisfy(\.isFinite) else {
                    throw invalid("is no vertex of three numbers")
                }
                mesh.vertices.append(
                    (frame ?? .lps).converted(SIMD3(numbers[0], numbers[1], numbers[2])) + SIMD3<Float>(repeating: 0)
                )
            case "f":
                let corners = words.dropFirst().compactMap(UInt32.init)
                guard words.count == 4, corners.count == 3, corners.allSatisfy({ $0 > 0 && $0 <= mesh.vertices.count })
                else { throw invalid("is no triangle of vertices above it") }
                mesh.triangles.append(SIMD3(corners[0] - 1, corners[1] - 1, corners[2] - 1))
            default: break
            }
        }
        return (frame, mesh)
    }

    private static func content(of path: String) throws(MeshFileError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw MeshFileError(.unreadable, path: path, "cannot be opened: \(systemMessage())")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw MeshFileError(.unreadable, path: path, "is not an ordinary file")
        }
        var result: [UInt8] = []
        result.reserveCapacity(Int(status.st_size))
        var chunk = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let got = Glibc.read(descriptor, &chunk, chunk.count)
            if got == 0 { return result }
            if got < 0 {
                if errno == EINTR { continue }
                throw MeshFileError(.unreadable, path: path, "cannot be read: \(systemMessage())")
            }
            result.append(contentsOf: chunk[..<got])
        }
    }
}
