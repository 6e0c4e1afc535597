import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturneSystem

/// Writes surfaces, and says what is in them.
struct SurfaceWriter {
    let options: SegmentationOptions
    /// An existing folder.
    let folder: String

    /// - Parameter name: of the label: the file's, without its ending.
    func write(_ surface: SurfaceMesh, name: String, scope: ComputeScope) throws -> SegmentationResult.Mesh {
        let file = "\(name).\(options.meshes.rawValue)"
        let path = folder + "/" + file
        if options.meshes == .obj {
            try OBJWriter.write(surface, frame: options.frame, name: name, to: path, scope: scope)
        } else {
            try STLWriter.write(surface, frame: options.frame, name: name, to: path, scope: scope)
        }
        let measures = MeshMeasures(of: surface)
        return SegmentationResult.Mesh(
            file: "meshes/" + file,
            frame: options.frame.rawValue.uppercased(),
            triangles: surface.triangles.count,
            areaMm2: SegmentationResult.rounded(measures.area),
            volumeMm3: SegmentationResult.rounded(measures.signedVolume)
        )
    }
}
