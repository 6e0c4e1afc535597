import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Mesh files")
struct MeshFileTests {
    /// A box with corners counter-clockwise seen from outside, off the origin.
    static let box: SurfaceMesh = {
        let vertices = (0..<8).map { corner in
            SIMD3<Float>(
                corner & 1 == 0 ? -1.5 : 2.25,
                corner & 2 == 0 ? 0 : 7.125,
                corner & 4 == 0 ? 100 : 100.1
            )
        }
        let faces: [[UInt32]] = [
            [0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5],
        ]
        return SurfaceMesh(
            vertices: vertices,
            triangles: faces.flatMap { [SIMD3($0[0], $0[1], $0[2]), SIMD3($0[0], $0[2], $0[3])] }
        )
    }()

    /// Six times the enclosed volume: positive when corners are counter-clockwise seen from outside.
    static func signedVolume(_ mesh: SurfaceMesh) -> Double {
        mesh.triangles.reduce(0.0) { sum, triangle in
            let corner = { (index: UInt32) in SIMD3<Double>(mesh.vertices[Int(index)]) - SIMD3(0, 0, 100) }
            return sum + dot(cross(corner(triangle.x), corner(triangle.y)), corner(triangle.z))
        }
    }

    /// The three corners of each triangle.
    static func corners(_ mesh: SurfaceMesh) -> [[SIMD3<Float>]] {
        mesh.triangles.map { [$0.x, $0.y, $0.z].map { mesh.vertices[Int($0)] } }
    }

    /// The text in the header of an STL file.
    private static func headerText(_ bytes: [UInt8]) -> String {
        String(decoding: bytes[..<80].prefix { $0 != 0 }, as: UTF8.self)
    }

