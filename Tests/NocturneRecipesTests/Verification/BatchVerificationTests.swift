import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Verifying a batch")
struct BatchVerificationTests {
    /// Volumes a and b, and a file that is refused.
    private func finished() async throws -> (bench: BatchBench, batch: VerifiedBatch) {
        let bench = try BatchBench(options: SegmentationOptions())
        try bench.addBox("a.nii")
        try bench.addBox("b.nii", at: 5)
        try bench.folder.write("cut short", to: "in/bad.nii")
        try await bench.run()
        let batch = VerifiedBatch(output: bench.output, by: bench)
        try #require(try await batch.faults() == [])
        return (bench, batch)
    }

    /// The only label, and its surface.
    private func label(_ batch: VerifiedBatch) throws -> (name: String, mesh: String) {
        let data = try Data(contentsOf: batch.url("a/result.json"))
        let result = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let label = try #require((result?["labels"] as? [[String: Any]])?.first)
        let mesh = try #require((label["mesh"] as? [String: Any])?["file"] as? String)
        return (try #require(label["name"] as? String), "a/" + mesh)
    }

    @Test("A byte, a length and a file that is gone are each reported by name")
    func files() async throws {
        let (_, batch) = try await finished()
        let mesh = try label(batch).mesh
        let segmentation = "a/segmentation.nii.gz"
        let good = try FileSystem.read(batch.url(segmentation).path)
        func only(_ path: String, _ fact: String, _ body: () throws -> Void) async throws {
            let before = try FileSystem.read(batch.url(mesh).path)
            try body()
            let faults = try await batch.faults()
            #expect(faults.count == 1 && faults[0].hasPrefix(path + ": ") && faults[0].contains(fact), "\(faults)")
            try FileSystem.write(batch.url(mesh).path, before)
            try FileSystem.write(batch.url(segmentation).path, good)
        }
        try await only(segmentation, "the content differs") { try batch.change(segmentation) { $0[$0.count / 2] ^= 1 } }
        try await only(segmentation, "bytes, ") { try batch.change(segmentation) { $0.removeLast() } }
        try await only(mesh, "is missing") { FileSystem.remove(batch.url(mesh).path) }
        try FileSystem.makeFolder(batch.url("bad.nii").path)
        FileSystem.remove(batch.url("bad.nii").path)
        #expect(try await batch.faults() == [])
    }

    @Test(
        "Meshes that a watch has removed are not missed, with and without the journal, nor made again; other files are"
    )
    func thinned() async throws {
        let (bench, batch) = try await finished()
        let mesh = try label(batch).mesh
        try await Journal.with(path: bench.output.journal) { journal in
            var record = try #require(try await journal.records(after: 0, limit: 9).first { $0.item.name == "a" })
            record.item.reason = ItemReason(.thinned, "meshes of the result were removed")
            record.written.files.removeAll { DisplayFiles.meshes.contains($0.path) }
            try await journal.merge([record])
        }
        FileSystem.remove(batch.url(mesh).path)
        try await bench.run()
        #expect(!FileSystem.exists(batch.url(mesh).path))
        #expect(try await batch.faults() == [])
        let report = try String(contentsOf: batch.url("batch.json"), encoding: .utf8)
        #expect(report.contains("item.thinned"))
        let pool = try ComputePool(width: 1)
        defer { pool.shutdown() }
        FileSystem.remove(batch.url(".nocturne").path)
        #expect(try await batch.copyFaults(pool) == [])
        FileSystem.remove(batch.url("a/segmentation.nii.gz").path)
        FileSystem.remove(batch.url("b/preview.png").path)
        let faults = try await batch.copyFaults(pool)
        #expect(faults == ["a/segmentation.nii.gz: is missing", "b/preview.png: is missing"])
    }

    @Test("Files, links and folders of others are noted and are no fault")
    func foreignFiles() async throws {
        let (_, batch) = try await finished()
        #expect(try await batch.notes() == [])
        try FileSystem.write(batch.url("a/review.txt").path, [65])
        try FileManager.default.createSymbolicLink(atPath: batch.url("a/link").path, withDestinationPath: "/etc")
        try FileSystem.makeFolder(batch.url("c").path)
        try FileSystem.write(batch.url("c/x").path, [65])
        #expect(try await batch.faults() == [])
        let notes = try await batch.notes()
        #expect(notes.contains { $0.hasPrefix("a: ") && $0.contains("and 1 more file in its folder") }, "\(notes)")
        #expect(notes.contains { $0.hasPrefix("c: a folder of no item") }, "\(notes)")
    }

    @Test("A result whose folder is a link to the same files is no result")
    func linkedFolder() async throws {
        let (bench, batch) = try await finished()
        try FileSystem.move(batch.url("a").path, to: bench.folder("elsewhere").path)
        try FileManager.default.createSymbolicLink(
            atPath: batch.url("a").path,
            withDestinationPath: bench.folder("elsewhere").path
        )
        #expect(try await batch.faults().first == "a: is not a folder")
    }

    @Test(
        "What a result says, and what the journal has, are held against schema, files and each other",
        arguments: [
            ("\"disclaimer\"", "\"disclaimers\"", "does not match its schema: $: has no disclaimer"),
            ("\"voxelCount\" : 512", "\"voxelCount\" : 513", "a/segmentation.nii.gz: has 512 voxels of"),
            ("\"orientation\" : \"RAS\"", "\"orientation\" : \"LPS\"", "orientation differs from its own affine"),
            ("\"frame\" : \"LPS\"", "\"frame\" : \"RAS\"", "is in LPS, result.json states RAS"),
            ("\"item\" : \"a\"", "\"item\" : \"b\"", "belongs to the item b, not to a"),
            ("\"touchesBorder\" : false", "\"touchesBorder\" : true", "touchesBorder of"),
        ]
    )
    func fields(old: String, new: String, fact: String) async throws {
        let (_, batch) = try await finished()
        try batch.replace("a/result.json", old, new)
        let told = try await batch.faults()
        #expect(told.count == 1 && told[0].hasPrefix("a/result.json: "), "\(told)")
        try await batch.recordAnew("a")
        let faults = try await batch.faults()
        #expect(faults.contains { $0.contains(fact) }, "\(faults)")
        #expect(faults.allSatisfy { $0.hasPrefix("a/") }, "\(faults)")
    }

    @Test("A voxel, a shape and an affine that are not those of result.json are found in the label map itself")
    func labelMaps() async throws {
        let (_, batch) = try await finished()
        let path = batch.url("a/segmentation.nii.gz").path
        let (_, labels) = try VolumeFileReader.readLabels(at: path, scope: .serial())
        let name = try label(batch).name
        func write(_ geometry: VolumeGeometry, _ body: (inout [UInt16]) -> Void) async throws {
            var voxels = labels.voxels.withSpan { span in (0..<span.count).map { span[$0] } }
            body(&voxels)
            var buffer = try VoxelBuffer<UInt16>(count: geometry.shape.count)
            for index in 0..<geometry.shape.count { buffer[index] = voxels[index] }
            let changed = LabelVolume(geometry: geometry, voxels: buffer.frozen())
            try NIfTIWriter.writeLabels(
                changed,
                names: [],
                forms: NIfTIForms(qformCode: 1, sformCode: 1),
                to: path,
                scope: .serial()
            )
            try await batch.recordAnew("a")
        }
        let file = "a/segmentation.nii.gz"
        let shape = labels.geometry.shape
        try await write(labels.geometry) { $0[shape.offset(5, 5, 5)] = 0 }
        #expect(try await batch.faults() == ["\(file): has 511 voxels of \(name) (1), result.json states 512"])
        try await write(labels.geometry) { voxels in
            voxels[shape.offset(4, 4, 4)] = 0
            voxels[shape.offset(1, 1, 1)] = 1
        }
        #expect(try await batch.faults() == ["\(file): \(name) (1) does not fill the box given in result.json"])
        try await write(labels.geometry) { $0[0] = 7 }
        #expect(try await batch.faults() == ["\(file): has 1 voxels of 7, a label that result.json does not list"])
        var moved = labels.geometry
        moved.affine.translation.x += 0.01
        try await write(moved) { _ in }
        #expect(
            try await batch.faults() == [
                "\(file): its voxel positions differ from result.json by more than 0.001 mm"
            ]
        )
        var cut = labels.geometry
        cut.shape.z -= 1
        try await write(cut) { _ in }
        #expect(try await batch.faults() == ["\(file): has 20×18×23 voxels, result.json states 20×18×24"])
        // Whole by its digest, and cut off within.
        try batch.change(file) { $0.removeLast(20) }
        try await batch.recordAnew("a")
        let faults = try await batch.faults()
        #expect(faults.count == 1 && faults[0].hasPrefix(file + ": "), "\(faults)")
    }

