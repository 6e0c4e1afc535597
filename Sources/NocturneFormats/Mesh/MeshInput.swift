import NocturneSystem

/// A mesh file being read.
struct MeshInput: ~Copyable {
    let path: String
    /// The size of the file in bytes.
    let byteCount: Int
    private let file: FileDescriptor

    /// - Throws: ``MeshFileErrorCode/unreadable``, also for anything that is not a regular file.
    init(_ path: String) throws(MeshFileError) {
        let file = try Self.open(path)
        let byteCount: Int
        do { byteCount = try file.status().byteCount } catch { throw MeshFileError(.unreadable, reading: error) }
        self.path = path
        self.byteCount = byteCount
        self.file = file
    }

    private static func open(_ path: String) throws(MeshFileError) -> FileDescriptor {
        do { return try FileDescriptor(reading: path) } catch { throw MeshFileError(.unreadable, reading: error) }
    }

    /// `count` bytes, or fewer at the end of the file.
    /// - Parameter offset: where in the file; nil to continue after the last reading.
    func read(count: Int, at offset: Int? = nil) throws(MeshFileError) -> [UInt8] {
        do { return try file.read(count: count, at: offset) } catch { throw MeshFileError(.unreadable, reading: error) }
    }

    func readToEnd() throws(MeshFileError) -> [UInt8] {
        do { return try file.readToEnd() } catch { throw MeshFileError(.unreadable, reading: error) }
    }
}

extension [UInt8] {
    /// The little-endian value at a byte offset.
    /// - Precondition: the array contains its bytes.
    func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type = Value.self) -> Value {
        withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self)) }
    }

    /// Three consecutive float32 values.
    func vector(at offset: Int) -> SIMD3<Float> {
        let bits = corners(at: offset)
        return SIMD3(Float(bitPattern: bits.x), Float(bitPattern: bits.y), Float(bitPattern: bits.z))
    }

    /// Three indices of vertices.
    func corners(at offset: Int) -> SIMD3<UInt32> {
        SIMD3(littleEndian(at: offset), littleEndian(at: offset + 4), littleEndian(at: offset + 8))
    }
}

extension SIMD3 where Scalar == Float {
    var isFinite: Bool { x.isFinite && y.isFinite && z.isFinite }
}
