public import NocturneConcurrency
public import NocturneCore

/// Binary glTF 2.0: the surfaces of all labels as one coloured scene, `labels.glb`.
///
/// Every label is one node with one mesh and one material, all named after it. Positions are float32 millimetres in the
/// patient coordinate system, exactly as in the other formats; `asset.extras` states `SPACE` and `UNIT`. glTF itself
/// uses metres with +Y up, +Z to the front and +X to the left: the matrix of the root node `patient` rotates and scales
/// the patient coordinates accordingly, and every viewer applies it. Colours are given as sRGB and stored linear, as
/// glTF requires.
public struct GLBFormat: MeshFormat {
    public init() {}

    public var name: String { "glb" }
    public var fileExtension: String { "glb" }
    public var layout: MeshLayout { .scene }
    public var hasColors: Bool { true }

    public func makeWriter(in folder: String, frame: PatientFrame, scope: ComputeScope) -> any MeshWriter {
        GLBWriter(folder: folder, frame: frame, scope: scope)
    }

    public func read(_ label: String, at path: String) throws -> MeshFileContents {
        try GLBReader(path).surface(named: label)
    }
}

extension MeshSelection {
    public static let glb = MeshSelection(GLBFormat())
}

/// The container: a header of 12 bytes, a chunk of JSON, a chunk of binary data.
enum GLBContainer {
    /// "glTF"
    static let magic: UInt32 = 0x4654_6C67
    static let version: UInt32 = 2
    /// "JSON"
    static let documentChunk: UInt32 = 0x4E4F_534A
    /// "BIN"
    static let binaryChunk: UInt32 = 0x004E_4942
    /// The header of the file and the header of one chunk.
    static let headerBytes = 12
    static let chunkHeadBytes = 8
}
