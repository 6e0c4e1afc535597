import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Regions and references in a batch")
struct RegionBatchTests {
    private let affine = Affine(
        columnI: SIMD3(-0.5, 0, 0),
        columnJ: SIMD3(0, -0.5, 0),
        columnK: SIMD3(0, 0, 2),
        translation: SIMD3(10, -20, 30)
    )

    /// In the volume the box of ones has the voxels 4 to 11 along every axis.
    private let regions = #"""
        {"schemaVersion": 1, "space": "patientLps", "regions": [
            {"name": "in the box", "kind": "box", "lower": [-7.9, 22.1, 38.1], "upper": [-6.1, 23.9, 47.9]},
            {"name": "half", "kind": "box", "lower": [-8.9, 22.1, 38.1], "upper": [-7.1, 23.9, 47.9],
             "items": ["tw*"]},
            {"name": "edge", "kind": "length", "points": [[-8, 22, 38], [-8, 22, 54]], "items": ["sub/*.nii"]},
            {"name": "disc", "kind": "circle", "center": [-7, 23, 46.9], "radiusMm": 1.1, "plane": {"axis": "axial"}}
        ]}
        """#

    private func result(_ bench: BatchBench, _ item: String) throws -> [String: Any] {
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    private func schemaFaults(_ bench: BatchBench, _ item: String) throws -> [String] {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        return try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url))
    }

    @Test("A region for an item that is not there is named in a note")
    func missingItem() async throws {
        let bench = try BatchBench()
        for folder in ["one", "two"] { try bench.addBox("\(folder)/ct.nii", affine: affine) }
        let file =
            #"{"schemaVersion": 1, "space": "patientLps", "regions": [{"name": "a", "kind": "length","#
            + #" "points": [[-8, 22, 38], [-8, 22, 54]], "items": ["one_ct", "t*_ct", "liver7"]}]}"#
        let path = try bench.folder.write(file, to: "rois.json").path
        let options = try SegmentationOptions(given: ["meshes": "none", "rois": path])
        #expect(try await bench.run(options).counts.completed == 2)
        let events = try String(contentsOfFile: bench.output.path + "/events.jsonl", encoding: .utf8)
        let notes = events.split(separator: "\n").filter { $0.contains("regions: no item is called") }
        #expect(notes.count == 1 && notes[0].contains("liver7"))
    }

    @Test("Regions are in the results they are for, and in the table; the file may lie among the inputs")
    func regionsInResults() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii.gz", affine: affine)
        try bench.addBox("sub/two.nii", affine: affine)
        let path = try bench.folder.write(regions, to: "in/rois.json").path
        let options = try SegmentationOptions(given: ["meshes": "none", "rois": path])
        let outcome = try await bench.run(options)
        #expect(outcome.counts.completed == 2 && outcome.counts.inputs == 2)
        for (item, names) in [("one", ["in the box", "disc"]), ("two", ["in the box", "half", "edge", "disc"])] {
            #expect(try schemaFaults(bench, item) == [])
            let found = try result(bench, item)["regions"] as? [[String: Any]] ?? []
            #expect(found.map { $0["name"] as? String } == names)
            let box = try #require(found.first)
            // Voxels 5 to 7, 5 to 7 and 5 to 8 have their centres inside.
            #expect(box["status"] as? String == "complete")
            #expect(abs((box["volumeMm3"] as? Double ?? 0) - 1.8 * 1.8 * 9.8) < 1e-6)
            #expect((box["intensity"] as? [String: Any])?["median"] as? Double == 1)
            let disc = try #require(found.last)
            #expect((disc["slice"] as? [String: Any])?["axis"] as? String == "k")
            #expect((disc["slice"] as? [String: Any])?["index"] as? Int == 8)
            // Within 2.2 voxels of a centre: 1 + 4 + 4 + 4.
            #expect(disc["sampleCount"] as? Int == 13)
        }
        let two = try result(bench, "two")["regions"] as? [[String: Any]] ?? []
        #expect(two[2]["lengthMm"] as? Double == 16)
        let table = try String(contentsOfFile: bench.output.statistics, encoding: .utf8)
        #expect(table.contains("roi:edge") && table.contains("histogramCount16") && table.contains("intensityMedian"))
        let written = try String(contentsOfFile: bench.output.item("two") + "/result.json", encoding: .utf8)
        #expect(!written.contains(bench.folder.path), "a result names no path of the machine")
    }

    @Test("Regions are drawn where they lie, with their figures, unless no picture is asked for")
    func picture() async throws {
        let bench = try BatchBench()
        try bench.addBox("sub/two.nii", affine: affine)
        let path = try bench.folder.write(regions, to: "rois.json").path
        var options = try SegmentationOptions(given: ["meshes": "none", "rois": path, "preview": "none"])
        try await bench.run(options)
        #expect(!FileSystem.exists(bench.output.item("two") + "/regions.png"))
        options.pictures.preview = .slices
        try await bench.run(options, overwrite: true)
        let files = try result(bench, "two")["files"] as? [[String: Any]] ?? []
        #expect(files.contains { $0["path"] as? String == "regions.png" })
        let report = try await BatchVerification(bench.output, inspection: RecipeResults()).run()
        #expect(report.faults.isEmpty)
        let photo = try PhotoReader.read(at: bench.output.item("two") + "/regions.png")
        // Four panels of one row, each with an outline or a line; the box is seen as a square.
        let image = photo.image
        #expect(image.width % 4 == 0 && image.height > 300)
        let cell = image.width / 4
        let counts = (0..<4).map { panel in
            (0..<cell * image.height).count { image[panel * cell + $0 % cell, $0 / cell] == SIMD3(255, 214, 0) }
        }
        #expect(counts.allSatisfy { $0 > 20 })
    }

    @Test("Another content is another batch; a file that changed since is refused when a batch goes on")
    func changed() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii", affine: affine)
        let path = try bench.folder.write(regions, to: "rois.json").path
        let options = try SegmentationOptions(given: ["meshes": "none", "rois": path])
        try await bench.run(options)
        try bench.folder.write(regions.replacingOccurrences(of: "1.1", with: "0.6"), to: "rois.json")
        await #expect { try await bench.run(options) } throws: {
            "\($0)".contains("changed since the batch was started")
        }
        let other = try SegmentationOptions(given: ["meshes": "none", "rois": path])
        await #expect { try await bench.run(other) } throws: { ($0 as? BatchError)?.code == .optionsDiffer }
        try await bench.run(other, overwrite: true)
        let found = try result(bench, "one")["regions"] as? [[String: Any]] ?? []
        #expect(found.last?["sampleCount"] as? Int == 5)
    }

    @Test("A file of regions that cannot be used is told with region and field")
    func refused() throws {
        let bench = try BatchBench()
        let path = try bench.folder.write(
            regions.replacingOccurrences(of: "\"radiusMm\": 1.1", with: "\"radiusMm\": -1"),
            to: "rois.json"
        ).path
        #expect { try RegionInstruction(path: path) } throws: {
            "\($0)".contains("rois.json: regions[3].radiusMm (\"disc\") is")
        }
        #expect { try RegionInstruction(path: path + ".gone") } throws: { "\($0)".contains("does not exist") }
    }

    /// Volumes with a box each, and reference labels for them, of which some do not fit.
    private func referenceBench() throws -> BatchBench {
        let bench = try BatchBench()
        // The model's own spacing, so that the box comes back as it was drawn.
        let affine = Affine(
            columnI: SIMD3(-1, 0, 0),
            columnJ: SIMD3(0, -1, 0),
            columnK: SIMD3(0, 0, 1),
            translation: SIMD3(10, -20, 30)
        )
        for name in ["same", "moved", "sub/deep", "other-grid", "elsewhere", "damaged", "without"] {
            try bench.addBox(name + ".nii.gz", affine: affine)
        }
        func reference(_ name: String, from first: Int, shape: VolumeShape, affine: Affine) throws {
            var voxels = try VoxelBuffer<UInt16>(count: shape.count)
            for k in 4..<12 {
                for j in 4..<12 {
                    for i in first..<first + 8 { voxels[shape.offset(i, j, k)] = 1 }
                }
            }
            let labels = LabelVolume(
                geometry: VolumeGeometry(shape: shape, affine: affine),
                voxels: voxels.frozen()
            )
            let url = bench.folder("in/truth/\(name)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(qformCode: 1, sformCode: 1),
                to: url.path,
                scope: .serial()
            )
        }
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        var shifted = affine
        shifted.translation.x += 0.01
        try reference("same.nii.gz", from: 4, shape: shape, affine: affine)
        try reference("moved.nii", from: 6, shape: shape, affine: affine)
        try reference("sub/deep.nii.gz", from: 4, shape: shape, affine: affine)
        try reference("other-grid.nii.gz", from: 4, shape: VolumeShape(x: 20, y: 18, z: 23), affine: affine)
        try reference("elsewhere.nii.gz", from: 4, shape: shape, affine: shifted)
        try bench.folder.write("no labels", to: "in/truth/damaged.nii.gz")
        return bench
    }

    @Test("Labels are compared with the reference found for them; what is wrong with one is a note")
    func references() async throws {
        let bench = try referenceBench()
        let options = try SegmentationOptions(given: ["meshes": "none", "compare": bench.input + "/truth"])
        let outcome = try await bench.run(options)
        #expect(outcome.counts.completed == 7 && outcome.counts.inputs == 7)
        func compared(_ item: String) throws -> [String: Any]? {
            let comparison = try result(bench, item)["comparison"] as? [String: Any]
            return (comparison?["labels"] as? [[String: Any]])?.first
        }
        func note(_ item: String) throws -> String {
            (try result(bench, item)["notes"] as? [String] ?? []).joined(separator: "\n")
        }
        for item in ["same", "deep"] {
            #expect(try compared(item)?["dice"] as? Double == 1)
            #expect(try compared(item)?["hausdorffMm"] as? Double == 0)
            #expect(try schemaFaults(bench, item) == [])
        }
        let moved = try #require(try compared("moved"))
        #expect(moved["dice"] as? Double == 0.75)
        #expect(moved["hausdorffMm"] as? Double == 2 && moved["hausdorff95Mm"] as? Double == 2)
        let mean = try #require(moved["meanSurfaceDistanceMm"] as? Double)
        #expect(mean > 0.1 && mean < 2)
        let surfaceDice = try #require(moved["surfaceDice"] as? Double)
        #expect(surfaceDice > 0 && surfaceDice < 1)
        #expect(try compared("same")?["surfaceDice"] as? Double == 1)
        for (item, words) in [
            ("other-grid", "has 20 x 18 x 23 voxels"),
            ("elsewhere", "its voxels are not at the positions of the item's image"),
            ("damaged", "damaged.nii.gz"),
            ("without", "no reference labels"),
        ] {
            #expect(try result(bench, item)["comparison"] is NSNull, "\(item)")
            let text = try note(item)
            #expect(text.contains(words) && !text.contains(bench.folder.path), "\(text)")
            #expect(try schemaFaults(bench, item) == [])
        }
        let table = try String(contentsOfFile: bench.output.statistics, encoding: .utf8)
        #expect(table.contains("meanSurfaceDistance") && table.contains("hausdorff95") && table.contains(",dice,0.75,"))
        #expect(table.contains("surfaceDice"))
        // The moved box is as large as its reference; the difference is that of the counts.
        for item in ["same", "moved"] {
            let label = try #require(try compared(item))
            let counts = [label["voxelCount"] as? Int ?? -1, label["referenceVoxelCount"] as? Int ?? -1]
            #expect(counts[0] > 0 && counts[0] == counts[1])
            #expect(label["volumeDifferenceMl"] as? Double == 0 && label["relativeVolumeDifference"] as? Double == 0)
        }
        #expect(table.contains(",volumeDifference,0,ml,") && table.contains(",relativeVolumeDifference,0,1,"))
        let summary = try String(contentsOfFile: bench.output.comparison, encoding: .utf8)
        #expect(summary.contains(",notCompared,,4,,,,"), "\(summary)")
        #expect(outcome.remarks?.notCompared == 4)
    }

    @Test("Of segments that overlap, each label is compared with its whole segment")
    func overlappingSegments() async throws {
        // What is above 0.5 is outer, what is above 5 inner: the series has a box of ones.
        let bench = try LabelBench(
            batch: BatchBench { try ProgramBuilder(section: ProgramBuilder.merged).write(into: $0) }
        )
        let apart = try bench.labels([(4, 1, 8), (4, 2, 4)])
        try bench.writeSegmentation(apart, named: ["outer", "inner"], to: "truth.dcm")
        // The pixels are the end of the file: eight frames of the outer segment, then four of the inner one, from the same
        // slice on. The voxels of the inner segment are added to the outer one.
        let path = bench.batch.folder("truth.dcm").path
        var bytes = try FileSystem.read(path)
        let frame = bench.shape.sliceCount / 8
        let start = bytes.count - 12 * frame
        for place in start..<start + 4 * frame { bytes[place] |= bytes[place + 8 * frame] }
        try FileSystem.write(path, bytes)
        try await bench.batch.run(SegmentationOptions(given: ["meshes": "none", "compare": path]))
        let result = try bench.result("ct")
        let comparison = try #require(result["comparison"] as? [String: Any])
        let labels = try #require(comparison["labels"] as? [[String: Any]])
        #expect(labels.map { $0["name"] as? String } == ["outer", "inner"])
        #expect(labels.map { $0["referenceVoxelCount"] as? Int } == [512, 64])
        #expect(labels.map { $0["voxelCount"] as? Int } == [512, 0])
        #expect(labels.map { $0["dice"] as? Double } == [1, 0])
        #expect(labels[0]["hausdorffMm"] as? Double == 0)
        #expect((result["noteCodes"] as? [String])?.contains("comparison.segmentsOverlap") == true)
    }

    @Test("The plan knows of large regions and of references")
    func plan() async throws {
        let bench = try BatchBench()
        let shape = VolumeShape(x: 90, y: 80, z: 70)
        try bench.addBox("one.nii", shape: shape)
        let all = #"""
            {"schemaVersion": 1, "space": "voxel", "regions": [
                {"name": "all", "kind": "box", "lower": [0, 0, 0], "upper": [89, 79, 69]}
            ]}
            """#
        let path = try bench.folder.write(all, to: "rois.json").path
        try FileManager.default.copyItem(atPath: bench.input + "/one.nii", toPath: bench.folder("truth.nii").path)
        func finishing(_ options: SegmentationOptions) throws -> Int {
            let recipe = try bench.recipe(options)
            let item = try #require(
                recipe.search(DiscoveryRequest(inputs: [bench.input])).items.first
            )
            let plan = try recipe.plan(source: item.source, threads: 1, lean: false)
            return plan.buffers.filter { $0.name.contains("measuring") }.reduce(0) { $0 + $1.bytes }
        }
        let regions = try SegmentationOptions(given: ["rois": path])
        #expect(try finishing(regions) >= shape.count * 4)
        let reference = try SegmentationOptions(given: ["compare": bench.folder("truth.nii").path])
        #expect(try finishing(reference) >= shape.count * 6)
        #expect(try finishing(SegmentationOptions()) < 8 << 20)
    }
}
