public import NocturneConcurrency
public import NocturneCore

/// Writes the surfaces of one item, one after the other, so that at most one is in memory.
public protocol MeshWriter: AnyObject {
    /// Writes a surface.
    /// - Returns: the name of the file that holds it.
    /// - Throws: ``MeshFileError``, `CancelledError`. The caller removes partial files.
    func add(_ surface: LabelSurface) throws -> String

    /// Completes the files. Must be called once, after the last surface.
    func finish() throws
}

/// A format in which every label has its own file.
public protocol LabelMeshFormat: MeshFormat {
    /// Writes one file in millimetres.
    /// - Throws: ``MeshFileError``: `invalidMesh` before anything is written, `cannotWrite` with the system's reason;
    ///   `CancelledError`. The caller removes a partial file.
    func write(_ surface: LabelSurface, frame: PatientFrame, to path: String, scope: ComputeScope) throws
}

extension LabelMeshFormat {
    /// False: every label has its own file.
    public var isScene: Bool { false }

    /// A writer that calls ``write(_:frame:to:scope:)`` for each surface, with the label's name as file name.
    public func makeWriter(in folder: String, frame: PatientFrame, scope: ComputeScope) -> any MeshWriter {
        LabelMeshWriter(format: self, folder: folder, frame: frame, scope: scope)
    }
}

private final class LabelMeshWriter: MeshWriter {
    private let format: any LabelMeshFormat
    private let folder: String
    private let frame: PatientFrame
    private let scope: ComputeScope

    init(format: any LabelMeshFormat, folder: String, frame: PatientFrame, scope: ComputeScope) {
        self.format = format
        self.folder = folder
        self.frame = frame
        self.scope = scope
    }

    func add(_ surface: LabelSurface) throws -> String {
        let file = "\(surface.name).\(format.name)"
        try format.write(surface, frame: frame, to: "\(folder)/\(file)", scope: scope)
        return file
    }

    func finish() {}
}
