public import NocturneCore
import NocturneSystem

#if canImport(Glibc)
    internal import Glibc
#endif

/// A binary STL file as read.
public struct STLContents: Sendable {
    /// The text of the 80 header bytes, up to the first zero.
    public let headerText: String
    /// The frame that the header names; nil when it names none.
    public let frame: PatientFrame?
    /// The surface in RAS+, with equal corners joined into one vertex, in the order of first appearance.
    public let mesh: SurfaceMesh
    /// The normals as stored, turned to RAS+, one a triangle.
    public let normals: [SIMD3<Float>]
}

/// Reads binary STL.
public enum STLReader {
    /// Reads the file and joins corners that are equal bit for bit (0 and -0 being equal).
    ///
    /// - Parameter assuming: the frame when the header names none. LPS is what 3D Slicer assumes.
    /// - Throws: ``MeshFileError``. The number of triangles must agree with the size of the file exactly, which is
    ///   looked at before anything is allocated; a corner that is not finite is refused.
    /// - Complexity: linear; about 100 bytes a triangle.
    public static func read(at path: String, assuming: PatientFrame = .lps) throws(MeshFileError) -> STLContents {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw MeshFileError(.unreadable, path: path, "cannot be opened: \(systemMessage())")
        }
        defer { close(descriptor) }
        let size = try fileSize(descriptor, path)
        let start = try bytes(84, from: descriptor, path)
        guard start.count == 84 else {
            throw MeshFileError(.truncated, path: path, "the header ends after \(start.count) of 84 bytes")
        }
        let count = Int(word(start, 80))
        let needed = 84 + 50 * count
        if size != needed, start.starts(with: "solid".utf8) {
            throw MeshFileError(.notSTL, path: path, "a text STL, or none at all; only binary STL is read")
        }
        if size < needed {
            throw MeshFileError(
                .truncated,
                path: path,
                "ends after \(size) of the \(needed) bytes of \(count) triangles"
            )
        }
        if size > needed {
            throw MeshFileError(
                .wrongTriangleCount,
                path: path,
                "\(size) bytes, where \(count) triangles take \(needed)"
            )
        }
        let headerText = String(decoding: start[..<80].prefix { $0 != 0 }, as: UTF8.self)
        let frame = PatientFrame.allCases.first { headerText.contains($0.meshTag) }
        var welder = Welder(frame: frame ?? assuming)
        let batch = 4096
        for first in stride(from: 0, to: count, by: batch) {
            let here = min(batch, count - first)
            let records = try bytes(50 * here, from: descriptor, path)
            guard records.count == 50 * here else {
                throw MeshFileError(.truncated, path: path, "was cut short while it was read")
            }
            for index in 0..<here {
                guard welder.add(records, at: 50 * index) else {
                    throw MeshFileError(
                        .invalidMesh,
                        path: path,
                        "a corner of triangle \(first + index) is not finite"
                    )
                }
            }
        }
        return STLContents(headerText: headerText, frame: frame, mesh: welder.mesh, normals: welder.normals)
    }

    private static func fileSize(_ descriptor: Int32, _ path: String) throws(MeshFileError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw MeshFileError(.unreadable, path: path, "cannot be examined: \(systemMessage())")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MeshFileError(.unreadable, path: path, "is not an ordinary file")
        }
        return Int(status.st_size)
    }

    private static func bytes(_ count: Int, from descriptor: Int32, _ path: String) throws(MeshFileError) -> [UInt8] {
        var fault: Int32 = 0
        let result = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, let base = buffer.baseAddress {
                let got = Glibc.read(descriptor, base + filled, count - filled)
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    break
                } else if errno != EINTR {
                    fault = errno
                    break
                }
            }
        }
        if fault != 0 {
            throw MeshFileError(.unreadable, path: path, "cannot be read: \(systemMessage(fault))")
        }
        return result
    }

    fileprivate static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
}

/// Joins equal corners while triangles come in.
private struct Welder {
    let frame: PatientFrame
    private(set) var mesh = SurfaceMesh()
    private(set) var normals: [SIMD3<Float>] = []
    private var known: [SIMD3<UInt32>: UInt32] = [:]

    init(frame: PatientFrame) { self.frame = frame }

    /// False when a corner is not finite.
    mutating func add(_ records: [UInt8], at offset: Int) -> Bool {
        func vector(_ index: Int) -> SIMD3<Float> {
            let start = offset + 12 * index
            return SIMD3(
                Float(bitPattern: STLReader.word(records, start)),
                Float(bitPattern: STLReader.word(records, start + 4)),
                Float(bitPattern: STLReader.word(records, start + 8))
            )
        }
        var corners = SIMD3<UInt32>()
        for corner in 0..<3 {
            // Adding zero turns -0 into 0.
            let place = frame.converted(vector(corner + 1)) + SIMD3<Float>(repeating: 0)
            guard place.x.isFinite, place.y.isFinite, place.z.isFinite else { return false }
            let key = SIMD3(place.x.bitPattern, place.y.bitPattern, place.z.bitPattern)
            if let index = known[key] {
                corners[corner] = index
            } else {
                corners[corner] = UInt32(mesh.vertices.count)
                known[key] = corners[corner]
                mesh.vertices.append(place)
            }
        }
        mesh.triangles.append(corners)
        normals.append(frame.converted(vector(0)))
        return true
    }
}
