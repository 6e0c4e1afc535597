public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Writes Wavefront OBJ: text, one line per vertex and triangle, indices from 1.
public enum OBJWriter {
    /// Writes `mesh` in millimetres. The first lines are comments that name the coordinate system and the unit.
    ///
    /// Numbers have the fewest digits that read back to the same float32, whatever the locale.
    ///
    /// - Throws: ``MeshFileError``, as ``STLWriter/write(_:frame:name:to:scope:)`` does.
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
        output.append("# \(frame.meshTag)\n# UNIT=mm\no \(printableASCII(name))\n")
        for vertex in mesh.vertices {
            let place = frame.converted(vertex)
            output.append("v \(place.x) \(place.y) \(place.z)\n")
            try output.spill()
        }
        for triangle in mesh.triangles {
            output.append("f \(UInt64(triangle.x) + 1) \(UInt64(triangle.y) + 1) \(UInt64(triangle.z) + 1)\n")
            try output.spill()
        }
        try output.finish()
    }
}
