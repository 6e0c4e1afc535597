public import NocturneConcurrency
public import NocturneCore

/// A file format for surfaces. To add one, add one file with a conforming type and one line in ``MeshFormats/all``.
public protocol MeshFormat: Sendable {
    /// The value of `--meshes` that selects it; also the name stored in options and results.
    var name: String { get }
    /// Without the dot.
    var fileExtension: String { get }
    /// Which surfaces one file holds.
    var layout: MeshLayout { get }
    /// Whether the files contain the labels' colours.
    var hasColors: Bool { get }

    /// A writer for the surfaces of one item. Nothing is created before the first surface is added.
    /// - Parameter folder: an existing folder.
    func makeWriter(in folder: String, frame: PatientFrame, scope: ComputeScope) -> any MeshWriter

    /// Reads one surface of a file.
    ///
    /// Safe for hostile files: memory is allocated only for bytes that the file contains.
    /// - Parameter label: which of a scene's surfaces; ignored where every label has its own file.
    /// - Throws: ``MeshFileError``.
    func read(_ label: String, at path: String) throws -> MeshFileContents
}

/// Which surfaces one file holds.
public enum MeshLayout: Sendable {
    /// Every label has its own file, named after it.
    case filePerLabel
    /// One file contains the surfaces of all labels, as nodes named after them.
    case scene
}

/// The surface of one label, to be written to a file.
public struct LabelSurface: Sendable {
    /// The name of the file, or of the node in a scene.
    public let name: String
    /// Red, green and blue.
    public let color: SIMD3<UInt8>
    /// In RAS+ mm.
    public let mesh: SurfaceMesh

    public init(name: String, color: SIMD3<UInt8>, mesh: SurfaceMesh) {
        self.name = name
        self.color = color
        self.mesh = mesh
    }
}

/// One surface as read from a file.
public struct MeshFileContents: Sendable {
    /// The patient coordinate system that the file states; nil when it states none.
    public let frame: PatientFrame?
    /// In RAS+ mm.
    public let mesh: SurfaceMesh
    /// Nil where the file has none.
    public let color: SIMD3<UInt8>?

    public init(frame: PatientFrame?, mesh: SurfaceMesh, color: SIMD3<UInt8>? = nil) {
        self.frame = frame
        self.mesh = mesh
        self.color = color
    }
}

/// The formats for `--meshes`.
public enum MeshFormats {
    public static let all: [any MeshFormat] = [
        STLFormat(),
        OBJFormat(),
        GLBFormat(),
        PLYFormat(),
    ]

    /// The format with this name.
    public static func named(_ name: String) -> (any MeshFormat)? { all.first { $0.name == name } }

    /// The format of a file, by its extension.
    public static func format(of file: String) -> (any MeshFormat)? {
        all.first { file.hasSuffix("." + $0.fileExtension) }
    }
}
