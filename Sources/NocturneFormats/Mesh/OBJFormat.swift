public import NocturneConcurrency
public import NocturneCore

/// Wavefront OBJ, one file for each label, without colours.
public struct OBJFormat: LabelMeshFormat {
    public init() {}

    public var name: String { "obj" }
    public var fileExtension: String { "obj" }
    public var hasColors: Bool { false }

    public func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws {
        try OBJWriter.write(surface.mesh, frame: frame, name: surface.name, to: path, scope: scope)
    }

    public func read(_ label: String, at path: String) throws -> MeshFileContents {
        let contents = try OBJReader.read(at: path)
        return MeshFileContents(frame: contents.frame, mesh: contents.mesh)
    }
}

extension MeshSelection {
    public static let obj = MeshSelection(OBJFormat())
}
