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

@Suite("Volumes without a model as items")
struct VolumeViewTests {
    private static let all = [
        "pictures": "yes", "planes": "all", "rendering": "mr", "review": "volumes", "window": "0,1000",
    ]
    private static let pictures = [
        "preview.png", "slices-axial.png", "slices-coronal.png", "slices-sagittal.png", "rendering.png",
        "rendering-turn.png", "review.js",
    ]

    /// Percentiles as numpy computes them.
    private func percentile(_ sorted: [Double], _ percent: Double) -> Double {
        let place = percent / 100 * Double(sorted.count - 1)
        let (lower, upper) = (Int(place), min(Int(place) + 1, sorted.count - 1))
        return sorted[lower] + (sorted[upper] - sorted[lower]) * (place - Double(lower))
    }

    @Test("are shown in every format of volumes", arguments: ["nrrd-raw.nrrd", "mha-compressed.mha"])
    func formats(file: String) async throws {
        let bench = try VolumeViewBench()
        let bytes = try FileSystem.read(Fixtures.url("VolumeFiles/" + file).path)
        try bench.batch.folder.write(bytes, to: "in/" + file)
        #expect(try await bench.run().counts.completed == 1)
        let item = String(file.prefix { $0 != "." })
        #expect(try bench.faults(item) == [] && bench.files(item).contains("preview.png"))
    }

    @Test("have the window of soft tissue where a rendering takes them for CT", arguments: ["ct-bone", "mr"])
    func windowOfRendering(_ preset: String) async throws {
        let bench = try VolumeViewBench()
        try bench.volumes.addBall(shape: IsosurfaceBench.small)
        #expect(try await bench.run(["rendering": preset]).counts.completed == 1)
        let window = try bench.result("ball")["window"] as? [String: Double]
        #expect((window == ["lower": -160, "upper": 240]) == (preset == "ct-bone"), "\(window ?? [:])")
    }

    @Test("have the statistics of all finite voxels, every picture asked for, and no word about labels")
    func statistics() async throws {
        let bench = try VolumeViewBench()
        var values: [Double] = []
        try bench.volumes.add("ball.nii", shape: IsosurfaceBench.small) { point in
            let value: Float = point.x < -6 ? .nan : Float(500 - 10 * length(point))
            if value.isFinite { values.append(Double(value)) }
            return value
        }
        let outcome = try await bench.run(Self.all)
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
        #expect(try bench.faults("ball") == [])
        let result = try bench.result("ball")
        values.sort()
        #expect(result["finiteVoxels"] as? Int == values.count && values.count < 16 * 14 * 10)
        let intensity = try #require(result["intensity"] as? [String: Any])
        let mean = values.reduce(0, +) / Double(values.count)
        let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
        #expect(isClose(try #require(intensity["mean"] as? Double), mean, relative: 1e-7))
        #expect(
            isClose(try #require(intensity["standardDeviation"] as? Double), variance.squareRoot(), relative: 1e-6)
        )
        #expect(intensity["minimum"] as? Double == values.first && intensity["maximum"] as? Double == values.last)
        #expect(intensity["median"] as? Double == percentile(values, 50))
        let counts = (intensity["histogram"] as? [String: Any])?["counts"] as? [Int]
        #expect(counts?.reduce(0, +) == values.count)
        let percentiles = try #require(result["percentiles"] as? [[String: Double]])
        #expect(percentiles.compactMap { $0["percent"] } == [0.5, 1, 5, 25, 75, 95, 99, 99.5])
        for row in percentiles {
            let (percent, value) = (try #require(row["percent"]), try #require(row["value"]))
            #expect(isClose(value, percentile(values, percent), relative: 1e-9))
        }
        #expect(result["window"] as? [String: Double] == ["lower": -500, "upper": 500])
        #expect(try bench.files("ball") == Self.pictures)
        let notes = result["notes"] as? [String] ?? []
        #expect(notes.contains { $0.hasSuffix("outside the range of float32; they are not measured") })
        #expect(!notes.contains { $0.contains("label") })
        let table = try String(contentsOfFile: bench.batch.output.statistics, encoding: .utf8)
        #expect(table.contains("image,intensityPercentile99.5,") && table.contains("image,intensityMean,"))
        #expect(!table.contains(",voxelCount,") && !table.contains(",volume,"))
        let text = try String(contentsOfFile: bench.batch.output.item("ball") + "/result.json", encoding: .utf8)
        #expect(!text.contains(bench.batch.folder.path))
    }

    @Test("do not count as empty label maps, and the page shows intensities and no labels")
    func notEmpty() async throws {
        let bench = try VolumeViewBench()
        try bench.volumes.add("flat.nii") { _ in 0 }
        try await bench.run()
        let fingerprint = try #require(try bench.discovered().first).fingerprint.hex
        let recipe = try VolumeViews(options: VolumeViewBench.options([:]))
        let folder = bench.batch.output.item("flat")
        let product = try #require(try recipe.recognize(folder: folder, fingerprint: fingerprint))
        #expect(product.isEmpty == nil && product.notes.isEmpty)
        let parts = try VolumeViews.reviewParts(of: try FileSystem.read(folder + "/result.json"))
        #expect(parts.labels.isEmpty && parts.facts == "mean 0.00, 0.00 to 0.00")
        #expect(
            parts.pictures.map(\.path) == ["preview.png"] && parts.pictures.allSatisfy { !$0.alt.contains("label") }
        )
        try await bench.run(["review": "none"], output: OutputFolder(bench.batch.folder("bare").path))
        let bare = try FileSystem.read(bench.batch.folder("bare/flat/result.json").path)
        #expect(try VolumeViews.reviewParts(of: bare).pictures.isEmpty)
    }

