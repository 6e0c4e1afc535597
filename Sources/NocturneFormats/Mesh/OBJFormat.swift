public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Wavefront OBJ, one file for each label, without colours.
public struct OBJFormat: LabelMeshFormat {
    /// The format has no settings.
    public init() {}

    /// "obj".
    public var name: String { "obj" }

    /// Writes text: one line per vertex, in millimetres, and triangle, indices from 1. The first lines are comments that
    /// name the coordinate system and the unit.
    ///
    /// Numbers have the fewest digits that read back to the same float32, whatever the locale.
    /// - Throws: ``MeshFileError``, as ``STLFormat/write(_:frame:to:scope:)`` does.
    /// - Complexity: linear; 256 KiB of memory besides the mesh.
    public func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws {
        try surface.mesh.checkForWriting(to: path)
        var output = try MeshOutput(path: path, scope: scope)
        output.append("# \(frame.meshTag)\n# UNIT=mm\no \(printableASCII(surface.name))\n")
        for vertex in surface.mesh.vertices {
            let place = frame.converted(vertex)
            output.append("v \(place.x) \(place.y) \(place.z)\n")
            try output.spill()
        }
        for triangle in surface.mesh.triangles {
            output.append("f \(UInt64(triangle.x) + 1) \(UInt64(triangle.y) + 1) \(UInt64(triangle.z) + 1)\n")
            try output.spill()
        }
        try output.finish()
    }

    /// Vertices and triangles, converted to RAS+, and the coordinate system named in the comments.
    ///
    /// Files with faces of more than three corners, or with indices of textures or normals, are refused.
    /// - Throws: ``MeshFileError``, naming the line; `CancelledError`, for which the flag is checked every 65,536 lines.
    /// - Complexity: linear; memory for the file's bytes and the mesh.
    public func read(_ label: String, at path: String, flag: CancellationFlag) throws -> MeshFileContents {
        let bytes = try MeshInput(path).readToEnd()
        var frame: PatientFrame?
        var mesh = SurfaceMesh()
        var number = 0
        for line in bytes.split(separator: 10) {
            if number & 0xFFFF == 0 { try flag.check() }
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
                // Adding zero converts -0 to 0.
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
        return MeshFileContents(frame: frame, mesh: mesh)
    }
}

extension MeshSelection {
    /// One file for each label, as text.
    public static let obj = MeshSelection(OBJFormat())
}
