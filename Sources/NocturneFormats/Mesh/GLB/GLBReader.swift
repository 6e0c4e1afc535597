import Foundation
import NocturneCore
import NocturneSystem

/// Reads surfaces from a scene in the form written by ``GLBWriter``; scenes with a different structure are refused.
///
/// Only the document and the requested surface are held in memory, and all lengths are checked against the size of the
/// file before anything is allocated.
struct GLBReader: ~Copyable {
    private let input: MeshInput
    private let document: GLTFDocument
    /// The byte range of the binary chunk's content in the file.
    private let binary: Range<Int>

    /// A document of this size describes several hundred thousand surfaces.
    private static let maximumDocumentBytes = 64 << 20

    init(_ path: String) throws(MeshFileError) {
        let input = try MeshInput(path)
        let headers = GLBFormat.Container.headerBytes + GLBFormat.Container.chunkHeadBytes
        let start = try input.read(count: headers)
        guard start.count >= 4, start.littleEndian(at: 0) == GLBFormat.Container.magic else {
            throw start.count < 4
                ? MeshFileError(.truncated, path: path, "the header ends after \(start.count) bytes")
                : MeshFileError(.wrongFormat, path: path, "is not a binary glTF file")
        }
        guard start.count == headers, input.byteCount >= Int(start.littleEndian(at: 8, as: UInt32.self)) else {
            throw MeshFileError(.truncated, path: path, "ends after \(input.byteCount) bytes, before its stated length")
        }
        guard start.littleEndian(at: 4) == GLBFormat.Container.version,
            start.littleEndian(at: 16) == GLBFormat.Container.documentChunk
        else { throw MeshFileError(.wrongFormat, path: path, "is not a binary glTF file of version 2") }
        let total = Int(start.littleEndian(at: 8, as: UInt32.self))
        let documentBytes = Int(start.littleEndian(at: 12, as: UInt32.self))
        let binaryHead = headers + documentBytes
        // Exact lengths: a scene with further chunks, which glTF allows, was not written by Nocturne.
        guard total == input.byteCount, documentBytes <= Self.maximumDocumentBytes,
            binaryHead + GLBFormat.Container.chunkHeadBytes <= total
        else { throw Self.invalid(path, "the lengths in its header do not agree with its \(input.byteCount) bytes") }
        let document = try Self.document(try input.read(count: documentBytes), path)
        let head = try input.read(count: GLBFormat.Container.chunkHeadBytes)
        let first = binaryHead + GLBFormat.Container.chunkHeadBytes
        guard head.count == GLBFormat.Container.chunkHeadBytes,
            head.littleEndian(at: 4) == GLBFormat.Container.binaryChunk,
            Int(head.littleEndian(at: 0, as: UInt32.self)) == total - first
        else { throw Self.invalid(path, "its second chunk is not the binary data") }
        binary = first..<total
        self.document = document
        self.input = input
    }

    private static func invalid(_ path: String, _ detail: String) -> MeshFileError {
        MeshFileError(.invalidMesh, path: path, detail)
    }

    private static func document(_ bytes: [UInt8], _ path: String) throws(MeshFileError) -> GLTFDocument {
        do {
            return try JSONDecoder().decode(GLTFDocument.self, from: Data(bytes))
        } catch {
            throw invalid(path, "its document is not a scene of surfaces")
        }
    }

    private func invalid(_ detail: String) -> MeshFileError { Self.invalid(input.path, detail) }

    /// The surface of the node with this name, converted to RAS+.
    /// - Throws: ``MeshFileErrorCode/invalidMesh`` when there is none, or when it does not consist of float32 positions
    ///   and uint32 indices in millimetres.
    func surface(named name: String) throws(MeshFileError) -> MeshFileContents {
        guard let node = document.nodes.first(where: { $0.name == name && $0.mesh != nil }), let index = node.mesh,
            document.meshes.indices.contains(index), document.meshes[index].primitives.count == 1
        else { throw invalid("has no surface \(name)") }
        let primitive = document.meshes[index].primitives[0]
        guard primitive.mode ?? 4 == 4, let positions = primitive.attributes["POSITION"] else {
            throw invalid("\(name) does not consist of triangles")
        }
        let extras = document.asset.extras
        let frame = PatientFrame.allCases.first { $0.rawValue.uppercased() == extras?.space }
        let vertices = try bytes(of: positions, "VEC3", GLTFDocument.Accessor.float, 12, name)
        let corners = try bytes(of: primitive.indices, "SCALAR", GLTFDocument.Accessor.unsignedInt, 4, name)
        guard corners.count % 12 == 0 else { throw invalid("\(name) ends inside a triangle") }
        var mesh = SurfaceMesh()
        mesh.vertices.reserveCapacity(vertices.count / 12)
        for offset in stride(from: 0, to: vertices.count, by: 12) {
            // Adding zero converts -0 to 0.
            let place = (frame ?? .lps).converted(vertices.vector(at: offset)) + SIMD3<Float>(repeating: 0)
            guard place.isFinite else { throw invalid("a corner of \(name) is not finite") }
            mesh.vertices.append(place)
        }
        mesh.triangles.reserveCapacity(corners.count / 12)
        let limit = UInt32(clamping: mesh.vertices.count)
        for offset in stride(from: 0, to: corners.count, by: 12) {
            let triangle = corners.corners(at: offset)
            guard triangle.x < limit, triangle.y < limit, triangle.z < limit else {
                throw invalid("a triangle of \(name) refers to a missing vertex")
            }
            mesh.triangles.append(triangle)
        }
        return MeshFileContents(frame: frame, mesh: mesh, color: color(of: primitive))
    }

    private func color(of primitive: GLTFDocument.Mesh.Primitive) -> SIMD3<UInt8>? {
        guard let material = primitive.material, document.materials.indices.contains(material) else { return nil }
        return GLBFormat.LinearColor.color(document.materials[material].pbrMetallicRoughness.baseColorFactor)
    }

    /// The bytes of a tightly packed accessor.
    private func bytes(
        of accessor: Int,
        _ type: String,
        _ componentType: Int,
        _ elementBytes: Int,
        _ name: String
    ) throws(MeshFileError) -> [UInt8] {
        guard document.accessors.indices.contains(accessor) else {
            throw invalid("\(name) has no accessor \(accessor)")
        }
        let values = document.accessors[accessor]
        guard values.type == type, values.componentType == componentType, values.count >= 0,
            document.bufferViews.indices.contains(values.bufferView)
        else { throw invalid("\(name) does not have float32 positions and uint32 indices") }
        let view = document.bufferViews[values.bufferView]
        // Counts and offsets come from the document, where they may be any numbers.
        let length = values.count.multipliedReportingOverflow(by: elementBytes)
        let offset = (view.byteOffset ?? 0).addingReportingOverflow(values.byteOffset ?? 0)
        guard view.buffer == 0, view.byteStride ?? elementBytes == elementBytes, !length.overflow, !offset.overflow,
            offset.partialValue >= 0, offset.partialValue <= binary.count,
            length.partialValue <= binary.count - offset.partialValue
        else { throw invalid("the data of \(name) lies outside the file") }
        let bytes = try input.read(count: length.partialValue, at: binary.lowerBound + offset.partialValue)
        guard bytes.count == length.partialValue else {
            throw MeshFileError(.truncated, path: input.path, "was truncated while it was read")
        }
        return bytes
    }
}
