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
import Synchronization
import Testing

@Suite("A batch of volumes")
struct VolumeBatchTests {
    @Test("Labels, surface and measures of a box are those of the box")
    func box() async throws {
        let bench = try BatchBench(options: SegmentationOptions())
        let affine = Affine(
            columnI: SIMD3(-1, 0, 0),
            columnJ: SIMD3(0, 0, 1),
            columnK: SIMD3(0, 1, 0),
            translation: SIMD3(10, -20, 30)
        )
        try bench.addBox("one.nii.gz", affine: affine)
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)

        let folder = bench.output.item("one")
        let (header, labels) = try VolumeFileReader.readLabels(at: folder + "/segmentation.nii.gz", scope: .serial())
        #expect(header.geometry.affine == affine)
        #expect(header.intentCode == 1002 && header.qformCode == 1 && header.sformCode == 1)
        let shape = labels.geometry.shape
        var wrong = 0
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    let inside = [i, j, k].allSatisfy { (4..<12).contains($0) }
                    if (labels.voxels[shape.offset(i, j, k)] == 1) != inside { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)

        let surface = try STLFormat().read("", at: folder + "/meshes/above.stl", flag: CancellationFlag())
        #expect(surface.frame == .lps)
        // Weighted by area, since flat parts have few vertices.
        var (sum, area) = (SIMD3<Double>.zero, 0.0)
        for triangle in surface.mesh.triangles {
            let corners = (0..<3).map { SIMD3<Double>(surface.mesh.vertices[Int(triangle[$0])]) }
            let size = length(cross(corners[1] - corners[0], corners[2] - corners[0]))
            sum += size * (corners[0] + corners[1] + corners[2]) / 3
            area += size
        }
        let middle = sum / area
        #expect(length(middle - affine(SIMD3(7.5, 7.5, 7.5))) < 0.05)

