public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// A file format for surfaces. To add one, add one file with a conforming type and one line in ``MeshFormats/all``.
public protocol MeshFormat: Sendable {
    /// The value of `--meshes` that selects it, and the extension of its files; also the name stored in options and results.
    var name: String { get }
    /// Whether one file holds the surfaces of all labels, as nodes named after them; else every label has its own file, named
    /// after it.
    var isScene: Bool { get }

    /// A writer for the surfaces of one item. Nothing is created before the first surface is added.
    /// - Parameter folder: an existing folder.
    func makeWriter(in folder: String, frame: PatientFrame, scope: ComputeScope) -> any MeshWriter

    /// Reads one surface of a file.
    ///
    /// Safe for hostile files: memory is allocated only for bytes that the file contains.
    /// - Parameters:
    ///   - label: which of a scene's surfaces; ignored where every label has its own file.
    ///   - flag: checked between parts of the file.
    /// - Throws: ``MeshFileError``; `CancelledError`.
    func read(_ label: String, at path: String, flag: CancellationFlag) throws -> MeshFileContents
}

/// The surface of one label, to be written to a file.
public struct LabelSurface: Sendable {
    /// The name of the file, or of the node in a scene.
    public let name: String
    /// Red, green and blue.
    public let color: SIMD3<UInt8>
    /// In RAS+ mm.
    public let mesh: SurfaceMesh

    /// - Parameters:
    ///   - name: of the label, which is written into the file.
    ///   - color: red, green and blue.
    ///   - mesh: in RAS+ mm.
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

    /// - Parameters:
    ///   - frame: as the file states it; nil where it does not.
    ///   - mesh: in that frame, as stored.
    ///   - color: nil in formats without colours.
    public init(frame: PatientFrame?, mesh: SurfaceMesh, color: SIMD3<UInt8>? = nil) {
        self.frame = frame
        self.mesh = mesh
        self.color = color
    }
}

/// The formats for `--meshes`.
public enum MeshFormats {
    /// The only list of formats: help, `verify`, tests and fuzzing follow it.
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
        all.first { file.hasSuffix("." + $0.name) }
    }
}

/// The value of `--meshes`: a format, or none.
public struct MeshSelection: RawRepresentable, Hashable, Sendable, Codable, CaseIterable, CustomStringConvertible {
    /// The name of a format, or "none".
    public let rawValue: String

    /// Nil if the value is neither a format's name nor "none".
    public init?(rawValue: String) {
        guard rawValue == Self.none.rawValue || MeshFormats.named(rawValue) != nil else { return nil }
        self.rawValue = rawValue
    }

    /// Surfaces in a format.
    public init(_ format: some MeshFormat) { rawValue = format.name }

    private init() { rawValue = "none" }

    /// No surfaces are written.
    public static let none = MeshSelection()

    /// In the order of ``MeshFormats/all``, then ``none``.
    public static var allCases: [MeshSelection] { MeshFormats.all.map { MeshSelection($0) } + [.none] }

    /// Nil for ``none``.
    public var format: (any MeshFormat)? { MeshFormats.named(rawValue) }

    /// As in options and results.
    public var description: String { rawValue }
}

/// Why a mesh file could not be read or written.
public typealias MeshFileError = FileFormatError<MeshFileErrorCode>

/// The kind of a ``MeshFileError``, with a description.
public enum MeshFileErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of all mesh formats together: a code does not name one.
    public static let domain = "mesh"

    /// The content is another format, or an unsupported variant of this format.
    case wrongFormat
    /// The file ends before its header or its triangles do.
    case truncated
    /// The file is longer than its triangles require.
    case wrongTriangleCount
    /// A triangle refers to a missing vertex, a corner is not finite, or a scene lacks the surface.
    case invalidMesh
    /// The system could not open or read the file.
    case unreadable
    /// The system could not open or write the file.
    case cannotWrite
}
