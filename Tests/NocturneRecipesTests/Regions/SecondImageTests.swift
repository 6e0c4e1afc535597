import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

@Suite("A second image measured on the labels")
struct SecondImageTests {
    private func result(_ bench: BatchBench, _ item: String) throws -> [String: Any] {
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    private func label(_ bench: BatchBench, _ item: String) throws -> [String: Any]? {
        (try result(bench, item)["labels"] as? [[String: Any]])?.first?["secondImage"] as? [String: Any]
    }

    private func notes(_ bench: BatchBench, _ item: String) throws -> String {
        (try result(bench, item)["notes"] as? [String] ?? []).joined(separator: "\n")
    }

    private func schemaFaults(_ bench: BatchBench, _ item: String) throws -> [String] {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        return try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url))
    }

    /// Writes an image of 8 × 7 × 10 voxels of 2 mm, whose first axis goes to the left. The centre of voxel (i, j, k) is at
    /// (17 - 2i, 3 + 2j, 3 + 2k) mm, and its value is i + 10 j + 100 k.
    private func addSecond(_ name: String, to bench: BatchBench, origin: SIMD3<Double> = SIMD3(17, 3, 3)) throws {
        let shape = VolumeShape(x: 8, y: 7, z: 10)
        let voxels = try Phantom.voxels(shape) { i, j, k in Float(i + 10 * j + 100 * k) }
        let affine = Affine(
            columnI: SIMD3(-2, 0, 0),
            columnJ: SIMD3(0, 2, 0),
            columnK: SIMD3(0, 0, 2),
            translation: origin
        )
        let url = bench.folder(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try NIfTIWriter.writeVolume(
            Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen()),
            as: .float32,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: url.path,
            scope: .serial()
        )
    }

    private func options(_ bench: BatchBench, _ name: String = "second") -> SegmentationOptions {
        var options = SegmentationOptions()
        (options.surfaces.meshes, options.pictures.preview) = (.none, .none)
        options.measurePath = bench.folder(name).path
        return options
    }

    @Test("Its own voxels are measured, one image per item; what is missing or elsewhere is a note")
    func folder() async throws {
        let bench = try BatchBench()
        for name in ["one", "sub/deep", "elsewhere", "damaged", "without"] { try bench.addBox(name + ".nii") }
        try addSecond("second/one.nii.gz", to: bench)
        try addSecond("second/sub/deep.nii", to: bench)
        try addSecond("second/elsewhere.nii", to: bench, origin: SIMD3(1017, 3, 3))
        try bench.folder.write("no image", to: "second/damaged.nii.gz")
        let outcome = try await bench.run(options(bench))
        #expect(outcome.counts.completed == 5)

        // The label has the voxels 4 to 11 of 1 mm: of the image i = 3...6 (11 to 5 mm), j = 1...4 and k = 1...4.
        let values = (3...6).flatMap { i in
            (1...4).flatMap { j in (1...4).map { k in i + 10 * j + 100 * k } }
        }.sorted()
        let mean = Double(values.reduce(0, +)) / Double(values.count)
        let squares = values.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
        for item in ["one", "deep"] {
            let second = try #require(try label(bench, item))
            #expect(second["voxelCount"] as? Int == 64)
            #expect(second["volumeMl"] as? Double == 0.512)
            let intensity = try #require(second["intensity"] as? [String: Any])
            #expect(intensity["mean"] as? Double == mean)
            let deviation = try #require(intensity["standardDeviation"] as? Double)
            #expect(abs(deviation - (squares / 64).squareRoot()) < 1e-6)
            #expect(intensity["minimum"] as? Double == Double(values[0]))
            #expect(intensity["maximum"] as? Double == Double(values[63]))
            #expect(intensity["median"] as? Double == Double(values[31] + values[32]) / 2)
            #expect(try schemaFaults(bench, item) == [])
        }
        let image = try #require(try result(bench, "one")["secondImage"] as? [String: Any])
        #expect(image["name"] as? String == "one.nii.gz" && image["format"] as? String == "nifti")
        #expect(image["shape"] as? [Int] == [8, 7, 10] && image["spacingMm"] as? [Double] == [2, 2, 2])
        #expect(image["intensityUnit"] as? String == "image value")
        // The item's own measures are those of its own image.
        let own = (try result(bench, "one")["labels"] as? [[String: Any]])?.first?["intensity"] as? [String: Any]
        #expect(own?["mean"] as? Double == 1)

        let elsewhere = try #require(try label(bench, "elsewhere"))
        #expect(elsewhere.count == 3 && elsewhere.values.allSatisfy { $0 is NSNull })
        #expect(try result(bench, "elsewhere")["secondImage"] is [String: Any])
        for (item, words) in [
            ("elsewhere", "no voxel of it lies in the label map"), ("damaged", "damaged.nii.gz” not measured"),
            ("without", "second image not measured: there is none for this item"),
        ] {
            let text = try notes(bench, item)
            #expect(text.contains(words) && !text.contains(bench.folder.path), "\(text)")
            #expect(try schemaFaults(bench, item) == [])
        }
        for item in ["damaged", "without"] {
            #expect(try result(bench, item)["secondImage"] == nil)
            #expect(try label(bench, item) == nil)
        }
        let table = try String(contentsOfFile: bench.output.statistics, encoding: .utf8)
        #expect(table.contains("above,secondImageMean,\(mean),image value,"), "\(table)")
        #expect(table.contains("above,secondImageMaximum,\(values[63]),image value,"))
        #expect(table.contains("above,secondImageVoxelCount,64,1,"))
        #expect(table.contains("above,secondImageVolume,0.512,ml,"))
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
    }

    @Test("One image for all items; adding it keeps the label map, and a changed image is measured again")
    func oneForAll() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        try await bench.run(SegmentationOptions(given: ["meshes": "none", "preview": "none"]))
        #expect(try result(bench, "one")["secondImage"] == nil)
        let map = try FileSystem.digest(bench.output.item("one") + "/segmentation.nii.gz").digest.hex
        try addSecond("in/pet.nii", to: bench)
        let options = options(bench, "in/pet.nii")
        // The second image lies among the inputs and is not an item.
        let outcome = try await bench.run(options, overwrite: true)
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
        #expect(try label(bench, "one")?["voxelCount"] as? Int == 64)
        #expect(try FileSystem.digest(bench.output.item("one") + "/segmentation.nii.gz").digest.hex == map)

        let started = Mutex([String]())
        let note: @Sendable (BatchEvent, RunControl) -> Void = { event, _ in
            if event.event == .itemStarted, let item = event.item { started.withLock { $0.append(item) } }
        }
        try await bench.run(options, observe: note)
        #expect(started.withLock { $0 } == [])
        try addSecond("in/pet.nii", to: bench, origin: SIMD3(17, 3, 1))
        try await bench.run(options, observe: note)
        #expect(started.withLock { $0 } == ["one"])
        let intensity = try label(bench, "one")?["intensity"] as? [String: Any]
        #expect(intensity?["minimum"] as? Double == 213)
    }

    @Test("Why the series of the folder itself cannot be measured is a note of each item")
    func unusableSeries() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        let pixels = [UInt16](repeating: 0, count: shape.sliceCount)
        for k in 0..<12 where k != 5 {
            try bench.folder.write(LabelBench.slice(k, pixels, shape, nil), to: "gap/\(k).dcm")
        }
        try await bench.run(options(bench, "gap"))
        let notes = try notes(bench, "one")
        #expect(notes.contains("gap of"), "\(notes)")
    }

    @Test("The option is recorded, and the plan knows of the image")
    func plan() throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        let shape = VolumeShape(x: 140, y: 130, z: 120)
        try bench.addBox("large.nii", shape: shape)
        try FileManager.default.moveItem(at: bench.folder("in/large.nii"), to: bench.folder("large.nii"))
        let options = options(bench, "large.nii")
        #expect(options.recorded["measure"] == "yes" && SegmentationOptions().recorded["measure"] == nil)
        #expect(try SegmentationOptions(recorded: options.recorded) == options)
        func finishing(_ options: SegmentationOptions) throws -> Int {
            let recipe = try bench.recipe(options)
            let request = DiscoveryRequest(inputs: [bench.input])
            let item = try #require(recipe.search(request).items.first)
            let plan = try recipe.plan(source: item.source, threads: 1, lean: false)
            return plan.buffers.filter { $0.name.contains("measuring") }.reduce(0) { $0 + $1.bytes }
        }
        #expect(try finishing(options) >= shape.count * 6)
        #expect(try finishing(SegmentationOptions()) < 8 << 20)
    }
}
