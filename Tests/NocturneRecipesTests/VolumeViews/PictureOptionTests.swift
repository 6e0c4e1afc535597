import ArgumentParser
import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Options of pictures and regions without a model")
struct PictureOptionTests {
    private static let pictures = [
        "pictures": "yes", "rendering": "mr", "review": "volumes", "window": "1,3", "preview": "slices",
    ]

    private func description(_ arguments: String...) throws -> BatchDescription {
        try BatchArguments.parse(["in"] + arguments).description(version: "0.0.1")
    }

    @Test("The command line takes them with --view, --existing-labels and --isosurface")
    func commandLine() throws {
        for enabling in [["--view"], ["--existing-labels"], ["--isosurface", "1"]] {
            let given = [
                "--pictures", "--planes", "all", "--rendering", "mr", "--review", "volumes", "--window", "lung",
            ]
            let described = try BatchArguments.parse(["in"] + enabling + given).description(version: "0.0.1")
            #expect(described.options["planes"] == "all" && described.options["rendering"] == "mr")
            #expect(try LoadedModels.recipes(described).count == 1)
        }
        let options = try description("--view").options
        #expect(options["view"] == "yes" && options["meshes"] == nil)
        #expect(try LoadedModels.recipes(description("--view", "--fix-tilt")).first is VolumeViews)
    }

    @Test("What has no effect without labels or a model is refused with what it needs")
    func refusals() throws {
        #expect { try description("--view", "--meshes", "obj") } throws: {
            "\($0)".contains(
                "--meshes needs a model to segment volumes, or --existing-labels, or --isosurface, and none of them"
            )
        }
        #expect { try description("--view", "--label-opacity", "0.5") } throws: {
            "\($0)".contains("--label-opacity needs a model to segment volumes, or --existing-labels, or --isosurface")
        }
        #expect { try description("--view", "--labels", "kidney") } throws: {
            "\($0)".contains(
                "--labels needs a model to segment volumes, or --existing-labels, and none of them is given"
            )
        }
        #expect { try description("--isosurface", "1", "--rois", "x.json") } throws: {
            "\($0)".contains("--rois needs a model to segment volumes, or --existing-labels, or --view")
        }
        #expect { try description("--view", "--planes", "all") } throws: { "\($0)".contains("add --pictures") }
        #expect { try description() } throws: { "\($0)".contains("--view to make pictures of volumes") }
    }

    @Test("Existing labels have the pictures, the volume for the page and the regions that the CT alone has")
    func existingLabels() async throws {
        let bench = try LabelBench(window: ("1", "3"))
        let labels = try bench.labels([(5, 1, 6), (13, 2, 4)])
        try bench.writeSegmentation(labels, named: ["kidney", "stone"], to: "in/seg.dcm")
        let regions = #"""
            {"schemaVersion": 1, "space": "voxel", "regions": [
                {"name": "part", "kind": "box", "lower": [2, 3, 4], "upper": [9, 9, 11]}
            ]}
            """#
        let path = try bench.batch.folder.write(regions, to: "rois.json").path
        let given = Self.pictures.merging(["rois": path, "rendering": "ct-bone"]) { $1 }
        #expect(try await bench.run(ExistingLabelsOptions(given: given)).counts.completed == 1)
        #expect(try bench.faults("seg") == [])
        let result = try bench.result("seg")
        let files = (result["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
        let expected = [
            "segmentation.nii.gz", "preview.png", "slices.png", "regions.png", "rendering.png", "rendering-turn.png",
            "meshes/kidney.stl", "meshes/stone.stl", "review.js",
        ]
        #expect(files == expected)
        let view = VolumeViewBench(batch: bench.batch)
        let output = OutputFolder(bench.batch.folder("views").path)
        try await view.run(["rois": path], output: output)
        let found = try #require(result["regions"] as? [[String: Any]])
        #expect(found.count == 1)
        let alone = try #require(try view.result("ct", output)["regions"] as? [[String: Any]])
        #expect(try VolumeViewBench.text(found) == VolumeViewBench.text(alone))
        let script = try String(contentsOfFile: bench.batch.output.item("seg") + "/review.js", encoding: .utf8)
        #expect(script.contains("\"name\":\"kidney\"") && script.contains("\"stl\":"))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
        let table = try String(contentsOfFile: bench.batch.output.statistics, encoding: .utf8)
        #expect(table.contains("roi:part,sampleCount,448,"))
    }

    @Test("Labels without an image are drawn on black, and rendered; regions are missing with the reason")
    func withoutImage() async throws {
        let bench = try LabelBench()
        let labels = try bench.labels([(5, 1, 6)])
        try bench.writeSegmentation(labels, named: ["kidney"], to: "in/seg.dcm")
        let regions = #"""
            {"schemaVersion": 1, "space": "voxel", "regions": [
                {"name": "part", "kind": "box", "lower": [2, 3, 4], "upper": [9, 9, 11]}
            ]}
            """#
        let path = try bench.batch.folder.write(regions, to: "rois.json").path
        let options = try ExistingLabelsOptions(given: Self.pictures.merging(["rois": path]) { $1 })
        let input = bench.batch.folder("in/seg.dcm").path
        #expect(try await bench.run(options, inputs: [input]).counts.completed == 1)
        #expect(try bench.faults("seg") == [])
        let result = try bench.result("seg")
        let files = (result["files"] as? [[String: Any]] ?? []).compactMap { $0["path"] as? String }
        let pictures = ["preview.png", "slices.png", "rendering.png", "rendering-turn.png"]
        #expect(files == ["segmentation.nii.gz"] + pictures + ["meshes/kidney.stl", "review.js"])
        #expect((result["regions"] as? [Any])?.isEmpty == true)
        let notes = result["notes"] as? [String] ?? []
        #expect(notes.contains("no regions of interest: there is no image on the grid of the labels"))
    }

    @Test("Isosurfaces have them with the voxels above each value as labels")
    func isosurfaces() async throws {
        let bench = try IsosurfaceBench()
        // Radii of 5 and 2.5 mm.
        try bench.add("ball.nii", shape: IsosurfaceBench.small) { Float(500 - 20 * length($0)) }
        try await bench.run(IsosurfaceOptions(given: Self.pictures.merging(["isosurface": "400,450"]) { $1 }))
        #expect(try bench.faults("ball") == [])
        let files = try bench.result("ball")["files"] as? [[String: Any]] ?? []
        #expect(
            files.compactMap { $0["path"] as? String } == [
                "preview.png", "slices.png", "rendering.png", "rendering-turn.png", "meshes/400.stl", "meshes/450.stl",
                "review.js",
            ]
        )
        let script = try String(contentsOfFile: bench.batch.output.item("ball") + "/review.js", encoding: .utf8)
        #expect(script.contains("\"name\":\"450\""))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
    }
}
