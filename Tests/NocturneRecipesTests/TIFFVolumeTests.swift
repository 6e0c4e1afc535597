import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Volumes in TIFFs")
struct TIFFVolumeTests {
    /// The threshold's package for TIFFs, with other keys in its section.
    private static func package(_ more: [String: Any] = [:], in folder: TemporaryFolder) throws -> String {
        let package = folder("model")
        try FileManager.default.copyItem(at: Fixtures.url("Models/threshold"), to: package)
        let path = package.appendingPathComponent("model.json")
        var document = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: path)) as? [String: Any])
        var section = try #require(document["volumeSegmentation"] as? [String: Any])
        section["inputFormat"] = "tiff"
        section.merge(more) { $1 }
        document["volumeSegmentation"] = section
        try JSONSerialization.data(withJSONObject: document).write(to: path)
        return package.path
    }

    private func bench() throws -> BatchBench { try BatchBench { try Self.package(in: $0) } }

    /// Writes a TIFF of 20 × 18 columns and rows and 12 pages with a box of ones, and zeros elsewhere.
    private func addStack(_ name: String, to bench: BatchBench, edge: Int = 8) throws {
        let shape = VolumeShape(x: 20, y: 18, z: 12)
        var voxels = try VoxelBuffer<UInt16>(count: shape.count)
        for k in 3..<3 + edge {
            for j in 4..<4 + edge { for i in 5..<5 + edge { voxels[shape.offset(i, j, k)] = 1 } }
        }
        let labels = LabelVolume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: voxels.frozen())
        try TIFFLabelWriter.write(labels, to: bench.input + "/" + name, scope: .serial())
    }

    @Test("A stack with its spacing is segmented; the labels are a NIfTI file with the spacing, and a TIFF")
    func segmented() async throws {
        let bench = try bench()
        try addStack("one_0000.tif", to: bench)
        try bench.folder.write("{\"spacing\": [2.5, 1.25, 1]}", to: "in/one.json")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
        let folder = bench.output.item("one")
        let read = try VolumeFileReader.readLabels(at: folder + "/segmentation.nii.gz", scope: .serial())
        #expect(read.labels.geometry.shape == VolumeShape(x: 20, y: 18, z: 12))
        #expect(read.labels.geometry.affine == .scaling(SIMD3(-1, -1.25, 2.5)))
        #expect(read.header.pixelSpacing == SIMD3(1, 1.25, 2.5))
        let stack = try TIFFStackReader.readVolume(at: folder + "/segmentation.tif", scope: .serial())
        let labels = try bench.labels("one")
        let isSame = labels.indices.allSatisfy { stack.voxels[$0] == Float(labels[$0]) }
        #expect(isSame && labels.contains(1))
        #expect(try TIFFSpacing.read(at: folder + "/segmentation.json") == SIMD3(1, 1.25, 2.5))
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/result.json"))
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: data) == [])
        let result = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let source = try #require(result["source"] as? [String: Any])
        #expect(source["format"] as? String == "tiff" && source["spacingMm"] as? [Double] == [1, 1.25, 2.5])
        let files = try #require(result["files"] as? [[String: Any]]).compactMap { $0["path"] as? String }
        #expect(files.contains("segmentation.tif") && files.contains("segmentation.json"))
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
        // Nothing is done again, unless the spacing changes.
        let tree = try bench.tree()
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.tree() == tree)
        try bench.folder.write("{\"spacing\": [2, 2, 2]}", to: "in/one.json")
        #expect(try await bench.run().counts.completed == 1)
        #expect(try TIFFSpacing.read(at: folder + "/segmentation.json") == SIMD3(2, 2, 2))
    }

    @Test("Without a file beside it the spacing is 1 mm, and the result says so")
    func withoutSpacing() async throws {
        let bench = try bench()
        try addStack("one.tiff", to: bench)
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("one").count { $0 == 1 } == 512)
        let result = String(decoding: try FileSystem.read(bench.output.item("one") + "/result.json"), as: UTF8.self)
        #expect(result.contains("no file with the spacing next to it: 1 mm is assumed along all axes"))
        #expect(result.contains("a TIFF has no position in the patient"))
    }

    @Test("A bad spacing, a damaged file and a stack of colours fail with the fact; the others complete")
    func failures() async throws {
        let bench = try bench()
        try addStack("good.tif", to: bench)
        try addStack("bad_0000.tif", to: bench)
        try bench.folder.write("{\"spacing\": [0, 1, 1]}", to: "in/bad.json")
        try addStack("short.tif", to: bench)
        let bytes = try FileSystem.read(bench.input + "/short.tif")
        try bench.folder.write(Array(bytes.dropLast(4)), to: "in/short.tif")
        try FileManager.default.copyItem(
            at: Fixtures.url("TIFF/refused-colour.tif"),
            to: bench.folder("in/colour.tif")
        )
        // A pipe would be waited for, and a device has no end.
        try addStack("pipe_0000.tif", to: bench)
        #expect(mkfifo(bench.input + "/pipe.json", 0o600) == 0)
        try addStack("device_0000.tif", to: bench)
        #expect(symlink("/dev/zero", bench.input + "/device.json") == 0)
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 5)
        for name in ["pipe", "device"] {
            let reason = try await bench.reason(name)
            #expect(reason?.contains("\(name).json") == true && reason?.contains("is not a regular file") == true)
        }
        #expect(try await bench.reason("bad")?.contains("spacing is [0.0, 1.0, 1.0]; expected three numbers") == true)
        #expect(try await bench.reason("bad")?.contains("bad.json") == true)
        #expect(try await bench.reason("short")?.contains("page 12 of 12") == true)
        #expect(try await bench.reason("colour")?.contains("3 channels in one file") == true)
    }

    @Test("DICOM and NIfTI are for other models, and TIFFs are for no model that does not take them")
    func otherFormats() async throws {
        let bench = try bench()
        try addStack("stack.tif", to: bench)
        try bench.addBox("volume.nii")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 0)
        #expect(try await bench.state("volume") == .skipped)
        #expect(try await bench.reason("volume")?.contains("threshold takes TIFFs whose pages are slices") == true)
        let medical = try BatchBench()
        try addStack("stack.tif", to: medical)
        try medical.addBox("volume.nii")
        let other = try await medical.run()
        #expect(other.counts.completed == 1 && other.counts.failed == 0)
        #expect(try await medical.reason("stack.tif")?.contains("not a DICOM, NIfTI, NRRD or MetaImage file") == true)
    }

    @Test("Only known formats are accepted, and no turning of a TIFF")
    func settings() throws {
        for (more, key) in [
            (["inputFormat": "png"] as [String: Any], "volumeSegmentation.inputFormat"),
            (["orientation": "RAS"], "volumeSegmentation.orientation"),
        ] {
            let folder = try TemporaryFolder("nocturne-package")
            let package = try ModelPackage.load(folder: try Self.package(more, in: folder))
            #expect {
                _ = try VolumeSegmentationSettings(package)
            } throws: {
                ($0 as? ModelPackageError)?.key == key
            }
        }
        let folder = try TemporaryFolder("nocturne-package")
        let package = try ModelPackage.load(folder: try Self.package(in: folder))
        #expect(try VolumeSegmentationSettings(package).inputFormat == .tiff)
        let threshold = try ModelPackage.load(folder: Fixtures.url("Models/threshold").path)
        #expect(try VolumeSegmentationSettings(threshold).inputFormat == .medical)
    }
}
