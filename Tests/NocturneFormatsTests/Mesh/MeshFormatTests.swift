import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// What every format of the table promises. A new format is tested by being there.
@Suite("Mesh formats")
struct MeshFormatTests {
    static let surfaces = [
        LabelSurface(name: "left_kidney", color: SIMD3(230, 97, 1), mesh: MeshFileTests.box),
        LabelSurface(name: "liver", color: SIMD3(0, 255, 128), mesh: moved(MeshFileTests.box, by: SIMD3(20, -30, 0.5))),
    ]

    static func moved(_ mesh: SurfaceMesh, by offset: SIMD3<Float>) -> SurfaceMesh {
        SurfaceMesh(vertices: mesh.vertices.map { $0 + offset }, triangles: mesh.triangles)
    }

    /// Writes the surfaces, and returns their files.
    @discardableResult
    static func write(
        _ format: any MeshFormat,
        frame: PatientFrame = .lps,
        into folder: TemporaryFolder,
        _ surfaces: [LabelSurface] = surfaces
    ) throws -> [String] {
        let writer = format.makeWriter(in: folder.path, frame: frame, scope: .serial())
        let files = try surfaces.map { try writer.add($0) }
        try writer.finish()
        return files
    }

    @Test("have names of their own, which select them")
    func names() {
        let all = MeshFormats.all
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(!all.contains { $0.name == "none" || $0.name.isEmpty })
        for format in all {
            #expect(MeshFormats.format(of: "meshes/a.b.\(format.name)")?.name == format.name)
            #expect(MeshSelection(rawValue: format.name)?.format?.name == format.name)
        }
        #expect(MeshFormats.format(of: "a.vtk") == nil && MeshFormats.format(of: "stl") == nil)
        #expect(MeshSelection(rawValue: "vtk") == nil && MeshSelection.none.format == nil)
        #expect(MeshSelection.allCases.map(\.rawValue) == all.map(\.name) + ["none"])
    }

    @Test("give back what was written, in RAS+, with frame and colour", arguments: PatientFrame.allCases)
    func roundTrip(frame: PatientFrame) throws {
        for format in MeshFormats.all {
            try TemporaryFolder.with { folder in
                let files = try Self.write(format, frame: frame, into: folder)
                #expect(Set(files).count == (format.isScene ? 1 : 2))
                #expect(Set(FileSystem.entries(folder.path)) == Set(files), "\(format.name) leaves other files behind")
                for (file, surface) in zip(files, Self.surfaces) {
                    #expect(file.hasSuffix("." + format.name))
                    let found = try format.read(surface.name, at: folder(file).path, flag: CancellationFlag())
                    #expect(found.frame == frame)
                    let hasColors = !["obj", "stl"].contains(format.name)
                    #expect(found.color == (hasColors ? surface.color : nil), "\(format.name)")
                    #expect(MeshFileTests.corners(found.mesh) == MeshFileTests.corners(surface.mesh), "\(format.name)")
                    #expect(MeshFileTests.signedVolume(found.mesh) > 0)
                    #expect(Self.isClosed(found.mesh), "\(format.name)")
                    let flag = CancellationFlag()
                    flag.cancel()
                    #expect(throws: CancelledError.self) {
                        try format.read(surface.name, at: folder(file).path, flag: flag)
                    }
                }
            }
        }
    }

    /// Whether every edge is passed once in each direction.
    static func isClosed(_ mesh: SurfaceMesh) -> Bool {
        var edges: [SIMD2<UInt32>: Int] = [:]
        for triangle in mesh.triangles {
            for (from, to) in [(triangle.x, triangle.y), (triangle.y, triangle.z), (triangle.z, triangle.x)] {
                edges[SIMD2(from, to), default: 0] += 1
            }
        }
        return edges.allSatisfy { $0.value == 1 && edges[SIMD2($0.key.y, $0.key.x)] == 1 }
    }

    @Test("write the same bytes every time")
    func deterministic() throws {
        for format in MeshFormats.all {
            try TemporaryFolder.with { one in
                try TemporaryFolder.with { other in
                    for file in Set(try Self.write(format, into: one)) {
                        try Self.write(format, into: other)
                        #expect(try Data(contentsOf: one(file)) == Data(contentsOf: other(file)))
                    }
                }
            }
        }
    }

    @Test("refuse files that are cut anywhere or changed, and never crash")
    func hostile() throws {
        for format in MeshFormats.all {
            try TemporaryFolder.with { folder in
                let file = try #require(try Self.write(format, into: folder, [Self.surfaces[0]]).first)
                let whole = [UInt8](try Data(contentsOf: folder(file)))
                func read(_ bytes: [UInt8]) throws -> SurfaceMesh {
                    let path = try folder.write(bytes, to: "b.\(format.name)").path
                    return try format.read("left_kidney", at: path, flag: CancellationFlag()).mesh
                }
                for count in 0..<whole.count {
                    do {
                        let mesh = try read(Array(whole[..<count]))
                        // A text may end anywhere between two faces, and then is not closed.
                        let isWhole = !mesh.isEmpty && Self.isClosed(mesh)
                        #expect(format.name == "obj" && (!isWhole || count == whole.count - 1), "\(count)")
                    } catch {
                        #expect(error is MeshFileError, "\(format.name) \(count): \(error)")
                    }
                }
                for place in whole.indices {
                    for value in [0, 127, 255, whole[place] ^ 1] {
                        var changed = whole
                        changed[place] = value
                        do { _ = try read(changed) } catch { #expect(error is MeshFileError, "\(place): \(error)") }
                    }
                }
                #expect(throws: MeshFileError.self) { try format.read("a", at: folder.path, flag: CancellationFlag()) }
                #expect(throws: MeshFileError.self) {
                    try format.read("a", at: folder("none").path, flag: CancellationFlag())
                }
            }
        }
    }

    @Test("write nothing that no reader could use, and stop when cancelled")
    func unwritable() throws {
        let missing = SurfaceMesh(vertices: [[0, 0, 0]], triangles: [[0, 0, 1]])
        let infinite = SurfaceMesh(vertices: [[0, .nan, 0]], triangles: [[0, 0, 0]])
        for format in MeshFormats.all {
            try TemporaryFolder.with { folder in
                for mesh in [missing, infinite] {
                    let surface = LabelSurface(name: "a", color: .zero, mesh: mesh)
                    let error = #expect(throws: MeshFileError.self) { try Self.write(format, into: folder, [surface]) }
                    #expect(error?.code == .invalidMesh, "\(format.name)")
                }
                #expect(FileSystem.entries(folder.path).isEmpty)
                let flag = CancellationFlag()
                flag.cancel()
                let writer = format.makeWriter(in: folder.path, frame: .lps, scope: .serial(flag))
                #expect(throws: CancelledError.self) {
                    _ = try writer.add(Self.surfaces[0])
                    try writer.finish()
                }
                let nowhere = format.makeWriter(in: folder("x").path, frame: .lps, scope: .serial())
                let error = #expect(throws: MeshFileError.self) { try nowhere.add(Self.surfaces[0]) }
                #expect(error?.code == .cannotWrite && error?.systemCode == 2, "\(format.name)")
            }
        }
    }

    @Test("leave no file for an item without surfaces")
    func empty() throws {
        for format in MeshFormats.all {
            try TemporaryFolder.with { folder in
                try Self.write(format, into: folder, [])
                #expect(FileSystem.entries(folder.path).isEmpty)
            }
        }
    }
}
