import NocturneCore

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
