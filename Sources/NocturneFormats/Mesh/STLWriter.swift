public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Writes binary STL: 80 bytes of header, the number of triangles, and 50 bytes per triangle.
public enum STLWriter {
    /// Writes `mesh` in millimetres.
    ///
    /// The header is `SPACE=LPS UNIT=mm` (or `SPACE=RAS`, as 3D Slicer tags its files) and the name, shortened to fit,
    /// with `_` for anything but printable ASCII. Normals are computed from the corners; a triangle without area has a
    /// zero normal. LPS negates x and y, which is a rotation, so corners stay counter-clockwise seen from outside.
    ///
    /// - Throws: ``MeshFileError``: `invalidMesh` before anything is written, `cannotWrite` with the system's reason;
    ///   `CancelledError`. The caller removes a partial file.
    /// - Complexity: linear; 256 KiB of memory besides the mesh.
    public static func write(
        _ mesh: SurfaceMesh,
        frame: PatientFrame,
        name: String,
        to path: String,
        scope: ComputeScope = .serial()
    ) throws {
        try mesh.checkForWriting(to: path)
        var output = try MeshOutput(path: path, scope: scope)
        var header = Array("\(frame.meshTag) UNIT=mm \(printableASCII(name))".utf8.prefix(80))
        header += [UInt8](repeating: 0, count: 80 - header.count)
        output.append(header)
        output.append(UInt32(mesh.triangles.count))
        for triangle in mesh.triangles {
            let a = frame.converted(mesh.vertices[Int(triangle.x)])
            let b = frame.converted(mesh.vertices[Int(triangle.y)])
            let c = frame.converted(mesh.vertices[Int(triangle.z)])
            output.append(normal(a, b, c))
            output.append(a)
            output.append(b)
            output.append(c)
            output.append(UInt16(0))
            try output.spill()
        }
        try output.finish()
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
