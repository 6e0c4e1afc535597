import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

/// Two boxes are segmented; then a person cuts the label of the first one in half.
@Suite("Labels that a person has edited")
struct EditedLabelsTests {
    private let bench: BatchBench
    private let before: [String: String]

    init() async throws {
        bench = try BatchBench(options: SegmentationOptions())
        try bench.addBox("one.nii")
        try bench.addBox("two.nii")
        try await bench.run()
        before = try bench.tree()
    }

    private var map: String { bench.output.item("one") + "/segmentation.nii.gz" }

    /// A copy of the item's map in which every voxel is what `change` makes of it.
    private func edited(
        _ name: String = "edited.nii.gz",
        names: [NIfTIWriter.Label] = [],
        _ change: (Int, UInt16) -> UInt16
    ) throws -> String {
        let labels = try VolumeFileReader.readLabels(at: map, scope: .serial()).labels
        var voxels = try VoxelBuffer<UInt16>(count: labels.geometry.shape.count)
        for index in 0..<labels.geometry.shape.count { voxels[index] = change(index, labels.voxels[index]) }
        let path = bench.folder(name).path
        try NIfTIWriter.writeLabels(
            LabelVolume(geometry: labels.geometry, voxels: voxels.frozen()),
            names: names,
            forms: nil,
            to: path,
            scope: .serial()
        )
        return path
    }

    private func adopt(_ path: String) async throws {
        let item = try #require(try await items().first { $0.name == "one" })
        let replaced = try RecipeResults().checkEdit(path, of: bench.output.item("one"), scope: .serial())
        try await EditedLabels.keep(path, for: item, map: replaced, in: bench.output, SystemTime())
        try await bench.run()
    }

    private func items() async throws -> [JournalItem] {
        Array(try await Journal.with(path: bench.output.journal) { try await $0.items() })
    }

    private struct Result: Decodable {
        struct Label: Decodable { let voxelCount: Int }
        let labels: [Label]
    }

    private func voxelCount() throws -> Int? {
        let bytes = try FileSystem.read(bench.output.item("one") + "/result.json")
        return try JSONDecoder().decode(Result.self, from: Data(bytes)).labels.first?.voxelCount
    }

    @Test("replace the model's: measures and surfaces follow, and nothing else changes")
    func adopted() async throws {
        let all = try #require(try voxelCount())
        var isKept = false
        let path = try edited { _, value in
            if value != 0 { isKept.toggle() }
            return isKept ? value : 0
        }
        try await adopt(path)
        #expect(try voxelCount() == all / 2)
        let after = try bench.tree()
        let changed = Set(after.keys).union(before.keys).filter { after[$0] != before[$0] }
        let parts: Set = ["one/result.json", "one/segmentation.nii.gz", "one/preview.png", "one/meshes/above.stl"]
        #expect(changed.subtracting(["one/run.json"]).isSuperset(of: parts))
        #expect(changed.allSatisfy { $0.hasPrefix("one/") || !$0.contains("/") }, "\(changed.sorted())")
        #expect(after["one/segmentation-model.nii.gz"] == before["one/segmentation.nii.gz"])
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
        let text = String(decoding: try FileSystem.read(bench.output.item("one") + "/result.json"), as: UTF8.self)
        #expect(text.contains("edited by a person"))

        // A resumed batch leaves it alone.
        try await bench.run()
        #expect(try bench.tree() == after)

        // A second edit of the edited map keeps the model's map.
        try await adopt(try edited("again.nii") { _, _ in 0 })
        #expect(try voxelCount() == 0)
        let again = try bench.tree()
        #expect(again["one/segmentation-model.nii.gz"] == before["one/segmentation.nii.gz"])

        let item = try #require(try await items().first { $0.name == "one" })
        #expect(try await EditedLabels.remove(of: item, in: bench.output)?.count == 1)
        // Put back, not made again: run.json has the time of the first run.
        try await bench.run()
        #expect(try bench.tree() == before)
        #expect(try await EditedLabels.remove(of: item, in: bench.output) == nil)
    }

    @Test("are recognised by a new journal as the result of their item, and can still be undone")
    func newJournal() async throws {
        try await adopt(try edited { _, _ in 0 })
        let after = try bench.tree()
        for file in ["", "-wal", "-shm"] { FileSystem.remove(bench.output.journal + file) }
        try await bench.run()
        #expect(try bench.tree() == after)
        let found = try await items()
        #expect(found.map(\.name) == ["one", "two"])
        #expect(found.allSatisfy { $0.state == .completed })

        let item = try #require(found.first)
        #expect(try await EditedLabels.remove(of: item, in: bench.output)?.count == 1)
        try await bench.run()
        #expect(try bench.tree() == before)
    }

    @Test(
        "An edited map whose positions differ by less than its precision gets the item's own: its surfaces are the same"
    )
    func positions() async throws {
        let path = try edited { _, value in value }
        let stored = try VolumeFileReader.readLabels(at: path, scope: .serial()).labels
        var shifted = stored.geometry.affine
        shifted.translation.x += 3e-5
        let moved = LabelVolume(
            geometry: VolumeGeometry(shape: stored.geometry.shape, affine: shifted),
            voxels: stored.voxels
        )
        try NIfTIWriter.writeLabels(moved, names: [], forms: nil, to: path, scope: .serial())
        try await adopt(path)
        let after = try bench.tree()
        let surfaces = before.keys.filter { $0.hasSuffix(".stl") }
        #expect(!surfaces.isEmpty && surfaces.allSatisfy { before[$0] == after[$0] })
    }

    @Test("are refused with the reason when they do not fit the item")
    func refused() async throws {
        func refusal(_ path: String) -> String {
            do {
                _ = try RecipeResults().checkEdit(path, of: bench.output.item("one"), scope: .serial())
                return ""
            } catch {
                return "\(error)"
            }
        }
        let unknown = refusal(try edited { index, value in index == 0 ? 9 : value })
        #expect(unknown.contains("1 voxel has the value 9") && unknown.contains("1 above"), "\(unknown)")
        let renamed = [NIfTIWriter.Label(value: 1, name: "below", color: LabelColor(red: 0, green: 0, blue: 0))]
        #expect(refusal(try edited(names: renamed) { _, value in value }).contains("another order"))
        #expect(refusal(bench.folder("in/missing.nii").path).contains("missing.nii"))
        let picture = bench.output.item("one") + "/preview.png"
        #expect(refusal(picture).contains("cannot be adopted"))
        try bench.addBox("larger.nii", shape: VolumeShape(x: 20, y: 18, z: 25))
        #expect(refusal(bench.folder("in/larger.nii").path).contains("voxels"))
    }

    @Test("do not apply any more once the source has changed")
    func sourceChanged() async throws {
        try await adopt(try edited { _, _ in 0 })
        #expect(try voxelCount() == 0)
        try bench.addBox("one.nii", at: 5)
        try await bench.run()
        let files = try bench.tree()
        #expect(files["one/segmentation-model.nii.gz"] == nil)
        #expect(try voxelCount() == 512)
    }
}
