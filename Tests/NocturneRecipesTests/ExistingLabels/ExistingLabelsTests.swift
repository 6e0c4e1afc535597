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
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Segmentations and structure sets as items")
struct ExistingLabelsTests {
    @Test("A segmentation and a structure set of the same labels give back their voxels, names, colours and codes")
    func roundTrip() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(2, 1, 6), (9, 2, 8)])
        try bench.writeSegmentation(drawn, named: ["kidney", "Liver / left"], to: "in/seg.dcm")
        let apart = try [(2, UInt16(1), 6), (9, UInt16(1), 8)].map { try bench.labels([$0]) }
        try bench.writeStructureSet([("kidney", apart[0]), ("Liver / left", apart[1])], to: "in/rt.dcm")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 2 && outcome.counts.inputs == 3)
        for item in ["seg", "rt"] {
            #expect(try bench.faults(item) == [])
            let folder = bench.batch.output.item(item)
            let (_, read) = try VolumeFileReader.readLabels(at: folder + "/segmentation.nii.gz", scope: .serial())
            #expect(read.geometry.matches(bench.geometry))
            #expect((0..<bench.shape.count).allSatisfy { read.voxels[$0] == drawn.voxels[$0] })
            let labels = try bench.labels(item)
            #expect(labels.map { $0["name"] as? String } == ["kidney", "Liver / left"])
            #expect(labels.map { $0["color"] as? String } == ["#c81e3c", "#14823c"])
            #expect(labels.map { $0["volumeMm3"] as? Double } == [216, 512])
            #expect((labels[0]["code"] as? [String: Any])?["value"] as? String == "64033007")
            let centroid: [Double] = [5.5, -24.5, 34.5]
            #expect((labels[0]["centroidRasMm"] as? [Double]) == centroid)
            // Of the first, voxels 4 to 7 lie in the ones of the CT.
            let mean = try #require((labels[0]["intensity"] as? [String: Any])?["mean"] as? Double)
            #expect(abs(mean - 64.0 / 216) < 1e-6)
            #expect(labels.map { $0["touchesBorder"] as? Bool } == [false, false])
            #expect((try bench.result(item)["image"] as? [String: Any])?["files"] as? Int == 24)
            for name in ["kidney", "Liver___left"] {
                #expect(
                    try !STLFormat().read("", at: folder + "/meshes/\(name).stl", flag: CancellationFlag()).mesh.isEmpty
                )
            }
            let text = try String(contentsOfFile: folder + "/result.json", encoding: .utf8)
            #expect(!text.contains(bench.batch.folder.path) && !text.contains("Nobody"))
        }
        // Contours of a box lie on its faces: a stack of slabs is the box.
        let mesh = try #require(try bench.labels("rt")[1]["mesh"] as? [String: Any])
        #expect(abs((mesh["volumeMm3"] as? Double ?? 0) - 512) < 16)
        let table = try String(contentsOfFile: bench.batch.output.statistics, encoding: .utf8)
        #expect(table.contains("Liver / left") && table.contains("intensityMedian"))
    }

    @Test("Only the labels that were asked for are written, and a note names those that an item does not have")
    func choice() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(2, 1, 6), (9, 2, 8)])
        try bench.writeSegmentation(drawn, named: ["kidney", "liver"], to: "in/seg.dcm")
        // Two slices between the parts of the kidney have none of it, and the liver overlaps with one of them.
        let (kidney, liver) = (try bench.labels([(2, 1, 2), (6, 1, 2)]), try bench.labels([(4, 1, 8)]))
        try bench.writeStructureSet([("kidney", kidney), ("liver", liver)], to: "in/rt.dcm")
        try bench.writeSegmentation(try bench.labels([(2, 1, 6)]), named: ["kidney"], to: "in/other.dcm")
        var options = ExistingLabelsOptions()
        options.choice.names = LabelNames(argument: "liver")
        #expect(try await bench.run(options).counts.completed == 3)
        for item in ["seg", "rt"] {
            #expect(try bench.faults(item) == [])
            let labels = try bench.labels(item)
            #expect(labels.map { $0["name"] as? String } == ["liver"])
            #expect(labels.map { $0["volumeMm3"] as? Double } == [512])
            // The regions of the structure set overlap: what is left has one label map.
            #expect(labels.map { $0["file"] as? String } == ["segmentation.nii.gz"])
            let folder = bench.batch.output.item(item)
            #expect(!FileSystem.exists(folder + "/segmentation-2.nii.gz"))
            let (_, read) = try VolumeFileReader.readLabels(at: folder + "/segmentation.nii.gz", scope: .serial())
            #expect((0..<bench.shape.count).count { read.voxels[$0] != 0 } == 512)
            #expect(FileSystem.exists(folder + "/meshes/liver.stl"))
            #expect(!FileSystem.exists(folder + "/meshes/kidney.stl"))
            // Neither the kidney nor that it overlaps is noted.
            let notes = try #require(try bench.result(item)["notes"] as? [String])
            #expect(notes.allSatisfy { !$0.contains("kidney") && !$0.contains("overlap") }, "\(notes)")
        }
        #expect(try bench.labels("other").isEmpty && bench.faults("other") == [])
        let notes = try #require(try bench.result("other")["notes"] as? [String])
        #expect(notes.contains { $0.contains("liver") }, "\(notes)")
    }

    @Test("A region with contours on every second slice has the voxels of these, the surface of all, and a note")
    func gaps() async throws {
        let bench = try LabelBench()
        var voxels = try VoxelBuffer<UInt16>(count: bench.shape.count)
        for k in [4, 6, 8, 10] {
            for j in 4..<12 {
                for i in 4..<12 { voxels[bench.shape.offset(i, j, k)] = 1 }
            }
        }
        let region = LabelVolume(geometry: bench.geometry, voxels: voxels.frozen())
        try bench.writeStructureSet([("kidney", region)], to: "in/rt.dcm")
        try await bench.run()
        let label = try #require(try bench.labels("rt").first)
        #expect(label["voxelCount"] as? Int == 256 && label["volumeMm3"] as? Double == 256)
        // Four slabs of 8 x 8 x 2 mm.
        let mesh = try #require(label["mesh"] as? [String: Any])
        #expect(abs((mesh["volumeMm3"] as? Double ?? 0) - 512) < 32)
        let result = try bench.result("rt")
        #expect((result["noteCodes"] as? [String])?.contains("contours.gaps") == true)
        let notes = try #require(result["notes"] as? [String])
        #expect(notes.contains { $0.hasPrefix("kidney: no contour on 3 slices between ") }, "\(notes)")
    }

    @Test("Names in other scripts are those of the labels; their files are named after the values")
    func otherScripts() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(2, 1, 6), (9, 2, 8)])
        try bench.writeSegmentation(drawn, named: ["肝脏", "селезёнка"], to: "in/seg.dcm")
        try await bench.run()
        #expect(try bench.labels("seg").map { $0["name"] as? String } == ["肝脏", "селезёнка"])
        let meshes = FileSystem.entries(bench.batch.output.item("seg") + "/meshes")
        #expect(meshes == ["label-1.stl", "label-2.stl"])
        let table = try String(contentsOfFile: bench.batch.output.statistics, encoding: .utf8)
        #expect(table.contains("肝脏") && table.contains("селезёнка"))
    }

    @Test("Names of labels are separated by commas that have no backslash before them")
    func commas() {
        #expect(LabelNames(argument: "liver, spleen ,")?.names == ["liver", "spleen"])
        let names = LabelNames(argument: #"Lunge\, links,liver"#)
        #expect(names?.names == ["Lunge, links", "liver"])
        #expect(names?.defaultValueDescription == #"Lunge\, links,liver"#)
        #expect(LabelNames(argument: ",") == nil && LabelNames(argument: "liver, ,spleen") == nil)
    }

    @Test("Labels with the same name are distinguished by their numbers, and are chosen by their name or one by one")
    func sameNames() async throws {
        let both = ["lesion (1)", "lesion (2)"]
        let choices: [(String?, [String])] = [(nil, both), ("lesion", both), ("lesion (2)", ["lesion (2)"])]
        for (wanted, found) in choices {
            let bench = try LabelBench()
            let drawn = try bench.labels([(2, 1, 6), (9, 2, 8)])
            try bench.writeSegmentation(drawn, named: ["lesion", "lesion"], to: "in/seg.dcm")
            var options = ExistingLabelsOptions()
            options.choice.names = wanted.flatMap { LabelNames(argument: $0) }
            try await bench.run(options)
            #expect(try bench.labels("seg").map { $0["name"] as? String } == found)
            let notes = try #require(try bench.result("seg")["notes"] as? [String])
            let note = "labels with the same name have their number behind it: " + found.joined(separator: ", ")
            #expect(notes.contains(note), "\(notes)")
            let table = try String(contentsOfFile: bench.batch.output.measurements, encoding: .utf8)
            #expect(both.filter(table.contains) == found)
        }
    }

    @Test("A segmentation whose planes do not form a grid lies on the grid of its images")
    func sparse() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(2, 1, 1), (4, 1, 1), (7, 1, 1)])
        try bench.writeSegmentation(drawn, named: ["kidney"], to: "in/seg.dcm")
        // Without the distance of the slices, 1 mm.
        let path = bench.batch.folder("in/seg.dcm").path
        var bytes = try Data(contentsOf: bench.batch.folder("in/seg.dcm"))
        let place = try #require(bytes.range(of: Data([0x18, 0, 0x88, 0])))
        bytes[place.lowerBound + 8] = UInt8(ascii: "0")
        try bench.batch.folder.write(Array(bytes), to: "in/seg.dcm")
        let fault = #expect(throws: DICOMReadError.self) { try DICOMSegmentation.readHeader(path: path) }
        #expect(fault?.code == .spacingNotUniform)
        try await bench.run()
        #expect(try bench.faults("seg") == [])
        let map = bench.batch.output.item("seg") + "/segmentation.nii.gz"
        let (_, read) = try VolumeFileReader.readLabels(at: map, scope: .serial())
        #expect(read.geometry.matches(bench.geometry))
        #expect((0..<bench.shape.count).allSatisfy { read.voxels[$0] == drawn.voxels[$0] })
        let report = try InputInspection(scope: .serial()).run(DiscoveryRequest(inputs: [bench.batch.input]))
        let entry = try #require(report.entries.first { $0.path.hasSuffix("seg.dcm") })
        #expect(entry.problem == nil && entry.labels?.count == 1, "\(entry.problem ?? "")")
    }

    @Test("Regions that overlap are whole, in label maps of their own")
    func overlapping() async throws {
        let bench = try LabelBench()
        let regions = try [(2, UInt16(1), 10), (5, UInt16(1), 10)].map { try bench.labels([$0]) }
        try bench.writeStructureSet([("outer", regions[0]), ("inner", regions[1])], to: "in/rt.dcm")
        try await bench.run(ExistingLabelsOptions(given: ["meshes": "none"]))
        #expect(try bench.faults("rt") == [])
        let labels = try bench.labels("rt")
        #expect(labels.map { $0["file"] as? String } == ["segmentation.nii.gz", "segmentation-2.nii.gz"])
        #expect(labels.map { $0["voxelCount"] as? Int } == [1000, 1000])
        #expect((try bench.result("rt")["noteCodes"] as? [String])?.contains("labels.overlap") == true)
        let path = bench.batch.output.item("rt") + "/segmentation-2.nii.gz"
        let (_, second) = try VolumeFileReader.readLabels(at: path, scope: .serial())
        #expect((0..<bench.shape.count).allSatisfy { (second.voxels[$0] == 2) == (regions[1].voxels[$0] == 1) })
        #expect(!FileSystem.exists(bench.batch.output.item("rt") + "/meshes"))
    }

    @Test("Without the source images there are sizes and no intensities, and a note says why")
    func withoutImages() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(5, 1, 6)])
        try FileManager.default.createDirectory(at: bench.batch.folder("alone"), withIntermediateDirectories: true)
        try bench.writeSegmentation(drawn, named: ["kidney"], to: "alone/seg.dcm")
        try bench.writeStructureSet([("kidney", drawn)], to: "alone/rt.dcm")
        let outcome = try await bench.run(inputs: [bench.batch.folder("alone").path])
        #expect(outcome.counts.completed == 2 && outcome.counts.inputs == 2)
        for item in ["seg", "rt"] {
            #expect(try bench.faults(item) == [])
            let label = try #require(try bench.labels(item).first)
            let notes = try bench.result(item)["notes"] as? [String] ?? []
            #expect(notes.contains { $0.contains("the source images are not among the inputs") })
            #expect(label["intensity"] is NSNull && label["touchesBorder"] is NSNull)
            #expect(label["status"] as? String == "present")
            #expect(label["volumeMm3"] as? Double == 216)
        }
    }

    @Test("Source images that do not form a volume are not called absent: the note has their reason")
    func refusedImages() async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(5, 1, 6)])
        try bench.writeStructureSet([("kidney", drawn)], to: "in/rt.dcm")
        try FileManager.default.removeItem(at: bench.batch.folder("in/ct/3.dcm"))
        try await bench.run()
        let notes = try bench.result("rt")["notes"] as? [String] ?? []
        let reason = "the source images are among the inputs, but do not form a volume: gap of "
        #expect(notes.contains { $0.hasPrefix("intensities are not measured: " + reason) }, "\(notes)")
    }

    @Test(
        "An object that names an absent series is put on the only image in its frame of reference, with a note",
        arguments: [["7"], ["7", "8"]]
    )
    func absentSeries(numbers: [String]) async throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(2, 1, 6)])
        try FileManager.default.createDirectory(at: bench.batch.folder("other"), withIntermediateDirectories: true)
        try bench.writeSegmentation(drawn, named: ["kidney"], to: "other/seg.dcm")
        try bench.writeStructureSet([("kidney", drawn)], to: "other/rt.dcm")
        // Images of other series and instances, whose numbers have as many digits.
        for number in numbers {
            for k in 0..<bench.shape.z {
                var bytes = try Data(contentsOf: bench.batch.folder("in/ct/\(k).dcm"))
                var start = bytes.startIndex
                while let place = bytes.range(of: Data("1.2.3.4".utf8), in: start..<bytes.endIndex) {
                    bytes.replaceSubrange(place, with: Data("1.2.3.\(number)".utf8))
                    start = place.upperBound
                }
                try bench.batch.folder.write(Array(bytes), to: "other/\(number)/\(k).dcm")
            }
        }
        try await bench.run(inputs: [bench.batch.folder("other").path])
        for item in ["seg", "rt"] {
            let label = try #require(try bench.labels(item).first)
            let notes = try bench.result(item)["notes"] as? [String] ?? []
            guard numbers.count == 1 else {
                #expect(label["intensity"] is NSNull)
                #expect(notes.contains { $0.contains("2 volumes could be the source images") })
                continue
            }
            // Voxels 4 to 7 lie in the ones of the CT.
            let mean = try #require((label["intensity"] as? [String: Any])?["mean"] as? Double)
            #expect(abs(mean - 64.0 / 216) < 1e-6)
            #expect(notes.contains { $0.hasPrefix("the images that it names are not among the inputs") })
            let path = bench.batch.output.item(item) + "/segmentation.nii.gz"
            let (_, map) = try VolumeFileReader.readLabels(at: path, scope: .serial())
            #expect(map.geometry.matches(bench.geometry))
        }
    }

    @Test("A segmentation of a microscopic slide is skipped with the reason, and nothing fails")
    func slide() async throws {
        let bench = try LabelBench()
        try bench.writeSegmentation(try bench.labels([(5, 1, 6)]), named: ["kidney"], to: "in/seg.dcm")
        var bytes = Array(try Data(contentsOf: bench.batch.folder("in/seg.dcm")))
        // Before SamplesPerPixel (0028,0002), whose value has two bytes.
        let samples: [UInt8] = [0x28, 0, 2, 0] + Array("US".utf8) + [2, 0]
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: samples) })
        let organization: [UInt8] = [0x20, 0, 0x11, 0x93] + Array("CS".utf8) + [10, 0] + Array("TILED_FULL".utf8)
        bytes.insert(contentsOf: organization, at: place)
        try Data(bytes).write(to: bench.batch.folder("in/slide.dcm"))
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 0)
        #expect(try await bench.batch.state("slide") == .skipped)
        #expect(try await bench.batch.reason("slide")?.contains("microscopic slide") == true)
    }

    @Test("What is done stays done; a changed image, a damaged result and other options do not")
    func resume() async throws {
        let bench = try LabelBench()
        try bench.writeSegmentation(try bench.labels([(5, 1, 6)]), named: ["kidney"], to: "in/seg.dcm")
        let recipe = try ExistingLabels()
        func fingerprint() throws -> String {
            let found = try recipe.search(DiscoveryRequest(inputs: [bench.batch.input]))
            return try #require(found.items.first { $0.problem == nil }).fingerprint.hex
        }
        try await bench.run()
        let tree = try bench.batch.tree()
        let first = try fingerprint()
        let folder = bench.batch.output.item("seg")
        #expect(try recipe.recognize(folder: folder, fingerprint: first)?.files.count == 4)
        #expect(try recipe.recognize(folder: folder, fingerprint: String(first.reversed())) == nil)
        let again = try await bench.run()
        #expect(again.counts.completed == 1)
        #expect(try bench.batch.tree() == tree)
        try bench.batch.folder.write(
            [UInt8](try Data(contentsOf: bench.batch.folder("in/ct/3.dcm"))) + [0, 0],
            to: "in/ct/3.dcm"
        )
        #expect(try fingerprint() != first)
        try FileSystem.write(folder + "/preview.png", [1, 2, 3])
        #expect(try recipe.recognize(folder: folder, fingerprint: first) == nil)
    }

    @Test("Beside a model, each takes its own; alone, what is no object is set aside once a series")
    func beside() throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(5, 1, 6)])
        try bench.writeSegmentation(drawn, named: ["kidney"], to: "in/ct/seg.dcm")
        try bench.writeStructureSet([("kidney", drawn)], to: "in/rt.dcm")
        try bench.batch.folder.write("text", to: "in/notes.txt")
        let request = DiscoveryRequest(inputs: [bench.batch.input])
        let (own, volumes) = (try ExistingLabels(), try bench.batch.recipe())
        func words(_ recipes: [any Recipe]) throws -> [String] {
            try search(recipes, request).items.map { item in
                let name = (item.path as NSString).lastPathComponent
                return item.problem == nil ? "\(name) \(item.model)" : "\(name) aside"
            }.sorted()
        }
        #expect(
            try words([volumes, own]) == [
                "ct threshold", "notes.txt aside", "rt.dcm existing-labels", "seg.dcm existing-labels",
            ]
        )
        #expect(
            try words([own]) == [
                "ct aside", "notes.txt aside", "rt.dcm existing-labels", "seg.dcm existing-labels",
            ]
        )
        let images = try #require(try search([own], request).items.first { $0.path.hasSuffix("/ct") })
        #expect(images.problem?.reason.code == .partOfOther)
        let alone = DiscoveryRequest(inputs: [bench.batch.folder("in/ct/0.dcm").path])
        #expect(try search([own], alone).items.first?.problem?.reason.code == .noLabels)
        #expect(
            try words([volumes]) == ["ct threshold", "notes.txt aside", "rt.dcm aside", "seg.dcm aside"]
        )
    }

    @Test(
        "What is no object is set aside once a folder, whatever series lie in it",
        .enabled(if: SharedData.folder != nil)
    )
    func severalSeries() throws {
        guard let folder = SharedData.url("pydicom-dicomdir") else { return }
        let paths = try ExistingLabels().search(DiscoveryRequest(inputs: [folder.path])).items.map(\.path)
        #expect(paths.contains { $0.hasSuffix("98892003/MR2") } && Set(paths).count == paths.count)
    }

    @Test("A DICOM segmentation is a reference: by name, by number, or with a note")
    func reference() async throws {
        let bench = try LabelBench()
        for (name, label) in [("named", "ABOVE"), ("numbered", "ZZZZ"), ("others", "something")] {
            let path = bench.batch.folder(name).path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try bench.writeSegmentation(try bench.labels([(4, 1, 8)]), named: [label], to: "\(name)/ct.dcm")
            if name == "numbered" {
                // A segment without a name, which the writer does not make.
                var bytes = try Data(contentsOf: bench.batch.folder("\(name)/ct.dcm"))
                while let place = bytes.range(of: Data(label.utf8)) {
                    bytes.replaceSubrange(place, with: Data("    ".utf8))
                }
                try bytes.write(to: bench.batch.folder("\(name)/ct.dcm"))
            }
            let output = OutputFolder(bench.batch.folder("out-" + name).path)
            try await bench.batch.run(SegmentationOptions(given: ["meshes": "none", "compare": path]), output: output)
            let data = try Data(contentsOf: URL(fileURLWithPath: output.item("ct") + "/result.json"))
            let result = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            let compared = (result?["comparison"] as? [String: Any])?["labels"] as? [[String: Any]]
            #expect(compared?.first?["dice"] as? Double == (name == "others" ? nil : 1))
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains("comparison.byNumber") == (name == "numbered"))
            #expect(text.contains("matches a label of the model: something") == (name == "others"))
        }
        try bench.writeStructureSet([("above", try bench.labels([(4, 1, 8)]))], to: "named/ct.dcm")
        try await bench.batch.run(
            SegmentationOptions(given: ["meshes": "none", "compare": bench.batch.folder("named").path])
        )
        let data = try Data(contentsOf: URL(fileURLWithPath: bench.batch.output.item("ct") + "/result.json"))
        #expect(String(decoding: data, as: UTF8.self).contains("not compared with ct.dcm"))
    }

    @Test("A series whose window is beyond all numbers is found as one without a window")
    func endlessWindow() throws {
        let bench = try LabelBench(window: ("-1.7e308", "1.7e308"))
        let request = DiscoveryRequest(inputs: [bench.batch.input])
        let items = try bench.batch.recipe().search(request).items
        #expect(items.count == 1 && items.first?.problem == nil)
        #expect(items.first?.source.contains("\"window\"") == false)
        let usual = try LabelBench(window: ("40", "400"))
        let others = try usual.batch.recipe().search(DiscoveryRequest(inputs: [usual.batch.input]))
        #expect(others.items.first?.source.contains("\"window\"") == true)
    }

    @Test("A decoder is planned for by the size of the slices, on every thread")
    func decoderOfLargeSlices() throws {
        let bench = try LabelBench()
        let recipe = try bench.batch.recipe()
        let found = try recipe.search(DiscoveryRequest(inputs: [bench.batch.input]))
        let source = try #require(found.items.first).source
        func planned(_ source: String) throws -> Int? {
            try recipe.plan(source: source, threads: 2, lean: false).buffers.first { $0.name == "decoder" }?.bytes
        }
        #expect(try planned(source) == 16 << 20)
        let large = source.replacingOccurrences(of: "\"x\":20,\"y\":18", with: "\"x\":2000,\"y\":1500")
        #expect(large != source)
        #expect(try planned(large) == 2 * 12 * 2000 * 1500)
    }

    @Test("An inspection shows segments, regions and the series they belong to")
    func inspection() throws {
        let bench = try LabelBench()
        let drawn = try bench.labels([(5, 1, 6)])
        try bench.writeSegmentation(drawn, named: ["kidney"], to: "in/seg.dcm")
        try bench.writeStructureSet([("kidney", drawn)], to: "in/rt.dcm")
        let report = try InputInspection(scope: .serial()).run(DiscoveryRequest(inputs: [bench.batch.input]))
        #expect(report.entries.count == 3 && report.entries.allSatisfy { $0.problem == nil })
        for (name, format) in [("seg.dcm", "DICOM segmentation"), ("rt.dcm", "DICOM structure set")] {
            let entry = try #require(report.entries.first { $0.path.hasSuffix(name) })
            #expect(entry.format == format)
            #expect(entry.labels?.map(\.name) == ["kidney"] && entry.labels?[0].color == "#c81e3c")
            #expect(entry.notes.contains { $0.hasPrefix("of the series of ") })
        }
        let series = try #require(report.entries.first { $0.format == "DICOM" })
        #expect(series.studyInstanceUid == "1.2.3" && series.seriesInstanceUid == "1.2.3.4")
        #expect(series.frameOfReferenceUid == "1.2.99" && series.sopClassUid == "1.2.840.10008.5.1.4.1.1.2")
    }

    @Test("Real objects have the voxels that others counted", .enabled(if: SharedData.folder != nil))
    func shared() async throws {
        guard let segmentations = SharedData.url("seg-dcmqi"), let contours = SharedData.url("rtstruct/sts002/CT")
        else {
            return
        }
        let bench = try LabelBench()
        try await bench.run(inputs: [segmentations.path, contours.path])
        let overlapping = try bench.labels("partial_overlaps")
        #expect(overlapping.map { $0["voxelCount"] as? Int } == [9602, 11888, 10743, 6693, 4713])
        #expect(try bench.labels("liver").first?["voxelCount"] as? Int == 107098)
        #expect(try bench.labels("sparse-labelmap-ppv5").first?["voxelCount"] as? Int == 630)
        let volume = try #require(try bench.labels("RS").first?["volumeMl"] as? Double)
        #expect(abs(volume / 53.300 - 1) < 0.01)
        for item in ["partial_overlaps", "liver", "sparse-labelmap-ppv5", "RS"] {
            #expect(try bench.faults(item) == [])
        }
    }
}
