internal import Glibc
internal import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Writes a scene surface by surface. The binary chunk is first written to a separate file, because the document that
/// precedes it contains sizes and bounds that are known only at the end. At most one surface is in memory.
final class GLBWriter: MeshWriter {
    static let fileName = "labels.glb"

    private let path: String
    private let binaryPath: String
    private let frame: PatientFrame
    private let scope: ComputeScope
    private var binary: MeshOutput?
    private var binaryBytes = 0
    private var parts: [Part] = []

    /// The description of a surface in the document.
    private struct Part {
        let name: String
        let color: SIMD3<UInt8>
        let vertexCount: Int
        let triangleCount: Int
        let lower: SIMD3<Float>
        let upper: SIMD3<Float>

        var vertexBytes: Int { 12 * vertexCount }
        var indexBytes: Int { 12 * triangleCount }
    }

    init(folder: String, frame: PatientFrame, scope: ComputeScope) {
        path = folder + "/" + Self.fileName
        binaryPath = path + ".bin"
        self.frame = frame
        self.scope = scope
    }

    func add(_ surface: LabelSurface) throws -> String {
        let mesh = surface.mesh
        try mesh.checkForWriting(to: path)
        guard !mesh.isEmpty else { throw invalid("\(surface.name) has no triangles, which glTF cannot store") }
        guard !parts.contains(where: { $0.name == surface.name }) else {
            throw invalid("two surfaces have the name \(surface.name)")
        }
        // Before anything of the surface is written.
        try check(byteCount: binaryBytes + 12 * (mesh.vertices.count + mesh.triangles.count))
        if binary == nil { binary = try MeshOutput(path: binaryPath, scope: scope) }
        var lower = SIMD3<Float>(repeating: .infinity)
        var upper = -lower
        for vertex in mesh.vertices {
            let place = frame.converted(vertex)
            lower = pointwiseMin(lower, place)
            upper = pointwiseMax(upper, place)
            binary?.append(place)
            try binary?.spill()
        }
        for triangle in mesh.triangles {
            binary?.append(triangle)
            try binary?.spill()
        }
        let part = Part(
            name: surface.name,
            color: surface.color,
            vertexCount: mesh.vertices.count,
            triangleCount: mesh.triangles.count,
            lower: lower,
            upper: upper
        )
        parts.append(part)
        binaryBytes += part.vertexBytes + part.indexBytes
        return Self.fileName
    }

    func finish() throws {
        guard !parts.isEmpty else { return }
        try binary?.finish()
        binary = nil
        var document = try StableJSON.encodeLine(self.document())
        // Chunks have a multiple of four bytes; JSON is filled up with spaces (glTF 2.0, 4.4.3).
        document += [UInt8](repeating: UInt8(ascii: " "), count: (4 - document.count % 4) % 4)
        let total =
            GLBFormat.Container.headerBytes + 2 * GLBFormat.Container.chunkHeadBytes + document.count + binaryBytes
        try check(byteCount: total)
        var output = try MeshOutput(path: path, scope: scope)
        for word in [
            GLBFormat.Container.magic, GLBFormat.Container.version, UInt32(total), UInt32(document.count),
            GLBFormat.Container.documentChunk,
        ] { output.append(word) }
        output.append(document)
        output.append(UInt32(binaryBytes))
        output.append(GLBFormat.Container.binaryChunk)
        let input = try MeshInput(binaryPath)
        while true {
            let piece = try input.read(count: 1 << 18)
            output.append(piece)
            try output.spill()
            if piece.isEmpty { break }
        }
        try output.finish()
        FileSystem.remove(binaryPath)
    }

    /// The length fields have 32 bits.
    private func check(byteCount: Int) throws(MeshFileError) {
        guard byteCount <= Int(UInt32.max) else {
            throw invalid("the scene takes \(byteCount) bytes, more than the 4 GiB of a binary glTF file")
        }
    }

    private func invalid(_ detail: String) -> MeshFileError {
        MeshFileError(.invalidMesh, path: path, "cannot be written: \(detail)")
    }

    /// Two buffer views and accessors per surface: its positions, then its indices.
    private func document() -> GLTFDocument {
        var document = GLTFDocument()
        document.asset.extras = .init(space: frame.rawValue.uppercased(), unit: "mm")
        document.scenes = [.init(nodes: [0])]
        document.nodes = [.init(name: "patient", children: Array(1...parts.count), matrix: frame.sceneMatrix)]
        var offset = 0
        for (index, part) in parts.enumerated() {
            document.nodes.append(.init(name: part.name, mesh: index))
            document.meshes.append(
                .init(
                    name: part.name,
                    primitives: [
                        .init(attributes: ["POSITION": 2 * index], indices: 2 * index + 1, material: index)
                    ]
                )
            )
            document.materials.append(
                .init(
                    name: part.name,
                    pbrMetallicRoughness: .init(baseColorFactor: GLBFormat.LinearColor.components(part.color))
                )
            )
            document.bufferViews += [
                .init(byteOffset: offset, byteLength: part.vertexBytes, target: GLTFDocument.BufferView.vertices),
                .init(
                    byteOffset: offset + part.vertexBytes,
                    byteLength: part.indexBytes,
                    target: GLTFDocument.BufferView.indices
                ),
            ]
            document.accessors += [
                .init(
                    // Of positions glTF requires the bounds.
                    bufferView: 2 * index,
                    componentType: GLTFDocument.Accessor.float,
                    count: part.vertexCount,
                    type: "VEC3",
                    min: [part.lower.x, part.lower.y, part.lower.z],
                    max: [part.upper.x, part.upper.y, part.upper.z]
                ),
                .init(
                    bufferView: 2 * index + 1,
                    componentType: GLTFDocument.Accessor.unsignedInt,
                    count: 3 * part.triangleCount,
                    type: "SCALAR"
                ),
            ]
            offset += part.vertexBytes + part.indexBytes
        }
        document.buffers = [.init(byteLength: binaryBytes)]
        return document
    }
}

extension GLBFormat {
    /// Conversion between the sRGB of label colours and the linear components of materials.
    enum LinearColor {
        /// Red, green, blue and alpha, rounded to six digits: the same text with every mathematics library.
        static func components(_ color: SIMD3<UInt8>) -> [Double] {
            [color.x, color.y, color.z].map { byte in
                let value = Double(byte) / 255
                let linear = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
                return (linear * 1e6).rounded() / 1e6
            } + [1]
        }

        /// The nearest colour; nil for invalid components.
        static func color(_ components: [Double]) -> SIMD3<UInt8>? {
            guard components.count == 4, components.allSatisfy({ (0...1).contains($0) }) else { return nil }
            let bytes = components.prefix(3).map { linear in
                let value = linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055
                return UInt8((value * 255).rounded())
            }
            return SIMD3(bytes[0], bytes[1], bytes[2])
        }
    }
}
