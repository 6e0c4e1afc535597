public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Binary glTF 2.0: the surfaces of all labels as one coloured scene, `labels.glb`.
///
/// Every label is one node with one mesh and one material, all named after it. Positions are float32 millimetres in the
/// patient coordinate system, exactly as in the other formats; `asset.extras` states `SPACE` and `UNIT`. glTF itself
/// uses metres with +Y up, +Z to the front and +X to the left: the matrix of the root node `patient` rotates and scales
/// the patient coordinates accordingly, and every viewer applies it. Colours are given as sRGB and stored linear, as
/// glTF requires.
public struct GLBFormat: MeshFormat {
    /// The format has no settings.
    public init() {}

    /// "glb".
    public var name: String { "glb" }
    /// True: one file for all labels.
    public var isScene: Bool { true }

    /// The writer of `labels.glb`.
    public func makeWriter(in folder: String, frame: PatientFrame, scope: ComputeScope) -> any MeshWriter {
        GLBWriter(folder: folder, frame: frame, scope: scope)
    }

    /// Reads the surface of the node that is called like the label. Of other scenes than Nocturne's, only those of the same form
    /// are read.
    public func read(_ label: String, at path: String, flag: CancellationFlag) throws -> MeshFileContents {
        let reader = try GLBReader(path)
        try flag.check()
        return try reader.surface(named: label)
    }
}

extension MeshSelection {
    /// One coloured scene with all labels.
    public static let glb = MeshSelection(GLBFormat())
}

extension GLBFormat {
    /// The container: a header of 12 bytes, a chunk of JSON, a chunk of binary data.
    enum Container {
        /// "glTF"
        static let magic: UInt32 = 0x4654_6C67
        static let version: UInt32 = 2
        /// "JSON"
        static let documentChunk: UInt32 = 0x4E4F_534A
        /// "BIN"
        static let binaryChunk: UInt32 = 0x004E_4942
        /// Magic, version and length of the file.
        static let headerBytes = 12
        /// Length and type of a chunk.
        static let chunkHeadBytes = 8
    }
}

/// The parts of a glTF 2.0 document that Nocturne writes and reads.
struct GLTFDocument: Codable {
    struct Asset: Codable {
        /// States the patient coordinate system of the stored positions.
        struct Extras: Codable {
            var space: String
            var unit: String

            enum CodingKeys: String, CodingKey {
                case space = "SPACE"
                case unit = "UNIT"
            }
        }

        var version = "2.0"
        var generator: String? = "Nocturne"
        var extras: Extras?
    }

    struct Scene: Codable {
        var nodes: [Int]
    }

    struct Node: Codable {
        var name: String?
        var mesh: Int?
        var children: [Int]?
        /// Column by column.
        var matrix: [Double]?
    }

    struct Mesh: Codable {
        struct Primitive: Codable {
            /// Accessors by attribute.
            var attributes: [String: Int]
            var indices: Int
            var material: Int?
            /// 4: triangles.
            var mode: Int? = 4
        }

        var name: String?
        var primitives: [Primitive]
    }

    struct Material: Codable {
        struct Reflection: Codable {
            var baseColorFactor: [Double]
            var metallicFactor = 0.0
            var roughnessFactor = 0.75
        }

        var name: String?
        var pbrMetallicRoughness: Reflection
    }

    struct Accessor: Codable {
        var bufferView: Int
        var byteOffset: Int?
        var componentType: Int
        var count: Int
        var type: String
        var min: [Float]?
        var max: [Float]?

        static let unsignedInt = 5125
        static let float = 5126
    }

    struct BufferView: Codable {
        var buffer = 0
        var byteOffset: Int?
        var byteLength: Int
        var byteStride: Int?
        var target: Int?

        static let vertices = 34962
        static let indices = 34963
    }

    struct Buffer: Codable {
        var byteLength: Int
    }

    var asset = Asset()
    var scene: Int? = 0
    var scenes: [Scene] = []
    var nodes: [Node] = []
    var meshes: [Mesh] = []
    var materials: [Material] = []
    var accessors: [Accessor] = []
    var bufferViews: [BufferView] = []
    var buffers: [Buffer] = []
}

extension PatientFrame {
    /// From millimetres in this coordinate system to glTF: metres, x to the patient's left, y to the head, z to the
    /// front. A rotation and a scale, so corners stay counter-clockwise. Column by column.
    var sceneMatrix: [Double] {
        let metres = 0.001
        let (left, front) = self == .lps ? (metres, -metres) : (-metres, metres)
        return [
            left, 0, 0, 0,
            0, 0, front, 0,
            0, metres, 0, 0,
            0, 0, 0, 1,
        ]
    }
}
