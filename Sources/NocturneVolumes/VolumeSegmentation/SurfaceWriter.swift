import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturneSystem

/// Writes the surfaces of an item in one format, and describes them for its result.
final class SurfaceWriter {
    private let format: any MeshFormat
    private let options: SurfaceOptions
    /// Of coordinates in the files.
    private let frame: PatientFrame
    /// Into the folder of surfaces in staging.
    private let writer: any MeshWriter
    private let scope: ComputeScope

    /// Makes the folder for surfaces in an item's staging folder.
    /// - Returns: nil if no surfaces are asked for.
    /// - Throws: `FileSystemError`.
    init?(_ options: SurfaceOptions, _ context: StageContext) throws {
        guard let format = options.meshes.format else { return nil }
        let folder = Self.folder(in: context)
        try FileSystem.makeFolder(context.staging)
        try FileSystem.makeEmptyFolder(folder)
        self.format = format
        self.options = options
        frame = options.frame
        scope = context.scope
        writer = format.makeWriter(in: folder, frame: frame, scope: context.scope)
    }

    /// The folder of the surfaces in an item's staging folder.
    private static func folder(in context: StageContext) -> String { context.staging + "/meshes" }

    /// A label whose surface is written.
    struct Label {
        let value: UInt16
        /// For people.
        let name: Sentence
        /// The file's base name, or the node's name in a scene.
        let fileName: String
        let color: LabelColor
    }

    /// Writes the surfaces around the voxels of labels, which are released one by one.
    /// - Parameters:
    ///   - labels: those with voxels in the map.
    ///   - available: the memory in bytes for one surface, of an item with a lean plan. Several together take what it plans.
    /// - Returns: what was written by value, and a note for each surface that would be too large.
    /// - Throws: ``VolumeError`` for a surface that needs more than `available`.
    func write(_ labels: [Label], in map: LabelVolume, within available: Int? = nil) throws -> (
        meshes: [UInt16: SegmentationResult.Mesh], notes: [Note]
    ) {
        let bytes = VolumeMemory.surfaceBytes(map.geometry.shape)
        let extraction = NocturneMesh.SurfaceOptions(tolerance: options.meshTolerance(on: map.geometry))
        let forecast = try SurfaceForecast(of: map, options: extraction, scope: scope)
        let byValue = Dictionary(labels.map { ($0.value, $0) }) { first, _ in first }
        let isSmall = { (label: Label) in forecast.workingBytes(of: label.value) <= bytes }
        if let available,
            let label = labels.first(where: { isSmall($0) && forecast.workingBytes(of: $0.value) > available })
        {
            let needed = ByteCount(forecast.workingBytes(of: label.value))
            throw VolumeError(
                .surfaceMemory,
                path: label.fileName,
                "its surface needs \(needed) of memory, the budget leaves \(ByteCount(available))"
            )
        }
        var meshes: [UInt16: SegmentationResult.Mesh] = [:]
        try forecast.forEachSurface(
            of: labels.filter(isSmall).map(\.value),
            in: map,
            within: VolumeMemory.surfaceBytes(map.geometry.shape, lean: available != nil),
            scope: scope
        ) { value, surface in
            guard !surface.isEmpty, let label = byValue[value] else { return }
            meshes[value] = try write(surface, name: label.fileName, color: label.color.components)
        }
        let notes = labels.filter { !isSmall($0) }.map { label in
            Note(
                "surface.tooLarge",
                "no surface for " + label.name + ": it would have about "
                    + "\(forecast.vertexCount(of: label.value)) vertices, more than the memory planned for surfaces can hold"
            )
        }
        return (meshes, notes)
    }

    /// - Parameter name: the label's: the file's base name, or the node's name in a scene.
    func write(_ surface: SurfaceMesh, name: String, color: SIMD3<UInt8>) throws -> SegmentationResult.Mesh {
        let measures = surface.measures
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
            node: format.isScene ? name : nil,
            frame: frame.rawValue.uppercased(),
            triangles: surface.triangles.count,
            areaMm2: area.roundedForResults(scale: area),
            volumeMm3: volume.roundedForResults(scale: abs(volume))
        )
    }

    /// Call after the last surface.
    func finish() throws { try writer.finish() }

    /// Moves the surfaces from an item's staging folder into the folder of its result.
    /// - Returns: the files that hold them, sorted; empty for no surfaces.
    /// - Throws: `FileSystemError`.
    static func move(
        _ meshes: some Collection<SegmentationResult.Mesh>,
        from context: StageContext,
        into folder: String
    ) throws -> [String] {
        guard !meshes.isEmpty else { return [] }
        try FileSystem.move(self.folder(in: context), to: folder + "/meshes")
        return Set(meshes.map(\.file)).sorted()
    }
}