    /// A word of a triangle in an STL file.
    private static func word(_ index: Int, in bytes: [UInt8], triangle: Int = 0) -> UInt32 {
        bytes[(84 + 50 * triangle + 4 * index)...].prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A normal as it is stored.
    private static func normal(of triangle: Int, in bytes: [UInt8]) -> SIMD3<Float> {
        SIMD3((0..<3).map { Float(bitPattern: word($0, in: bytes, triangle: triangle)) })
    }

    private func write(
        _ mesh: SurfaceMesh,
        named name: String,
        as format: any LabelMeshFormat,
        frame: PatientFrame,
        to path: String,
        scope: ComputeScope = .serial()
    ) throws {
        let surface = LabelSurface(name: name, color: .zero, mesh: mesh)
        try format.write(surface, frame: frame, to: path, scope: scope)
    }

    @Test("STL comes back in RAS+, whatever frame it was written in", arguments: PatientFrame.allCases)
    func stlRoundTrip(frame: PatientFrame) throws {
        try TemporaryFolder.with { folder in
            let path = folder("a.stl").path
            try write(Self.box, named: "solid liver", as: STLFormat(), frame: frame, to: path)
            let bytes = [UInt8](try Data(contentsOf: folder("a.stl")))
            #expect(bytes.count == 84 + 50 * 12)
            #expect(!bytes.starts(with: "solid".utf8))
            let read = try STLFormat().read("", at: path, flag: CancellationFlag())
            #expect(read.frame == frame)
            #expect(Self.headerText(bytes) == "SPACE=\(frame.rawValue.uppercased()) UNIT=mm solid liver")
            #expect(Self.corners(read.mesh) == Self.corners(Self.box))
            #expect(read.mesh.vertices.count == 8)
            #expect(Self.signedVolume(read.mesh) > 0)
            let signs: SIMD3<Float> = frame == .lps ? [-1, -1, 1] : [1, 1, 1]
            for (index, triangle) in Self.corners(read.mesh).enumerated() {
                let corners = triangle.map { SIMD3<Double>($0) }
                let across = cross(corners[1] - corners[0], corners[2] - corners[0])
                let normal = SIMD3<Float>(across / length(across))
                #expect(signs * Self.normal(of: index, in: bytes) == normal, "outward, of length 1")
            }
        }
    }

    @Test("STL in LPS holds negated x and y, and no negative zero")
    func stlBytes() throws {
        try TemporaryFolder.with { folder in
            let mesh = SurfaceMesh(vertices: [[0, 1, 2], [3, 0, 5], [6, 7, 0]], triangles: [[0, 1, 2]])
            let path = folder("a.stl").path
            try write(mesh, named: "n", as: STLFormat(), frame: .lps, to: path)
            let bytes = [UInt8](try Data(contentsOf: folder("a.stl")))
            let expected: [Float] = [0, -1, 2, -3, 0, 5, -6, -7, 0]
            #expect((3..<12).map { Self.word($0, in: bytes) } == expected.map(\.bitPattern))
            #expect(Array(bytes[80..<84]) == [1, 0, 0, 0])
            #expect(Array(bytes.suffix(2)) == [0, 0])
        }
    }

    @Test("Long and foreign names are cut and cleaned; a triangle without area has no normal")
    func oddities() throws {
        try TemporaryFolder.with { folder in
            let flat = SurfaceMesh(vertices: [[0, 0, 0], [1, 1, 1], [2, 2, 2]], triangles: [[0, 1, 2]])
            let path = folder("a.stl").path
            try write(flat, named: "ü\n" + String(repeating: "x", count: 200), as: STLFormat(), frame: .ras, to: path)
            let bytes = [UInt8](try Data(contentsOf: folder("a.stl")))
            #expect(Self.headerText(bytes).utf8.count == 80)
            #expect(Self.headerText(bytes).hasPrefix("SPACE=RAS UNIT=mm ___xxx"))
            #expect(Self.normal(of: 0, in: bytes) == .zero)
            try write(SurfaceMesh(), named: "", as: STLFormat(), frame: .ras, to: path)
            #expect(try STLFormat().read("", at: path, flag: CancellationFlag()).mesh.isEmpty)
        }
    }

    @Test("STL without a tag is taken for LPS")
    func untagged() throws {
        try TemporaryFolder.with { folder in
            let path = folder("a.stl").path
            try write(Self.box, named: "", as: STLFormat(), frame: .lps, to: path)
            var bytes = [UInt8](try Data(contentsOf: folder("a.stl")))
            bytes.replaceSubrange(0..<80, with: [UInt8](repeating: 32, count: 80))
            try folder.write(bytes, to: "a.stl")
            let read = try STLFormat().read("", at: path, flag: CancellationFlag())
            #expect(read.frame == nil && Self.corners(read.mesh) == Self.corners(Self.box))
        }
    }

    private func fault(_ body: () throws -> Void) -> MeshFileError? {
        do {
            try body()
            return nil
        } catch {
            return error as? MeshFileError
        }
    }

    @Test("STL that is cut anywhere, too long, or text is refused")
    func hostile() throws {
        try TemporaryFolder.with { folder in
            let path = folder("a.stl").path
            try write(Self.box, named: "box", as: STLFormat(), frame: .lps, to: path)
            let whole = [UInt8](try Data(contentsOf: folder("a.stl")))
            func fault(_ bytes: [UInt8]) throws -> MeshFileError? {
                let place = try folder.write(bytes, to: "b.stl").path
                return self.fault { _ = try STLFormat().read("", at: place, flag: CancellationFlag()) }
            }
            for count in 0..<whole.count {
                #expect(try fault(Array(whole[..<count]))?.code == .truncated, "\(count) bytes")
            }
            #expect(try fault(whole + [0])?.code == .wrongTriangleCount)
            var claims = whole
            claims.replaceSubrange(80..<84, with: [255, 255, 255, 255])
            #expect(try fault(claims)?.code == .truncated)
            let text = "solid a\n" + String(repeating: "facet normal 0 0 0\n", count: 10)
            #expect(try fault(Array(text.utf8))?.code == .wrongFormat)
            var infinite = whole
            infinite.replaceSubrange(84 + 12..<84 + 16, with: [0, 0, 128, 127])
            #expect(try fault(infinite)?.code == .invalidMesh)
            #expect(
                self.fault { _ = try STLFormat().read("", at: folder.path, flag: CancellationFlag()) }?.code
                    == .unreadable
            )
            #expect(
                self.fault { _ = try STLFormat().read("", at: folder("none.stl").path, flag: CancellationFlag()) }?.code
                    == .unreadable
            )
        }
    }

    @Test("OBJ is text with indices from one, the same each time", arguments: PatientFrame.allCases)
    func obj(frame: PatientFrame) throws {
        try TemporaryFolder.with { folder in
            let mesh = SurfaceMesh(vertices: [[0, 1.5, 2], [3, -0.1, 5e-7], [6, 7, 1e9]], triangles: [[0, 1, 2]])
            try write(mesh, named: "left kidney", as: OBJFormat(), frame: frame, to: folder("a.obj").path)
            let text = String(decoding: try Data(contentsOf: folder("a.obj")), as: UTF8.self)
            let expected =
                frame == .ras
                ? "# SPACE=RAS\n# UNIT=mm\no left kidney\nv 0.0 1.5 2.0\nv 3.0 -0.1 5e-07\nv 6.0 7.0 1e+09\nf 1 2 3\n"
                : "# SPACE=LPS\n# UNIT=mm\no left kidney\nv 0.0 -1.5 2.0\nv -3.0 0.1 5e-07\nv -6.0 -7.0 1e+09\nf 1 2 3\n"
            #expect(text == expected)
        }
    }

    @Test("A mesh that no reader could use is not written, and a full disk is told")
    func unwritable() throws {
        try TemporaryFolder.with { folder in
            let missing = SurfaceMesh(vertices: [[0, 0, 0]], triangles: [[0, 0, 1]])
            let infinite = SurfaceMesh(vertices: [[0, .nan, 0]], triangles: [[0, 0, 0]])
            typealias Write = (SurfaceMesh, String, ComputeScope) throws -> Void
            let writers: [Write] = [
                { try write($0, named: "n", as: STLFormat(), frame: .lps, to: $1, scope: $2) },
                { try write($0, named: "n", as: OBJFormat(), frame: .lps, to: $1, scope: $2) },
            ]
            let flag = CancellationFlag()
            flag.cancel()
            for write in writers {
                let path = folder("a").path
                #expect(fault { try write(missing, path, .serial()) }?.code == .invalidMesh)
                #expect(fault { try write(infinite, path, .serial()) }?.code == .invalidMesh)
                #expect(!FileManager.default.fileExists(atPath: path))
                #expect(
                    fault { try write(Self.box, "/dev/full", .serial()) }?.description
                        == "/dev/full: cannot be written: No space left on device (errno 28)"
                )
                #expect(fault { try write(Self.box, folder("x/a").path, .serial()) }?.code == .cannotWrite)
                #expect(throws: CancelledError.self) { try write(Self.box, path, .serial(flag)) }
                try FileManager.default.removeItem(atPath: path)
            }
        }
    }
}
