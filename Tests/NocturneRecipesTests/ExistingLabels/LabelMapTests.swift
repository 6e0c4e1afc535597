import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("NIfTI label maps and their images")
struct LabelMapPairsTests {
    private func file(_ name: String) -> FoundFile { FoundFile(path: "/in/" + name, name: name, root: "in") }

    private func pairs(
        _ names: [String],
        images: (folder: String, files: [String: FoundFile])? = nil,
        labelled: Set<String> = []
    ) -> (pairs: [String], others: [String]) {
        let found = LabelMapPairs(names.map(file), images: images, labelled: labelled)
        return (found.pairs.map { "\($0.labels.name) of \($0.image?.name ?? "none")" }, found.others.map(\.name))
    }

    @Test("are found in nnU-Net's folders, with or without the number of the channel")
    func folders() {
        let names = ["d/imagesTr/a_0000.nii.gz", "d/imagesTr/a_0001.nii.gz", "d/imagesTs/b.nii", "d/labelsTr/a.nii.gz"]
        let found = pairs(names + ["d/labelsTs/b.nii.gz", "d/labelsTr/c.nii.gz"])
        #expect(
            found.pairs == [
                "d/labelsTr/a.nii.gz of d/imagesTr/a_0000.nii.gz", "d/labelsTs/b.nii.gz of d/imagesTs/b.nii",
                "d/labelsTr/c.nii.gz of none",
            ]
        )
        #expect(found.others == ["d/imagesTr/a_0001.nii.gz"])
    }

    @Test(
        "are found by the ends of their names",
        arguments: [
            ("ct_seg.nii.gz", "ct.nii.gz"), ("ct-label.nii", "ct.nii"), ("ct.mask.nii.gz", "ct_0000.nii.gz"),
            ("ct_Segmentation.nii.gz", "ct.nii.gz"), ("sub-01_dseg.nii.gz", "sub-01_T1w.nii.gz"),
        ]
    )
    func names(_ labels: String, _ image: String) {
        let found = pairs([labels, image])
        #expect(found.pairs == ["\(labels) of \(image)"] && found.others.isEmpty)
    }

    @Test("have no image where several could be it, and a word alone is no ending")
    func unclear() {
        let found = pairs(["s_T1w.nii.gz", "s_T2w.nii.gz", "s_dseg.nii.gz", "seg.nii.gz"])
        #expect(found.pairs == ["s_dseg.nii.gz of none"])
        #expect(found.others == ["s_T1w.nii.gz", "s_T2w.nii.gz", "seg.nii.gz"])
    }

    @Test("are all files outside the folder of the images, where one is given; else those whose header says so")
    func given() {
        let image = FoundFile(path: "/images/x/a_0000.nii.gz", name: "x/a_0000.nii.gz", root: "images")
        let given = pairs(["x/a.nii.gz", "b.nii"], images: ("/images", [image.name: image]))
        #expect(given.pairs == ["x/a.nii.gz of x/a_0000.nii.gz", "b.nii of none"])
        let labelled = pairs(["a.nii.gz", "b.nii.gz"], labelled: ["/in/b.nii.gz"])
        #expect(labelled.pairs == ["b.nii.gz of none"] && labelled.others == ["a.nii.gz"])
    }
}

@Suite("NIfTI label maps as items")
struct LabelMapTests {
    private let bench: LabelBench
    private let shape = VolumeShape(x: 20, y: 18, z: 24)
    /// The image of ``BatchBench/addBox(_:shape:at:edge:affine:)`` in voxels of 2 mm.
    private let affine = Affine.scaling(SIMD3(2, 2, 2))

    init() throws { bench = try LabelBench() }