        let result = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: folder + "/result.json"))
        )
        let label = ((result as? [String: Any])?["labels"] as? [[String: Any]])?.first
        #expect(label?["voxelCount"] as? Int == 512)
        #expect(label?["volumeMm3"] as? Double == 512)
        #expect((label?["intensity"] as? [String: Any])?["mean"] as? Double == 1)
        #expect(label?["touchesBorder"] as? Bool == false)
    }

    @Test("Every written result and account fits its schema")
    func schemas() async throws {
        let bench = try BatchBench(options: SegmentationOptions())
        try bench.addBox("a.nii")
        try bench.addBox("touching.nii", at: 0)
        try bench.addBox("empty.nii", edge: 0)
        try bench.folder.write("not an image", to: "in/text.nii.gz")
        try await bench.run()
        func schema(_ name: String) throws -> JSONSchema {
            try JSONSchema(
                Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Schemas/\(name).schema.json"))
            )
        }
        for item in ["a", "touching", "empty"] {
            let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
            #expect(try schema("result").faults(in: Data(contentsOf: url)) == [])
        }
        let account = try Data(contentsOf: URL(fileURLWithPath: bench.output.report))
        #expect(try schema("batch").faults(in: account) == [])
        // The schema is able to refuse.
        let damaged = String(decoding: account, as: UTF8.self).replacingOccurrences(of: "\"inputs\"", with: "\"input\"")
        #expect(try schema("batch").faults(in: Data(damaged.utf8)).count == 2)
    }

    @Test("Outputs of a network that are not numbers fail the item with the model and the planes")
    func notNumbers() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        let outcome = try await bench.run(engine: FailingEngine(.notANumber))
        #expect(outcome.counts.failed == 1 && outcome.counts.completed == 0)
        let reason = try #require(try await bench.reason("one"))
        #expect(reason.contains("threshold"))
        #expect(reason.contains("the network returned NaN or infinite values, in planes 1 to 8 of 24 of its grid"))
        #expect(!FileSystem.exists(bench.output.item("one")))
        let items = try await Journal.with(path: bench.output.journal) { try await $0.items() }
        #expect(items.map(\.reason?.code) == [.networkOutput])
    }

    @Test("The tree is the same to the byte for 1, 2 and 5 threads and for any budget")
    func sameForAll() async throws {
        let bench = try BatchBench(model: "Models/classes-16", options: SegmentationOptions())
        // The first has several tiles along each axis, the others only along one.
        for index in 0..<4 {
            let shape = index == 0 ? VolumeShape(x: 40, y: 36, z: 70) : VolumeShape(x: 20, y: 18, z: 40 - index)
            try bench.addBox("v\(index).nii.gz", shape: shape)
        }
        var trees: [[String: String]] = []
        for (threads, memory) in [(1, 2 << 30), (2, 2 << 30), (5, 2 << 30), (2, 400 << 20)] {
            let output = OutputFolder(bench.folder("out-\(threads)-\(memory >> 20)").path)
            let outcome = try await bench.run(output: output, threads: threads, memoryBytes: memory)
            #expect(outcome.counts.completed == 4)
            trees.append(try bench.tree(output))
        }
        #expect(trees[0].count > 10)
        for tree in trees.dropFirst() { #expect(tree == trees[0]) }
    }

    @Test(
        "An item that fits only with its sums in a file gives the same bytes; one that fits no plan is told the bytes"
    )
    func lean() async throws {
        let bench = try BatchBench(model: "Models/classes-64")
        try bench.addBox("big.nii.gz", shape: VolumeShape(x: 120, y: 110, z: 60))
        let recipe = try bench.recipe()
        let discovery = try recipe.search(DiscoveryRequest(inputs: [bench.input]))
        let source = try #require(discovery.items.first).source
        let ordinary = try recipe.plan(source: source, threads: 2, lean: false).placingFiles(inMemory: false).peak()
        let lean = try recipe.plan(source: source, threads: 2, lean: true).placingFiles(inMemory: false).peak()
        #expect(lean < ordinary)
        let fixed = BatchOptions.processBytes + (try recipe.sharedBytes(threads: 2))
        var trees: [[String: String]] = []
        for (name, bytes) in [("roomy", ordinary), ("tight", ordinary - 1)] {
            let output = OutputFolder(bench.folder("out-\(name)").path)
            let outcome = try await bench.run(output: output, memoryBytes: fixed + bytes)
            #expect(outcome.counts.completed == 1)
            trees.append(try bench.tree(output))
        }
        #expect(trees[0] == trees[1] && trees[0].count > 4)
        let outcome = try await bench.run(memoryBytes: fixed + lean - 1)
        #expect(outcome.counts.failed == 1)
        #expect(try await bench.reason("big")?.contains("of memory, the budget leaves") == true)
    }

    @Test("A case of several channels, or of too few or too many, is told apart from numbered volumes")
    func channels() async throws {
        let bench = try BatchBench(model: "NNUNet/models/M")
        for (from, to) in [
            ("M_0000", "case_0000"), ("M_0001", "case_0001"), ("M_0000", "half_0000"), ("A_0000", "one"),
        ] {
            try FileManager.default.copyItem(
                at: Fixtures.url("NNUNet/volumes/\(from).nii"),
                to: bench.folder("in/\(to).nii")
            )
        }
        for index in 0..<3 {
            try FileManager.default.copyItem(
                at: Fixtures.url("NNUNet/volumes/M_0000.nii"),
                to: bench.folder("in/many_000\(index).nii")
            )
        }
        try FileManager.default.copyItem(
            at: Fixtures.url("NNUNet/volumes/M_0000.nii"),
            to: bench.folder("in/other_0000.nii")
        )
        try bench.addBox("other_0001.nii")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 4)
        #expect(try await bench.state("case") == .completed)
        #expect(try await bench.reason("half")?.contains("0001 missing") == true)
        #expect(try await bench.reason("many")?.contains("0002 unexpected") == true)
        #expect(try await bench.reason("one")?.contains("takes 2 channels") == true)
        #expect(try await bench.reason("other")?.contains("other_0001.nii") == true)
        // A list of what failed names a case by its first file; the other channel is found beside it.
        let alone = OutputFolder(bench.folder("alone").path)
        let again = try await bench.run(
            inputs: [bench.input + "/case_0000.nii"],
            output: alone
        )
        #expect(again.counts.completed == 1)
        let trees = [try bench.tree(alone), try bench.tree()]
        #expect(trees[0]["case/segmentation.nii.gz"] == trees[1]["case/segmentation.nii.gz"])
    }

    @Test("A model of one channel refuses a case of two, and takes numbered volumes one by one")
    func oneChannel() async throws {
        let bench = try BatchBench()
        for index in 0..<2 { try bench.addBox("case_000\(index).nii") }
        for index in 1...3 { try bench.addBox("scan_000\(index).nii") }
        try bench.addBox("lone_0000.nii")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 4 && outcome.counts.failed == 1)
        #expect(try await bench.reason("case")?.contains("has 2 channels") == true)
        #expect(try await bench.state("scan_0002") == .completed)
        #expect(try await bench.state("lone") == .completed)
    }

    @Test("Bad inputs get their reasons, and the others are done")
    func badInputs() async throws {
        let bench = try BatchBench()
        let good = try bench.addBox("good.nii")
        let bytes = Array(try Data(contentsOf: good))
        try bench.folder.write("this is a text", to: "in/text.nii.gz")
        try bench.folder.write([], to: "in/empty.nii")
        try bench.folder.write(Array(bytes.dropLast(100)), to: "in/truncated.nii")
        var zero = bytes
        zero.replaceSubrange(80..<84, with: [0, 0, 0, 0])
        try bench.folder.write(zero, to: "in/zero-spacing.nii")
        var absurd = bytes
        for offset in [42, 44, 46] { absurd.replaceSubrange(offset..<offset + 2, with: [0xff, 0x7f]) }
        try bench.folder.write(absurd, to: "in/absurd.nii")
        try bench.folder.write("hello", to: "in/readme.txt")
        // An interrupted copy of a slice fails; a mark that has no content does not.
        try bench.folder.write([], to: "in/I0001.DCM")
        try bench.folder.write([], to: "in/complete")
        try bench.folder.write([], to: "in/mark1")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(outcome.counts.failed == 6)
        #expect(outcome.counts.skipped == 3)
        #expect(outcome.counts.inputs == 10)
        #expect(try await bench.reason("I0001.DCM") == "the file is empty")
        for item in ["text", "empty", "truncated", "zero-spacing", "absurd"] {
            #expect(try await bench.reason(item)?.isEmpty == false)
        }
        #expect(try await bench.reason("truncated")?.contains("end after") == true)
        #expect(try await bench.reason("zero-spacing")?.contains("spacing") == true)
        let retry = try String(contentsOfFile: bench.output.retryList, encoding: .utf8)
        #expect(InputList.paths(in: retry).count == 6)
        #expect(retry.contains("# nifti.") && retry.contains("(discover): "))
    }

    @Test("Two inputs of one name are both done, in folders called after theirs")
    func sameName() async throws {
        let bench = try BatchBench()
        try bench.addBox("a/ct.nii")
        try bench.addBox("b/ct.nii", at: 5)
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 2)
        let folders = FileSystem.entries(bench.output.path).filter { $0.hasSuffix("ct") }
        #expect(folders.sorted() == ["a_ct", "b_ct"])
    }

    @Test("An output folder inside the input folder is not searched")
    func outputInside() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        let output = OutputFolder(bench.input + "/results")
        _ = try await bench.run(output: output)
        let again = try await bench.run(output: output)
        #expect(again.counts.inputs == 1 && again.counts.completed == 1)
    }

    @Test("An empty folder is told as nothing matched")
    func nothing() async throws {
        let bench = try BatchBench()
        await #expect { try await bench.run() } throws: { ($0 as? BatchError)?.code == .nothingMatched }
        // What was asked for in vain binds nobody.
        try bench.addBox("one.nii")
        #expect(try await bench.run(SegmentationOptions(given: ["meshes": "none"])).counts.completed == 1)
    }

    @Test("Other options in the same folder are refused, and done anew with overwrite")
    func otherOptions() async throws {
        let bench = try BatchBench(options: SegmentationOptions())
        try bench.addBox("one.nii")
        try await bench.run()
        await #expect { try await bench.run(SegmentationOptions(given: ["meshes": "obj"])) } throws: {
            ($0 as? BatchError)?.code == .optionsDiffer
                && "\($0)".contains("--meshes was stl, now obj. --dry-run shows which results this concerns")
        }
        let outcome = try await bench.run(SegmentationOptions(given: ["meshes": "obj"]), overwrite: true)
        #expect(outcome.counts.completed == 1)
        #expect(FileSystem.exists(bench.output.item("one") + "/meshes/above.obj"))
        #expect(!FileSystem.exists(bench.output.item("one") + "/meshes/above.stl"))
    }

    @Test("The preview has the content that was asked for, and the rest of the result is the same")
    func previewContent() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        var sizes: [PreviewContent: Int] = [:]
        for content in PreviewContent.allCases {
            let output = OutputFolder(bench.folder.path + "/\(content)")
            let outcome = try await bench.run(SegmentationOptions(given: ["preview": content.rawValue]), output: output)
            #expect(outcome.counts.completed == 1)
            let picture = output.item("one") + "/preview.png"
            if FileSystem.exists(picture) { sizes[content] = try PhotoReader.readHeader(at: picture).storedWidth }
            #expect(FileSystem.exists(output.item("one") + "/meshes/above.stl"))
            #expect(try await BatchVerification(output, inspection: RecipeResults()).run().faults.isEmpty)
        }
        #expect(sizes[.none] == nil)
        #expect(try #require(sizes[.slices]) < #require(sizes[.full]))
    }

    @Test("A rendering is part of the result, checked by verify and shown by the page")
    func rendering() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        #expect(try await bench.run(SegmentationOptions(given: ["rendering": "mr"])).counts.completed == 1)
        let folder = bench.output.item("one")
        let still = try PhotoReader.readHeader(at: folder + "/rendering.png")
        #expect(still.storedWidth > still.storedHeight)
        let turn = try PhotoReader.readHeader(at: folder + "/rendering-turn.png")
        #expect(max(turn.storedWidth, turn.storedHeight) <= 256)
        let document = try FileSystem.read(folder + "/result.json")
        let parts = try #require(RecipeResults().reviewParts(of: document))
        #expect(parts.pictures.map(\.path) == ["preview.png", "rendering.png", "rendering-turn.png"])
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
        var bytes = try FileSystem.read(folder + "/rendering-turn.png")
        bytes[bytes.count / 2] ^= 1
        try FileSystem.write(folder + "/rendering-turn.png", bytes)
        #expect(try await !BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
    }

    @Test("With the review content none, the page is told of no picture")
    func noReview() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        #expect(try await bench.run(SegmentationOptions(given: ["review": "none"])).counts.completed == 1)
        let document = try FileSystem.read(bench.output.item("one") + "/result.json")
        let parts = try #require(RecipeResults().reviewParts(of: document))
        #expect(parts.pictures.isEmpty && parts.thumbnail == nil && parts.volume == nil && parts.labels.count == 1)
        #expect(parts.disclaimer == Disclaimer.text)
        #expect(FileSystem.exists(bench.output.item("one") + "/preview.png"))
    }

    @Test("A review volume is part of the result, and is what the page is told of")
    func reviewVolume() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        #expect(try await bench.run(SegmentationOptions(given: ["review": "volumes"])).counts.completed == 1)
        let folder = bench.output.item("one")
        let document = try FileSystem.read(folder + "/result.json")
        let parts = try #require(RecipeResults().reviewParts(of: document))
        #expect(parts.kind == .volume && parts.volume == "review.js" && parts.thumbnail == "preview.png")
        #expect(parts.labels.map(\.name) == ["above"] && parts.labels.first?.mesh == "meshes/above.stl")
        #expect(parts.facts == "1 of 1 label: above 0.51 ml")
        let script = String(decoding: try FileSystem.read(folder + "/review.js"), as: UTF8.self)
        let start = "nocturneVolume(\"one\", "
        #expect(script.hasPrefix(start) && script.hasSuffix(");\n"))
        let body = Data(script.dropFirst(start.count).dropLast(3).utf8)
        let object = try JSONSerialization.jsonObject(with: body)
        let data = try #require(object as? [String: Any])
        #expect(data["shape"] as? [Int] == [20, 18, 24])
        // A NIfTI file names no modality, and this model is not for CT alone: its values are not taken for Hounsfield units.
        let windows = try #require(data["windows"] as? [[String: Any]])
        #expect(!windows.contains { $0["name"] as? String == "soft tissue" }, "\(windows)")
        #expect((data["window"] as? [String: Any])?["unit"] is NSNull)
        let mesh = try #require((data["meshes"] as? [[String: Any]])?.first)
        #expect(mesh["name"] as? String == "above" && mesh["label"] as? Int == 1)
        for key in ["image", "labels"] {
            let text = try #require(data[key] as? String)
            let packed = try #require(Data(base64Encoded: text))
            let path = bench.folder("\(key).nii.gz").path
            try FileSystem.write(path, Array(packed))
            #expect(try VolumeFileReader.readHeader(at: path).geometry.shape == VolumeShape(x: 20, y: 18, z: 24))
        }
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
    }

    @Test("A model for CT alone gives the page the windows of CT, also for a NIfTI file")
    func windowsOfCT() async throws {
        let bench = try BatchBench { folder in
            let package = folder("model")
            try FileManager.default.copyItem(at: Fixtures.url("Models/threshold"), to: package)
            let path = package.appendingPathComponent("model.json")
            var document = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: path)) as? [String: Any])
            document["modalities"] = ["CT"]
            try JSONSerialization.data(withJSONObject: document).write(to: path)
            return package.path
        }
        try bench.addBox("one.nii")
        #expect(try await bench.run(SegmentationOptions(given: ["review": "volumes"])).counts.completed == 1)
        let script = String(decoding: try FileSystem.read(bench.output.item("one") + "/review.js"), as: UTF8.self)
        let body = Data(script.drop { $0 != "{" }.dropLast(3).utf8)
        let data = try #require(JSONSerialization.jsonObject(with: body) as? [String: Any])
        let names = try #require(data["windows"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        #expect(["soft tissue", "lung", "bone", "brain"].allSatisfy(names.contains), "\(names)")
        let window = try #require(data["window"] as? [String: Any])
        #expect(window["unit"] as? String == "HU")
        #expect(window["lower"] as? Double == -1024 && window["upper"] as? Double == 1536)
    }

    @Test("A reference is compared in any order of its axes and by the names in its header")
    func reorderedReference() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        try await bench.run()
        let path = bench.output.item("one") + "/segmentation.nii.gz"
        let own = try VolumeFileReader.readLabels(at: path, scope: .serial()).labels
        // Stored from back to front, with its labels numbered otherwise.
        let shape = own.geometry.shape
        let last = own.geometry.affine(SIMD3(Double(shape.x - 1), Double(shape.y - 1), Double(shape.z - 1)))
        let reversed = VolumeGeometry(
            shape: shape,
            affine: Affine(
                columnI: SIMD3(-1, 0, 0),
                columnJ: SIMD3(0, -1, 0),
                columnK: SIMD3(0, 0, -1),
                translation: last
            )
        )
        func compared(
            _ names: [NIfTIWriter.Label],
            value: UInt16 = 7
        ) async throws -> (result: String, table: String?, remarks: ReportRemarks?) {
            let file = bench.folder("references/one.nii.gz").path
            try FileSystem.makeFolder(bench.folder("references").path)
            var voxels = try VoxelBuffer<UInt16>(count: shape.count)
            for index in 0..<shape.count { voxels[shape.count - 1 - index] = own.voxels[index] == 1 ? value : 0 }
            let map = LabelVolume(geometry: reversed, voxels: voxels.frozen())
            try NIfTIWriter.writeLabels(map, names: names, forms: nil, to: file, scope: .serial())
            let output = OutputFolder(bench.folder.path + "/compared-\(value)-\(names.first?.name ?? "")")
            let outcome = try await bench.run(
                SegmentationOptions(given: ["meshes": "none", "compare": bench.folder("references").path]),
                output: output
            )
            #expect(try await BatchVerification(output, inspection: RecipeResults()).run().faults.isEmpty)
            let result = try FileSystem.read(output.item("one") + "/result.json")
            let table = try? FileSystem.read(output.comparison)
            return (
                String(decoding: result, as: UTF8.self), table.map { String(decoding: $0, as: UTF8.self) },
                outcome.remarks
            )
        }
        func label(_ name: String) -> NIfTIWriter.Label {
            NIfTIWriter.Label(value: 7, name: name, color: LabelColor(red: 0, green: 0, blue: 0))
        }
        let right = try await compared([label("Above")])
        #expect(right.result.contains("\"dice\" : 1,"))
        #expect(right.table?.contains("threshold,above,dice,1,1,1,1,1,one\n") == true, "\(right.table ?? "")")
        let other = try await compared([label("below")])
        #expect(
            other.result.contains("it names its labels below; none of them is a label of the model")
                && other.table?.hasSuffix("\n,,notCompared,,1,,,,one\n") == true,
            "\(other.table ?? "")"
        )
        let unnamed = try await compared([])
        #expect(unnamed.result.contains("none of its values is a label of the model: 7"))
        let numbered = try await compared([], value: 1)
        #expect(numbered.result.contains("by number, since the file names no labels"))
        #expect(numbered.result.contains("\"dice\" : 1,") && numbered.remarks?.comparedByNumber == 1)
        #expect(right.remarks?.comparedByNumber == 0 && right.remarks?.notCompared == 0)
        #expect(other.remarks?.comparedByNumber == 0 && other.remarks?.notCompared == 1)
        #expect(unnamed.remarks?.comparedByNumber == 0 && unnamed.remarks?.notCompared == 1)
    }

    @Test("An item that needs more than the budget fails with the bytes, and the others go on")
    func tooLarge() async throws {
        let bench = try BatchBench()
        try bench.addBox("small.nii")
        // A header that promises 4 GB, and a sparse file that keeps the promise.
        let large = try bench.addBox("large.nii")
        let file = try FileHandle(forUpdating: large)
        try file.seek(toOffset: 42)
        try file.write(contentsOf: Data([2000, 2000, 1000].flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }))
        try file.truncate(atOffset: 352 + 2 * 4_000_000_000)
        try file.close()
        let outcome = try await bench.run(memoryBytes: 4 << 30)
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        #expect(try await bench.reason("large")?.contains("the budget leaves") == true)
    }

    @Test("A folder of an item's name that is no result stays as it is")
    func foreignFolder() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        try bench.folder.write("precious", to: "out/one/slices/1.dcm")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(try String(contentsOfFile: bench.output.item("one") + "/slices/1.dcm", encoding: .utf8) == "precious")
        #expect(FileSystem.entries(bench.output.path).contains { $0.hasPrefix("one-") })
    }

    @Test("A DICOM series with one corrupt slice is refused by the slice's name, and the others are done")
    func corruptSlice() async throws {
        let bench = try BatchBench()
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        try FileManager.default.copyItem(at: sample, to: bench.folder("in/series"))
        try bench.addBox("good.nii")
        let slice = FileSystem.entries(bench.input + "/series")[7]
        let path = bench.input + "/series/" + slice
        let bytes = try FileSystem.read(path)
        try FileSystem.write(path, Array(bytes.dropLast(bytes.count / 3)))
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        #expect(try await bench.reason("series")?.contains(slice) == true)
    }

    @Test("An empty file that is named like a slice fails among DICOM files, and another empty file is skipped")
    func emptySlice() async throws {
        let bench = try BatchBench(model: "Models/threshold-native")
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        try FileManager.default.copyItem(at: sample, to: bench.folder("in/series"))
        for name in ["IM0099", "complete"] { try bench.folder.write([], to: "in/series/" + name) }
        let counts = try await bench.run().counts
        #expect(counts.completed == 1 && counts.failed == 1 && counts.skipped == 1)
        let items = try await Journal.with(path: bench.output.journal) { try await $0.items(in: .failed) }
        #expect(items.map { FileSystem.parent(of: $0.path) } == [bench.input + "/series"])
        #expect(items.map(\.reason?.code) == [.emptyFile])
    }

    @Test("A DICOM series that lacks a slice is refused with what would help, and resampled when that is asked for")
    func missingSlice() async throws {
        let bench = try BatchBench(model: "Models/threshold-native")
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        try FileManager.default.copyItem(at: sample, to: bench.folder("in/series"))
        let scan = try DICOMScanner.scan(
            paths: FileSystem.entries(bench.input + "/series").map { bench.input + "/series/" + $0 },
            scope: .serial()
        )
        let slices = try #require(scan.series.first).slices
        try FileManager.default.removeItem(atPath: slices[slices.count / 2].path)
        let refused = try await bench.run()
        #expect(refused.counts.failed == 1)
        #expect(try await bench.reason("series")?.contains("slices are missing; --fix-tilt resamples it") == true)

        var options = try SegmentationOptions(given: ["fix-tilt": "yes", "meshes": "none", "preview": "none"])
        options.writesSegmentationObject = true
        let output = OutputFolder(bench.folder("out2").path)
        let outcome = try await bench.run(options, output: output)
        #expect(outcome.counts.completed == 1)
        let result = try String(contentsOfFile: bench.folder("out2/series/result.json").path, encoding: .utf8)
        #expect(result.contains("resampled: steps of") && result.contains("1 plane interpolated"))
        #expect(result.contains("fix-tilt"))
        // What was asked for and cannot be made is counted, also by a run that finds everything done.
        #expect(result.contains("not made: segmentation.dcm: the voxels do not lie on the source images"))
        #expect(outcome.remarks?.noted == 1 && outcome.remarks?.incomplete == 1 && outcome.remarks?.reasons == nil)
        let missing = outcome.remarks?.notes?["output.missing"]
        #expect(missing?.count == 1 && missing?.item == "series", "\(String(describing: outcome.remarks))")
        #expect(try await bench.run(options, output: output).remarks == outcome.remarks)
    }

    @Test("Archives and volumes of other formats are skipped with what can be done")
    func otherFormats() async throws {
        let bench = try BatchBench()
        try bench.addBox("good.nii")
        try bench.folder.write([0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 100), to: "in/pacs.zip")
        try bench.folder.write("NRRD0004\ntype: short\n", to: "in/scan.volume")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.skipped == 2)
        #expect(try await bench.reason("pacs.zip")?.contains("a ZIP archive; unpack it first") == true)
        #expect(try await bench.reason("scan.volume")?.contains("let its name end with .nrrd") == true)
        // A volume with notes is counted for the summary, and the reasons of others by their codes.
        var remarks = ReportRemarks()
        remarks.reasons = ["input.unknownFormat": 2]
        #expect(outcome.remarks == remarks)
    }

    @Test("Images of one slice, and 4-D images of vectors, are skipped as such")
    func otherDimensions() async throws {
        let bench = try BatchBench()
        let good = Array(try Data(contentsOf: try bench.addBox("good.nii")))
        var flat = good
        flat.replaceSubrange(40..<42, with: [2, 0])
        flat.replaceSubrange(46..<48, with: [1, 0])
        try bench.folder.write(flat, to: "in/flat.nii")
        var series = good
        series.replaceSubrange(40..<42, with: [4, 0])
        series.replaceSubrange(46..<50, with: [12, 0, 2, 0])
        // Intent code 1007: vectors.
        series.replaceSubrange(68..<70, with: [0xef, 3])
        try bench.folder.write(series, to: "in/series.nii")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.skipped == 2)
        #expect(try await bench.reason("flat")?.contains("a single slice (20×18×1)") == true)
        #expect(try await bench.reason("series")?.contains("4-D") == true)
    }

    @Test(
        "A volume without orientation is refused with what would help, and read as nibabel does when that is asked for"
    )
    func noOrientation() async throws {
        let bench = try BatchBench()
        var bytes = Array(try Data(contentsOf: try bench.addBox("a.nii")))
        // The codes of both forms.
        bytes.replaceSubrange(252..<256, with: [0, 0, 0, 0])
        try bench.folder.write(bytes, to: "in/a.nii")
        #expect(try await bench.run().counts.failed == 1)
        #expect(try await bench.reason("a")?.hasSuffix("; --assume-orientation reads it as nibabel does") == true)
        let output = OutputFolder(bench.folder("out2").path)
        let outcome = try await bench.run(SegmentationOptions(given: ["assume-orientation": "yes"]), output: output)
        #expect(outcome.counts.completed == 1)
        let result = try String(contentsOfFile: bench.folder("out2/a/result.json").path, encoding: .utf8)
        #expect(result.contains("the orientation is assumed as in nibabel") && result.contains("assume-orientation"))
        let labels = try VolumeFileReader.readHeader(at: bench.folder("out2/a/segmentation.nii.gz").path)
        #expect(labels.geometry.affine == Affine(rows: [[-1, 0, 0, 9.5], [0, 1, 0, -8.5], [0, 0, 1, -11.5]]))
    }

    @Test("A series directly in an input is named after its folder")
    func seriesInInput() async throws {
        let bench = try BatchBench()
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        for name in try FileManager.default.contentsOfDirectory(atPath: sample.path) {
            try FileManager.default.copyItem(at: sample.appendingPathComponent(name), to: bench.folder("in/\(name)"))
        }
        let items = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
        #expect(items.count == 1 && items[0].problem == nil)
        #expect(items[0].source.contains("\"name\":\"in\""))
    }

    @Test("A DICOMDIR named as the input leads to the series that it lists", .enabled(if: SharedData.folder != nil))
    func mediaDirectory() throws {
        guard let folder = SharedData.url("pydicom-dicomdir") else { return }
        let recipe = try BatchBench().recipe()
        let directory = folder.appendingPathComponent("DICOMDIR").path
        let alone = try recipe.search(DiscoveryRequest(inputs: [directory])).items
        let all = try recipe.search(DiscoveryRequest(inputs: [folder.path])).items
        let series = alone.filter { $0.key.hasPrefix("dicom:") }
        #expect(!series.isEmpty && series.map(\.key) == all.map(\.key).filter { $0.hasPrefix("dicom:") })
        func text(_ items: [DiscoveredItem]) -> String? { items.first { $0.path == directory }?.problem?.reason.text }
        #expect(text(alone)?.contains("only through it") == true)
        #expect(text(all)?.contains("a DICOMDIR") == true && text(all)?.contains("only through it") == false)
    }
    @Test("A DICOMDIR whose files are missing is an item that fails", .enabled(if: SharedData.folder != nil))
    func incompleteMedium() throws {
        guard let folder = SharedData.url("pydicom-dicomdir") else { return }
        let bench = try BatchBench()
        let copy = bench.folder("in/DICOMDIR")
        try FileManager.default.copyItem(at: folder.appendingPathComponent("DICOMDIR"), to: copy)
        let items = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
        #expect(items.map(\.path) == [copy.path])
        guard case .refused(let reason) = try #require(items.first?.problem) else {
            Issue.record("it is set aside")
            return
        }
        #expect(reason.code.rawValue == "dicom.listedFilesMissing" && reason.text.contains("0 of those were found"))
    }
}
