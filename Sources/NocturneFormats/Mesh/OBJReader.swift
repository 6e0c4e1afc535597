public import NocturneCore
public import NocturneSystem

/// Reads the files that ``OBJWriter`` writes.
public enum OBJReader {
    /// Vertices and triangles, converted to RAS+, and the coordinate system named in the comments.
    ///
    /// Files with faces of more than three corners, or with indices of textures or normals, are refused.
    /// - Throws: ``MeshFileError``, naming the line.
    /// - Complexity: linear; memory for the file's bytes and the mesh.
    public static func read(at path: String) throws(MeshFileError) -> (frame: PatientFrame?, mesh: SurfaceMesh) {
        let bytes = try MeshInput(path).readToEnd()
        var frame: PatientFrame?
        var mesh = SurfaceMesh()
        var number = 0
        for line in bytes.split(separator: 10) {
            number += 1
            func invalid(_ detail: String) -> MeshFileError {
                MeshFileError(.invalidMesh, path: path, "line \(number): \(detail)")
            }
            let tokens = line.split(separator: 32).map { String(decoding: $0, as: UTF8.self) }
            switch tokens.first {
            case "#": frame = frame ?? PatientFrame.allCases.first { tokens.contains($0.meshTag) }
            case "v":
                let numbers = tokens.dropFirst().compactMap(Float.init)
                guard tokens.count == 4, numbers.count == 3, numbers.allSatisfy(\.isFinite) else {
                    throw invalid("invalid vertex: expected three finite numbers")
                }
                mesh.vertices.append(
                    (frame ?? .lps).converted(SIMD3(numbers[0], numbers[1], numbers[2])) + SIMD3<Float>(repeating: 0)
                )
            case "f":
                let corners = tokens.dropFirst().compactMap(UInt32.init)
                guard tokens.count == 4, corners.count == 3, corners.allSatisfy({ $0 > 0 && $0 <= mesh.vertices.count })
                else { throw invalid("invalid face: expected three previously defined vertices") }
                mesh.triangles.append(SIMD3(corners[0] - 1, corners[1] - 1, corners[2] - 1))
            default: break
            }
        }
        return (frame, mesh)
    }
}