    /// Two boxes of labels 3 and 7, in the order of the image's voxels or with the first axis the other way.
    private func write(_ path: String, names: [NIfTIWriter.Label] = [], isFlipped: Bool = false) throws {
        var voxels = try VoxelBuffer<UInt16>(count: shape.count)
        for (lower, value, edge) in [(2, UInt16(3), 6), (9, UInt16(7), 8)] {
            for k in lower..<lower + edge {
                for j in lower..<lower + edge {
                    for i in lower..<lower + edge {
                        voxels[shape.offset(isFlipped ? shape.x - 1 - i : i, j, k)] = value
                    }
                }
            }
        }
        var affine = affine
        if isFlipped {
            affine = Affine(rows: [[-2, 0, 0, 2 * Double(shape.x - 1)], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
        }
        let labels = LabelVolume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
        let url = bench.batch.folder(path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try NIfTIWriter.writeLabels(labels, names: names, forms: nil, to: url.path, scope: .serial())
    }

    @Test("of nnU-Net's folders have names, sizes and intensities", arguments: [false, true])
    func dataset(_ isFlipped: Bool) async throws {
        _ = try bench.batch.addBox("imagesTr/a_0000.nii.gz", affine: affine)
        try write("in/labelsTr/a.nii.gz", isFlipped: isFlipped)
        try bench.batch.folder.write(
            #"{"labels": {"background": 0, "kidney": 3, "absent": 5, "both": [3, 5]}}"#,
            to: "in/dataset.json"
        )
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(try bench.faults("a") == [])
        let labels = try bench.labels("a")
        #expect(labels.map { $0["name"] as? String } == ["kidney", "absent", "label 7"])
        #expect(labels.map { $0["voxelCount"] as? Int } == [216, 0, 512])
        #expect(labels.map { $0["volumeMm3"] as? Double } == [1728, 0, 4096])
        // Of the first, voxels 4 to 7 lie in the ones of the image.
        let mean = try #require((labels[0]["intensity"] as? [String: Any])?["mean"] as? Double)
        #expect(abs(mean - 64.0 / 216) < 1e-6)
        #expect((labels[0]["centroidRasMm"] as? [Double]) == [9, 9, 9])
        let result = try bench.result("a")
        #expect((result["source"] as? [String: Any])?["kind"] as? String == "labelMap")
        #expect((result["image"] as? [String: Any])?["files"] as? Int == 1)
        #expect((result["notes"] as? [String])?.contains("regions of several labels are not measured: both") == true)
        let folder = bench.batch.output.item("a")
        #expect(try !STLFormat().read("", at: folder + "/meshes/label_7.stl", flag: CancellationFlag()).mesh.isEmpty)
        let text = try String(contentsOfFile: folder + "/result.json", encoding: .utf8)
        #expect(!text.contains(bench.batch.folder.path))
    }

    @Test("on an image with voxels that are not finite have the intensities of the others, and a note")
    func notFinite() async throws {
        // One voxel of the first label, and all of the second; and one that no label has.
        var voxels = [Float](repeating: 2, count: shape.count)
        voxels[0] = .nan
        voxels[shape.offset(2, 3, 4)] = .nan
        for k in 9..<17 {
            for j in 9..<17 {
                for i in 9..<17 { voxels[shape.offset(i, j, k)] = .infinity }
            }
        }
        let image = Volume(
            geometry: VolumeGeometry(shape: shape, affine: affine),
            voxels: try FrozenVoxels(voxels)
        )
        let path = bench.batch.folder("in/a.nii.gz").path
        try NIfTIWriter.writeVolume(image, as: .float32, forms: nil, to: path, scope: .serial())
        try write("in/a_seg.nii.gz")
        try await bench.run()
        let labels = try bench.labels("a_seg")
        #expect(labels.map { $0["voxelCount"] as? Int } == [216, 512])
        #expect((labels[0]["intensity"] as? [String: Any])?["mean"] as? Double == 2)
        #expect(labels[1]["intensity"] is NSNull)
        let notes = try #require(try bench.result("a_seg")["notes"] as? [String])
        let left = notes.filter { $0.contains("float32") }
        #expect(left.count == 1 && left[0].hasSuffix(": 1 of label 3, 512 of label 7"), "\(notes)")
        #expect((try bench.result("a_seg")["noteCodes"] as? [String])?.contains("volume.notFinite") == true)
    }

    @Test("have the names of their header, or of the file that was given")
    func names() async throws {
        try write(
            "in/m.nii.gz",
            names: [NIfTIWriter.Label(value: 3, name: "liver", color: LabelColor(red: 1, green: 2, blue: 3))]
        )
        try await bench.run()
        #expect(try bench.labels("m").map { $0["name"] as? String } == ["liver", "label 7"])
        #expect(try bench.labels("m").map { $0["color"] as? String } == ["#010203", nil])
        let notes = try bench.result("m")["notes"] as? [String] ?? []
        #expect(notes.contains { $0.contains("no image of this label map was found") })

        let other = try LabelMapTests()
        try other.write(
            "in/m_seg.nii.gz",
            names: [NIfTIWriter.Label(value: 3, name: "liver", color: LabelColor(red: 1, green: 2, blue: 3))]
        )
        var options = try ExistingLabelsOptions(given: ["meshes": "none", "radiomics": "auto"])
        options.namesFile = try other.bench.batch.folder.write(#"{"7": "spleen", "3": "gut"}"#, to: "names.json").path
        try await other.bench.run(options)
        #expect(try other.bench.labels("m_seg").map { $0["name"] as? String } == ["gut", "spleen"])
        let otherNotes = try other.bench.result("m_seg")["notes"] as? [String] ?? []
        #expect(otherNotes.contains { $0.hasPrefix("no radiomic features: there is no image") }, "\(otherNotes)")
        #expect(try other.bench.faults("m_seg") == [])
    }

    @Test("on another grid than the image are measured without intensities, and a note says why")
    func otherGrid() async throws {
        _ = try bench.batch.addBox("m.nii.gz")
        try write("in/m_seg.nii.gz")
        try await bench.run()
        #expect(try bench.result("m_seg")["image"] is NSNull)
        #expect(try bench.labels("m_seg").allSatisfy { $0["intensity"] is NSNull })
        let notes = try bench.result("m_seg")["notes"] as? [String] ?? []
        let fact = "the label map lies on another grid than the image m.nii.gz"
        #expect(notes.contains { $0.hasPrefix("intensities are not measured: " + fact) }, "\(notes)")
        // Both begin at one place: what differs is the distance of voxels.
        let steps = "(2.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.0) mm, those of the image (1.0, 0.0, 0.0), "
        #expect(notes.contains { $0.contains("the first one of both is at 0.0, 0.0, 0.0 mm (RAS)") })
        #expect(notes.contains { $0.contains("the steps to the next ones are " + steps) }, "\(notes)")
    }

    /// 23 steps of 2.0001 mm along k end 0.0023 mm beyond those of 2 mm.
    @Test("whose steps differ by less than a hundredth of a mm are shown with the decimals that differ")
    func smallSteps() async throws {
        _ = try bench.batch.addBox("m.nii.gz", affine: Affine.scaling(SIMD3(2, 2, 2.0001)))
        try write("in/m_seg.nii.gz")
        try await bench.run()
        let notes = try bench.result("m_seg")["notes"] as? [String] ?? []
        let shown = ["(0.0, 0.0, 2.0) mm", "(0.0, 0.0, 2.0001) mm"]
        #expect(notes.contains { note in shown.allSatisfy { note.contains($0) } }, "\(notes)")
    }

    @Test("An image that is taken for a label map fails and says so")
    func image() async throws {
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        for index in 0..<shape.count { voxels[index] = Float(index) / 2 }
        let volume = Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
        let url = bench.batch.folder("in/x_seg.nii")
        try NIfTIWriter.writeVolume(volume, as: .float32, to: url.path, scope: .serial())
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 0 && outcome.counts.failed == 1)
        let table = try String(contentsOfFile: bench.batch.output.retryList, encoding: .utf8)
        #expect(table.contains("not a label map"))
    }
}
