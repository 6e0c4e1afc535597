import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Options and plans of isosurfaces")
struct IsosurfaceOptionsTests {
    @Test("Values are sorted, each once, and read back")
    func values() throws {
        let options = try IsosurfaceOptions(given: [
            "isosurface": "300,-200,0.5,300,-0.0", "meshes": "none", "fix-tilt": "yes",
        ])
        #expect(options.values == [-200, 0, 0.5, 300])
        #expect(options.recorded["isosurface"] == "-200,0,0.5,300" && options.recorded["fix-tilt"] == "yes")
        #expect(try IsosurfaceOptions(recorded: options.recorded) == options)
    }

    @Test("The command line takes up to eight values, negative ones too, without a model")
    func commandLine() throws {
        func description(_ arguments: String...) throws -> BatchDescription {
            try BatchArguments.parse(["in"] + arguments).description(version: "0.0.1")
        }
        let described = try description("--isosurface", "300", "--isosurface", "-200", "--meshes", "ply")
        #expect(described.options["isosurface"] == "-200,300" && described.options["meshes"] == "ply")
        let recipe = try #require(try LoadedModels.recipes(described).first as? Isosurfaces)
        #expect(try recipe.options == IsosurfaceOptions(given: ["isosurface": "-200,300", "meshes": "ply"]))
        #expect(try description("--isosurface=-1", "--fix-tilt").options["fix-tilt"] == "yes")
        let both = try description("--isosurface", "1", "--existing-labels")
        #expect(both.options["isosurface"] == "1" && both.options["existing-labels"] == "yes")
        #expect { try description("--isosurface", "1", "--labels", "kidney") } throws: {
            "\($0)".contains("--labels needs a model to segment volumes")
        }
        for arguments in [["--isosurface", "nan"], ["--isosurface", "1e300"], ["--isosurface", "skin"]] {
            #expect(throws: (any Error).self) { try BatchArguments.parse(["in"] + arguments) }
        }
        let nine = (1...9).flatMap { ["--isosurface", "\($0)"] }
        #expect(throws: ValidationError.self) { try BatchArguments.parse(["in"] + nine).check() }
        #expect(throws: Never.self) { try BatchArguments.parse(["in"] + nine.dropLast(2)).check() }
        #expect { try description() } throws: { "\($0)".contains("--isosurface") }
    }

    @Test("Memory is planned from the header: the voxels, and the most triangles that are made of them")
    func plan() throws {
        let bench = try IsosurfaceBench()
        try bench.addBall()
        let options = try IsosurfaceOptions(given: ["isosurface": "1"])
        let recipe = Isosurfaces(options: options)
        let source = try #require(try bench.discovered(options).items.first).source
        let plan = try recipe.plan(source: source, threads: 2, lean: false)
        func bytes(_ name: String) -> Int? { plan.buffers.first { $0.name == name }?.bytes }
        let voxels = 48 * 40 * 30
        #expect(bytes("source voxels") == 4 * voxels && bytes("labels") == 2 * voxels)
        // Of a small volume all that a cell can have: up to six.
        let cells = 49 * 41 * 31
        #expect((28 * 4 * cells...29 * 6 * cells).contains(try #require(bytes("surface"))))
        // 512 × 512 × 400 voxels: 64 triangles for each of the 222 thousand of a section.
        let large = source.replacingOccurrences(of: "\"x\":48,\"y\":40,\"z\":30", with: "\"x\":512,\"y\":512,\"z\":400")
        #expect(large != source)
        let largest = try recipe.plan(source: large, threads: 2, lean: false)
        let surface = try #require(largest.buffers.first { $0.name == "surface" }?.bytes)
        #expect((28 * 64 * 222_000...28 * 64 * 240_000).contains(surface))
        #expect(largest.bytes(in: .render) == 4 * 512 * 512 * 400 + surface)
    }
}
