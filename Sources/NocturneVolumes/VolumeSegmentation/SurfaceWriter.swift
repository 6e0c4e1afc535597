import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturneRecipeSupport
import NocturneSystem

/// Writes the surfaces of an item in one format, and describes them for its result.
final class SurfaceWriter {
    private let format: any MeshFormat
    private let frame: PatientFrame
    private let writer: any MeshWriter

    /// - Parameter folder: an existing folder.
    init(_ format: any MeshFormat, frame: PatientFrame, folder: String, scope: ComputeScope) {
        self.format = format
        self.frame = frame
        writer = format.makeWriter(in: folder, frame: frame, scope: scope)
    }

    /// - Parameter name: the label's: the file's base name, or the node's name in a scene.
    func write(_ surface: SurfaceMesh, name: String, color: SIMD3<UInt8>) throws -> SegmentationResult.Mesh {
        let measures = MeshMeasures(of: surface)
        return try write(surface, name: name, color: color, area: measures.area, volume: measures.signedVolume)
    }

    /// - Parameters:
    ///   - area: in mm².
    ///   - volume: enclosed, in mm³.
    func write(
        _ surface: SurfaceMesh,
        name: String,
        color: SIMD3<UInt8>,
        area: Double,
        volume: Double
    ) throws -> SegmentationResult.Mesh {
        let file = try writer.add(LabelSurface(name: name, color: color, mesh: surface))
        return SegmentationResult.Mesh(
            file: "meshes/" + file,
            node: format.layout == .scene ? name : nil,
            frame: frame.rawValue.uppercased(),
            triangles: surface.triangles.count,
            areaMm2: SegmentationResult.rounded(area),
            volumeMm3: SegmentationResult.rounded(volume)
        )
    }

    /// Call after the last surface.
    func finish() throws { try writer.finish() }
}

extension Collection where Element == SegmentationResult.Mesh {
    /// The files that hold these surfaces, sorted.
    var fileNames: [String] { Set(map(\.file)).sorted() }
}
