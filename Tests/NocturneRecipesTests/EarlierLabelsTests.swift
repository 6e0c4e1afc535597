import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

/// The map of a finished item is replaced by another one: a result that is made from it shows that no network has run.
@Suite("Labels of an earlier result")
struct EarlierLabelsTests {
    private let bench: BatchBench

    init() async throws {
        bench = try BatchBench(options: SegmentationOptions())
        try bench.addBox("one.nii")
        try await bench.run()
    }

    private var folder: String { bench.output.item("one") }

    /// Puts half of the labels in the place of the map.
    /// - Parameter isRecorded: whether `result.json` has the digest of the new map.
    private func plant(isRecorded: Bool = true) throws {
        let path = folder + "/segmentation.nii.gz"
        let before = try FileSystem.digest(path).digest.hex
        let labels = try VolumeFileReader.readLabels(at: path, scope: .serial()).labels
        var voxels = try VoxelBuffer<UInt16>(count: labels.geometry.shape.count)
        var isKept = false
        for index in 0..<labels.geometry.shape.count where labels.voxels[index] != 0 {
            isKept.toggle()
            if isKept { voxels[index] = labels.voxels[index] }
        }
        let planted = LabelVolume(geometry: labels.geometry, voxels: voxels.frozen())
        try NIfTIWriter.writeLabels(planted, names: [], forms: nil, to: path, scope: .serial())
        guard isRecorded else { return }
        let result = String(decoding: try FileSystem.read(folder + "/result.json"), as: UTF8.self)
        #expect(result.contains(before))
        let changed = result.replacing(before, with: try FileSystem.digest(path).digest.hex)
        try FileSystem.write(folder + "/result.json", Array(changed.utf8))
    }

    private func voxelCount() throws -> Int? {
        struct Result: Decodable {
            struct Label: Decodable { let voxelCount: Int }
            let labels: [Label]
        }
        let bytes = try FileSystem.read(folder + "/result.json")
        return try JSONDecoder().decode(Result.self, from: Data(bytes)).labels.first?.voxelCount
    }

    @Test("give the same files as a new batch, when options of surfaces and pictures change")
    func sameTree() async throws {
        var options = try SegmentationOptions(given: [
            "meshes": "ply", "frame": "ras", "review": "volumes", "preview": "slices", "pictures": "yes",
        ])
        options.pictures.planes = .all
        let outcome = try await bench.run(options, overwrite: true)
        #expect(outcome.counts.completed == 1)
        let fresh = try BatchBench(options: SegmentationOptions())
        try fresh.addBox("one.nii")
        try await fresh.run(options)
        func files(_ bench: BatchBench) throws -> [String: String] {
            try bench.tree().filter {
                $0.key.hasPrefix("one/") && !["one/run.json", "one/result.json"].contains($0.key)
            }
        }
        // The source has another time in the other folder, and so the results have other fingerprints.
        func result(_ bench: BatchBench) throws -> JSONValue {
            let bytes = try FileSystem.read(bench.output.item("one") + "/result.json")
            guard case .object(let members) = try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
                return .null
            }
            return .object(members.filter { !$0.key.lowercased().hasSuffix("fingerprint") })
        }
        let (found, expected) = (try files(bench), try files(fresh))
        #expect(found == expected)
        #expect(try result(bench) == result(fresh) && result(bench) != .null)
        #expect(expected["one/slices-coronal.png"] != nil)
    }

    @Test("take the place of the inference")
    func noInference() async throws {
        let all = try #require(try voxelCount())
        try plant()
        try await bench.run(SegmentationOptions(given: ["meshes": "obj"]), overwrite: true)
        #expect(try voxelCount() == all / 2)
    }

    @Test(
        "are not used when an option of the inference, or the model, changes what they depend on",
        arguments: [
            ["step-size": "0.9"], ["disable-tta": "yes"], ["reference-rounding": "yes"],
        ]
    )
    func otherInference(_ given: [String: String]) async throws {
        let options = try SegmentationOptions(given: given)
        let all = try #require(try voxelCount())
        try plant()
        try await bench.run(options, overwrite: true)
        #expect(try voxelCount() == all)
    }

    @Test("are not used when the source changed")
    func otherSource() async throws {
        try plant()
        try bench.addBox("one.nii", edge: 6)
        try await bench.run(SegmentationOptions(given: ["meshes": "obj"]), overwrite: true)
        #expect(try voxelCount() == 216)
    }

    @Test("are not used when the file is not the one that was written")
    func otherFile() async throws {
        let all = try #require(try voxelCount())
        try plant(isRecorded: false)
        try await bench.run(SegmentationOptions(given: ["meshes": "obj"]), overwrite: true)
        #expect(try voxelCount() == all)
    }
}