    @Test("have the measures of regions of interest that a segmentation of the same volume has")
    func regions() async throws {
        let batch = try BatchBench()
        try batch.addBox("sub/box.nii.gz")
        let regions = #"""
            {"schemaVersion": 1, "space": "voxel", "regions": [
                {"name": "part", "kind": "box", "lower": [2, 3, 4], "upper": [9, 9, 11]},
                {"name": "line", "kind": "length", "points": [[1, 1, 1], [4, 5, 1]]},
                {"name": "other", "kind": "length", "points": [[1, 1, 1], [4, 5, 1]], "items": ["else*"]}
            ]}
            """#
        // A file of regions among the inputs is no input.
        let path = try batch.folder.write(regions, to: "in/rois.json").path
        let segmented = OutputFolder(batch.folder("segmented").path)
        try await batch.run(
            SegmentationOptions(given: ["meshes": "none", "rois": path, "window": "0,2"]),
            output: segmented
        )
        let bench = VolumeViewBench(batch: batch)
        let outcome = try await bench.run(["rois": path, "window": "0,2"])
        #expect(outcome.counts.inputs == 1 && outcome.counts.completed == 1)
        #expect(try bench.faults("box") == [])
        let found = try #require(try bench.result("box")["regions"] as? [[String: Any]])
        let expected = try #require(try bench.result("box", segmented)["regions"] as? [[String: Any]])
        #expect(found.map { $0["name"] as? String } == ["part", "line"])
        #expect(try VolumeViewBench.text(found) == VolumeViewBench.text(expected))
        // Of the 8 · 7 · 8 voxels, those from 4 on in each direction are ones.
        let intensity = try #require(found[0]["intensity"] as? [String: Any])
        let mean: Double = 6 * 6 * 8 / (8 * 7 * 8)
        #expect(isClose(try #require(intensity["mean"] as? Double), mean, relative: 1e-5))
        #expect(found[1]["lengthMm"] as? Double == 5)
        #expect(try bench.files("box") == ["preview.png", "regions.png"])
        let events = try String(contentsOfFile: batch.output.path + "/events.jsonl", encoding: .utf8)
        #expect(events.contains("regions: no item is called else*"))
        // The same image in the same window.
        #expect(
            try FileSystem.read(segmented.item("box") + "/regions.png")
                == FileSystem.read(batch.output.item("box") + "/regions.png")
        )
    }

    @Test("are verified: nothing is found, then a changed byte of each file, then a statement that is wrong")
    func verification() async throws {
        let bench = try VolumeViewBench()
        try bench.volumes.addBall(shape: IsosurfaceBench.small)
        try await bench.run(Self.all)
        let batch = VerifiedBatch(output: bench.batch.output, by: bench.batch)
        #expect(try await batch.faults() == [])
        for file in Self.pictures {
            let path = batch.url("ball/\(file)").path
            let whole = try FileSystem.read(path)
            try batch.change("ball/\(file)") { $0[$0.count / 2] ^= 1 }
            #expect(try await batch.faults().contains { $0.hasPrefix("ball/\(file)") })
            try FileSystem.write(path, whole)
        }
        try batch.replace("ball/result.json", "\"finiteVoxels\" : 2240", "\"finiteVoxels\" : 2241")
        #expect(try await batch.faults().contains { $0.hasPrefix("ball/result.json") })
    }

    @Test("are the same bytes from one thread and three; what is done stays done, other options make it again")
    func resume() async throws {
        let bench = try VolumeViewBench()
        try bench.volumes.addBall("a.nii", shape: IsosurfaceBench.small)
        try bench.volumes.add("b.nii", shape: IsosurfaceBench.small) { Float($0.x * $0.y) }
        try await bench.run(Self.all, threads: 1)
        let tree = try bench.batch.tree()
        let other = OutputFolder(bench.batch.folder("other").path)
        try await bench.run(Self.all, output: other, threads: 3)
        #expect(try bench.batch.tree(other) == tree)
        #expect(try await bench.run(Self.all).counts.completed == 2)
        #expect(try bench.batch.tree() == tree)
        let first = try #require(try bench.discovered(Self.all).first).fingerprint
        #expect(try #require(try bench.discovered(Self.all).first).fingerprint == first)
        for change in [["window": "lung"], ["rendering": "none"], ["review": "pictures"], ["preview": "slices"]] {
            let changed = try bench.discovered(Self.all.merging(change) { $1 })
            #expect(try #require(changed.first).fingerprint != first)
        }
    }

    @Test("of one slice, of NaN alone, and of a CT in DICOM are shown as well")
    func others() async throws {
        let labels = try LabelBench(window: ("1", "3"))
        let bench = VolumeViewBench(batch: labels.batch)
        try bench.volumes.add("nothing.nii") { _ in .nan }
        try bench.volumes.add("slice.nii", shape: VolumeShape(x: 30, y: 20, z: 1)) { Float($0.x) }
        let outcome = try await bench.run(["pictures": "yes", "review": "volumes"])
        #expect(outcome.counts.completed == 3)
        for item in ["ct", "nothing", "slice"] { #expect(try bench.faults(item) == []) }
        #expect(try bench.result("nothing")["intensity"] is NSNull)
        #expect((try bench.result("nothing")["percentiles"] as? [Any])?.isEmpty == true)
        let ct = try bench.result("ct")
        #expect((ct["source"] as? [String: Any])?["intensityUnit"] as? String == "HU")
        // 8³ ones among 20 · 18 · 24 voxels; the window of the header.
        let mean = try #require((ct["intensity"] as? [String: Any])?["mean"] as? Double)
        #expect(isClose(mean, 512.0 / (20 * 18 * 24), relative: 1e-4))
        #expect(ct["window"] as? [String: Double] == ["lower": -0.5, "upper": 1.5])
        let text = try String(contentsOfFile: bench.batch.output.item("ct") + "/result.json", encoding: .utf8)
        #expect(!text.contains("Nobody"))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
    }

    @Test("have a legend with the numbers of the header's window, as --window takes them")
    func headerWindow() async throws {
        let bench = VolumeViewBench(batch: try LabelBench(window: ("1000", "400")).batch)
        // All voxels are below these windows: only the legend can differ.
        var pictures: [[UInt8]] = []
        for window in [nil, "1000,400", "1000,399"] {
            let output = OutputFolder(bench.batch.folder("out\(pictures.count)").path)
            try await bench.run(window.map { ["window": $0] } ?? [:], output: output)
            pictures.append(try FileSystem.read(output.item("ct") + "/preview.png"))
        }
        #expect(pictures[0] == pictures[1] && pictures[0] != pictures[2])
    }

    @Test("have their memory planned from the header: voxels, pictures, rendering, and the volume for the page")
    func plan() throws {
        let bench = try VolumeViewBench()
        try bench.volumes.addBall()
        func buffers(_ given: [String: String]) throws -> [String: Int] {
            let source = try #require(try bench.discovered(given).first).source
            let plan = try VolumeViews(options: VolumeViewBench.options(given)).plan(
                source: source,
                threads: 2,
                lean: false
            )
            return Dictionary(plan.buffers.map { ($0.name, $0.bytes) }) { $0 + $1 }
        }
        let plain = try buffers(["preview": "none"])
        #expect(plain["source voxels"] == 4 * 48 * 40 * 30 && plain["pictures"] == 0)
        #expect(plain["rendering"] == nil && plain["review volume"] == nil)
        let full = try buffers(Self.all)
        #expect((full["rendering"] ?? 0) > 4 << 20 && (full["review volume"] ?? 0) > 3 * 48 * 40 * 30)
        #expect((full["pictures"] ?? 0) > 4 << 20)
    }

    @Test("With labels and isosurfaces in one batch, each recipe has its items; channels of a case are shown each")
    func together() throws {
        let bench = try VolumeViewBench()
        try bench.volumes.addBall()
        try bench.volumes.addBall("case_0000.nii")
        try bench.volumes.addBall("case_0001.nii")
        try bench.batch.folder.write("text", to: "in/notes.txt")
        let request = DiscoveryRequest(inputs: [bench.batch.input])
        let own = try VolumeViews(options: VolumeViewBench.options([:]))
        func names(_ recipes: [any Recipe]) throws -> [String] {
            try search(recipes, request).items.map { $0.problem == nil ? $0.name : "aside" }.sorted()
        }
        #expect(try names([own]) == ["aside", "ball", "case_0000", "case_0001"])
        let surfaces = try Isosurfaces(options: IsosurfaceOptions(given: ["isosurface": "1"]))
        #expect(try names([surfaces, own]).count == 7)
    }
}
