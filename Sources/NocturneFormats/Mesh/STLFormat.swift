public import NocturneConcurrency
public import NocturneCore

/// Binary STL, one file for each label, without colours.
public struct STLFormat: LabelMeshFormat {
    public init() {}

    public var name: String { "stl" }
    public var fileExtension: String { "stl" }
    public var hasColors: Bool { false }

    public func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws {
        try STLWriter.write(surface.mesh, frame: frame, name: surface.name, to: path, scope: scope)
    }

    public func read(_ label: String, at path: String) throws -> MeshFileContents {
        let contents = try STLReader.read(at: path)
        return MeshFileContents(frame: contents.frame, mesh: contents.mesh)
    }
}

extension MeshSelection {
    public static let stl = MeshSelection(STLFormat())
}
