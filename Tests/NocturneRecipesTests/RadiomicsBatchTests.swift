import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRadiomics
import NocturneRecipeSupport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Radiomics in a batch")
struct RadiomicsBatchTests {
    private func options(_ radiomics: String, _ more: [String: String] = [:]) throws -> SegmentationOptions {
        try SegmentationOptions(
            given: ["meshes": "none", "preview": "none", "radiomics": radiomics].merging(more) { $1 }
        )
    }

    /// The rows of the table by image and label.
    private func rows(_ output: OutputFolder) throws -> [[Substring: Substring]] {
        let lines = String(decoding: try FileSystem.read(output.radiomics), as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        return lines.dropFirst().map { Dictionary(zip(lines[0], $0)) { first, _ in first } }
    }

    @Test("Other settings measure again without a network, and the tree is that of a new batch")
    func settings() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        let engine = CountingEngine()
        #expect(try await bench.run(engine: engine).counts.completed == 1)
        #expect(!FileSystem.exists(bench.output.radiomics))
        let runs = engine.runs
        for preset in ["mr", "pyradiomics"] {
            #expect(try await bench.run(options(preset), overwrite: true, engine: engine).counts.completed == 1)
            #expect(engine.runs == runs)
            let fresh = OutputFolder(bench.folder("fresh-" + preset).path)
            try await bench.run(options(preset), output: fresh, threads: 1)
            #expect(try bench.tree() == bench.tree(fresh))
        }
        // 8 × 8 × 8 voxels of one value, as they are.
        let row = try #require(rows(bench.output).first)
        #expect(row["item"] == "one" && row["label"] == "above" && row["voxels"] == "512")
        #expect(row["YEKZ"] == "512" && row["Q4LE"] == "1")
        // The preset has no histogram, and the skewness of equal values is 0.
        #expect(row["TLU2"] == nil && row["KE2A"] == "0")
        try await bench.run(overwrite: true)
        #expect(!FileSystem.exists(bench.output.radiomics))
    }

    @Test("The second image has rows of its own, and a label that is not there has no values")
    func secondImage() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        try bench.addBox("none.nii", edge: 0)
        try FileSystem.makeFolder(bench.folder("second").path)
        let second = bench.folder("second").path
        for name in ["one.nii", "none.nii"] {
            try FileSystem.copy(bench.input + "/one.nii", to: second + "/" + name)
        }
        #expect(try await bench.run(options("auto", ["measure": second])).counts.completed == 2)
        let rows = try rows(bench.output)
        #expect(
            rows.map { "\($0["item"] ?? "") \($0["image"] ?? "")" } == [
                "none item", "none second image", "one item", "one second image",
            ]
        )
        #expect(rows[0]["voxels"] == "0" && rows[0]["RNU0"] == "")
        #expect(rows[2]["RNU0"] == rows[3]["RNU0"] && rows[2]["settings"] == rows[3]["settings"])
        let text = String(decoding: try FileSystem.read(bench.output.item("none") + "/result.json"), as: UTF8.self)
        #expect(text.contains("no-voxels"))
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        for item in ["one", "none"] {
            let bytes = try FileSystem.read(bench.output.item(item) + "/result.json")
            #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: bytes) == [])
        }
    }

    @Test("A settings file is recorded by its content, and refused by name where it cannot be used")
    func file() throws {
        let folder = try TemporaryFolder()
        for preset in RadiomicsSettings.presets.map(\.name) {
            try folder.write("{\"preset\": \"\(preset)\"}", to: "settings.json")
            let given = try options(folder("settings.json").path)
            FileSystem.remove(folder("settings.json").path)
            let recorded = try SegmentationOptions(recorded: given.recorded)
            #expect(recorded.radiomics.choice == given.radiomics.choice)
            // The same settings by name have the same results.
            let stated = try options(preset).inResults(of: nil as VolumeSource?)["radiomics"]
            #expect(stated != nil && given.inResults(of: nil as VolumeSource?)["radiomics"] == stated)
        }
        try folder.write("{\"binWidth\": 25}", to: "settings.json")
        let error = #expect(throws: BatchError.self) { try options(folder("settings.json").path) }
        #expect(error?.path == folder("settings.json").path && error?.detail.contains("binWidth is unknown") == true)
    }

    @Test("The plan of memory counts the largest label on the new grid")
    func memory() throws {
        func measuring(_ options: SegmentationOptions) throws -> Int? {
            let bench = try BatchBench()
            try bench.addBox("v.nii", shape: VolumeShape(x: 100, y: 90, z: 80), affine: .scaling(SIMD3(1, 1, 2)))
            let recipe = try bench.recipe(options)
            let found = try recipe.search(DiscoveryRequest(inputs: [bench.input])).items
            let plan = try recipe.plan(source: #require(found.first).source, threads: 2, lean: false)
            return plan.buffers.first { $0.name.contains("measuring") }?.bytes
        }
        // 50 × 45 × 80 voxels of 2 mm, and four slices of the volume in float64.
        let bytes = try #require(try measuring(options("mr")))
        #expect(bytes == 50 * 45 * 80 * 100 + 4 * 100 * 90 * 8)
        #expect(try #require(try measuring(options("pyradiomics"))) > bytes)
    }
}