    @Test("A surface with a hole, a triangle less, another frame or another place is found in the file itself")
    func meshes() async throws {
        let (_, batch) = try await finished()
        let (name, mesh) = try label(batch)
        let good = try FileSystem.read(batch.url(mesh).path)
        let count = (good.count - 84) / 50
        func faults(_ body: (inout [UInt8]) -> Void) async throws -> [String] {
            var bytes = good
            body(&bytes)
            try FileSystem.write(batch.url(mesh).path, bytes)
            try await batch.recordAnew("a")
            return try await batch.faults()
        }
        func real(_ bytes: [UInt8], _ offset: Int) -> Float {
            bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Float.self) }
        }
        func put(_ value: Float, _ bytes: inout [UInt8], _ offset: Int) {
            withUnsafeBytes(of: value) { for index in 0..<4 { bytes[offset + index] = $0[index] } }
        }
        let moved = try await faults { bytes in
            for triangle in 0..<count {
                for corner in 1...3 {
                    let offset = 84 + 50 * triangle + 12 * corner
                    put(real(bytes, offset) + 40, &bytes, offset)
                }
            }
        }
        #expect(moved.count == 1 && moved[0].contains("outside the voxels of \(name)"), "\(moved)")
        let less = try await faults { bytes in
            bytes.removeLast(50)
            for index in 0..<4 { bytes[80 + index] = UInt8((count - 1) >> (8 * index) & 255) }
        }
        #expect(less.contains("\(mesh): is not closed"), "\(less)")
        #expect(less.contains("\(mesh): has \(count - 1) triangles, result.json states \(count)"), "\(less)")
        #expect(less.allSatisfy { $0.hasPrefix(mesh) }, "\(less)")
        let hole = try await faults { bytes in
            // One corner of one triangle.
            put(real(bytes, 84 + 12) + 0.01, &bytes, 84 + 12)
        }
        #expect(hole == ["\(mesh): is not closed"])
        let walls = try await faults { bytes in
            // Every triangle twice, the second time turned round: closed, but with four triangles at every edge.
            let triangles = Array(bytes[84...])
            for start in stride(from: 0, to: triangles.count, by: 50) {
                let triangle = Array(triangles[start..<start + 50])
                bytes += triangle[..<12] + triangle[24..<36] + triangle[12..<24] + triangle[36...]
            }
            for index in 0..<4 { bytes[80 + index] = UInt8((2 * count) >> (8 * index) & 255) }
        }
        #expect(walls.contains { $0.hasPrefix("\(mesh): has walls inside: \(count * 3 / 2) edges have") }, "\(walls)")
        let longer = try await faults { $0.append(0) }
        #expect(longer.count == 1 && longer[0].contains("triangles take"), "\(longer)")
        let framed = try await faults { bytes in
            let header = String(decoding: bytes[..<80], as: UTF8.self).replacing("SPACE=LPS", with: "SPACE=RAS")
            bytes.replaceSubrange(..<80, with: header.utf8)
        }
        #expect(framed.contains("\(mesh): is in RAS, result.json states LPS"), "\(framed)")
        #expect(framed.allSatisfy { $0.hasPrefix(mesh) }, "\(framed)")
    }

    @Test("Surfaces in the OBJ format are read too")
    func objects() async throws {
        let bench = try BatchBench()
        try bench.addBox("a.nii")
        var options = SegmentationOptions()
        options.surfaces.meshes = .obj
        try await bench.run(options)
        let batch = VerifiedBatch(output: bench.output, by: bench)
        #expect(try await batch.faults() == [])
        let mesh = try label(batch).mesh
        let text = try String(contentsOf: batch.url(mesh), encoding: .utf8)
        let last = try #require(text.split(separator: "\n").last)
        try batch.replace(mesh, String(last) + "\n", "")
        try await batch.recordAnew("a")
        #expect(try await batch.faults().contains("\(mesh): is not closed"))
    }

    @Test("Surfaces of every format are written and verified", arguments: MeshSelection.allCases)
    func meshFormats(meshes: MeshSelection) async throws {
        guard let format = meshes.format else { return }
        let bench = try BatchBench()
        try bench.addBox("a.nii")
        var options = SegmentationOptions()
        options.surfaces.meshes = meshes
        try await bench.run(options)
        let batch = VerifiedBatch(output: bench.output, by: bench)
        #expect(try await batch.faults() == [])
        let (name, mesh) = try label(batch)
        #expect(mesh == (format.isScene ? "a/meshes/labels.glb" : "a/meshes/\(name).\(format.name)"))
        #expect(try format.read(name, at: batch.url(mesh).path, flag: CancellationFlag()).frame == .lps)
        try batch.change(mesh) { $0.removeLast(20) }
        try await batch.recordAnew("a")
        let faults = try await batch.faults()
        #expect(!faults.isEmpty && faults.allSatisfy { $0.hasPrefix(mesh + ": ") }, "\(faults)")
    }

    @Test("A scene in another colour is found")
    func sceneColor() async throws {
        let bench = try BatchBench()
        try bench.addBox("a.nii")
        var options = SegmentationOptions()
        options.surfaces.meshes = .glb
        try await bench.run(options)
        let batch = VerifiedBatch(output: bench.output, by: bench)
        let (name, mesh) = try label(batch)
        try batch.change(mesh) { bytes in
            let text = String(decoding: bytes[20..<bytes.count], as: UTF8.self)
            guard let start = text.range(of: "baseColorFactor\":[0.") else { return }
            // The first digit after the point of red.
            let place = 20 + text.utf8.distance(from: text.startIndex, to: start.upperBound)
            bytes[place] = bytes[place] == UInt8(ascii: "9") ? UInt8(ascii: "1") : UInt8(ascii: "9")
        }
        try await batch.recordAnew("a")
        let faults = try await batch.faults()
        #expect(
            faults.count == 1 && faults[0].hasPrefix("\(mesh): has the colour #")
                && faults[0].contains(" for \(name), "),
            "\(faults)"
        )
    }

    @Test("A name that is too long for DICOM is cut in the objects, and is no fault")
    func longName() async throws {
        let name = "kidney" + String(repeating: "_with_cysts", count: 8)
        let bench = try LabelBench(
            batch: BatchBench { folder in
                let package = folder("model")
                try FileManager.default.copyItem(at: Fixtures.url("Models/threshold"), to: package)
                let path = package.appendingPathComponent("model.json")
                let text = try String(contentsOf: path, encoding: .utf8)
                try text.replacing("\"name\": \"above\"", with: "\"name\": \"\(name)\"")
                    .write(to: path, atomically: true, encoding: .utf8)
                return package.path
            }
        )
        var options = SegmentationOptions()
        options.writesSegmentationObject = true
        options.writesStructureSet = true
        try await bench.batch.run(options)
        let batch = VerifiedBatch(output: bench.batch.output, by: bench.batch)
        #expect(try await batch.faults() == [])
        let path = batch.url("ct/segmentation.dcm").path
        let object = try DICOMSegmentation.read(path: path, on: bench.geometry, flag: CancellationFlag())
        #expect(object.segments.map(\.label) == [String(name.prefix(64))])
    }

    @Test("A note states that source images share a UID, by which DICOM objects refer to them", arguments: [0, 2, 24])
    func sharedUIDs(count: Int) async throws {
        let bench = try LabelBench()
        for k in 0..<count {
            let path = bench.batch.folder("in/ct/\(k).dcm").path
            var bytes = Data(try FileSystem.read(path))
            // Ten characters, as all these values have with their padding.
            let place = try #require(bytes.range(of: Data("1.2.3.4.\(k + 1)".utf8)))
            let whole = place.lowerBound..<place.lowerBound + 10
            bytes.replaceSubrange(whole, with: Data("1.2.3.4.99".utf8))
            try FileSystem.write(path, Array(bytes))
        }
        var options = SegmentationOptions()
        options.writesSegmentationObject = true
        options.writesStructureSet = true
        #expect(try await bench.batch.run(options).counts.completed == 1)
        let notes = try #require(try bench.result("ct")["notes"] as? [String]).filter { $0.contains("(0008,0018)") }
        #expect(notes.count == (count == 0 ? 0 : 1), "\(notes)")
        #expect(notes.allSatisfy { $0.hasPrefix("\(count) of 24 source images have a SOPInstanceUID ") })
    }

    @Test("DICOM objects of another volume are found")
    func clinicalObjects() async throws {
        let bench = try LabelBench()
        var options = SegmentationOptions()
        options.writesSegmentationObject = true
        options.writesStructureSet = true
        try await bench.batch.run(options)
        let batch = VerifiedBatch(output: bench.batch.output, by: bench.batch)
        #expect(try await batch.faults() == [])
        // The same grid and names, and a smaller box.
        let name = try #require(
            (try JSONValue(parsing: FileSystem.read(batch.url("ct/result.json").path))["labels"]).flatMap { labels in
                if case .array(let labels) = labels { labels.first?["name"]?.text } else { nil }
            }
        )
        try bench.writeSegmentation(try bench.labels([(5, 1, 6)]), named: [name], to: "out/ct/segmentation.dcm")
        try await batch.recordAnew("ct")
        #expect(
            try await batch.faults() == ["ct/segmentation.dcm: has 216 voxels of \(name), result.json states 512"]
        )
        try bench.writeStructureSet([("other", try bench.labels([(2, 1, 12)]))], to: "out/ct/rtstruct.dcm")
        try await batch.recordAnew("ct")
        let faults = try await batch.faults().filter { $0.hasPrefix("ct/rtstruct.dcm") }
        #expect(faults.contains { $0.contains("no contour of \(name)") }, "\(faults)")
        #expect(faults.contains { $0.contains("has a region other") }, "\(faults)")
        try batch.change("ct/rtstruct.dcm") { $0.removeLast($0.count / 2) }
        try await batch.recordAnew("ct")
        #expect(try await batch.faults().contains { $0.hasPrefix("ct/rtstruct.dcm: ") })
    }

    @Test("Results of other people's labels are looked into as well")
    func existingLabels() async throws {
        let bench = try LabelBench()
        try bench.writeSegmentation(
            try bench.labels([(3, 1, 6), (11, 2, 5)]),
            named: ["one", "two"],
            to: "in/seg.dcm"
        )
        try bench.writeStructureSet([("roi", try bench.labels([(4, 1, 8)]))], to: "in/set.dcm")
        try await bench.run()
        let batch = VerifiedBatch(output: bench.batch.output, by: bench.batch)
        #expect(try await batch.faults() == [])
        try batch.replace("seg/result.json", "\"voxelCount\" : 216", "\"voxelCount\" : 215")
        try await batch.recordAnew("seg")
        let faults = try await batch.faults()
        #expect(
            faults.contains("seg/segmentation.nii.gz: has 216 voxels of one (1), result.json states 215"),
            "\(faults)"
        )
    }

    @Test("A structure set that reaches beyond the images that are there is verified")
    func structureSetBeyondImages() async throws {
        let bench = try LabelBench()
        try bench.writeStructureSet([("roi", try bench.labels([(4, 1, 14)]))], to: "in/set.dcm")
        for k in 8..<bench.shape.z { FileSystem.remove(bench.batch.folder("in/ct/\(k).dcm").path) }
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1)
        #expect(FileSystem.exists(bench.batch.output.item("set") + "/meshes/roi.stl"))
        #expect(try await VerifiedBatch(output: bench.batch.output, by: bench.batch).faults() == [])
    }
}
