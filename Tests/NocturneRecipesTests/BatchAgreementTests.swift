import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Agreement of two results")
struct BatchAgreementTests {
    @Test("is that of their label maps; another grid is told, and photos have none")
    func labelMaps() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii")
        try await bench.run()
        let other = OutputFolder(bench.folder("other").path)
        // The same volume with the box moved by half of its edge.
        try bench.addBox("one.nii", at: 8)
        try bench.addBox("larger.nii", shape: VolumeShape(x: 20, y: 18, z: 25))
        try await bench.run(output: other)
        let results = RecipeResults()
        func compare(_ first: String, _ second: String) throws -> (dice: Double?, problem: String?) {
            let found = try results.agreement(first, second, scope: .serial())
            return (found.measures.first { $0.measure == "dice" && $0.label == "above" }?.value, found.problem)
        }
        #expect(try compare(bench.output.item("one"), bench.output.item("one")).dice == 1)
        // They share 4 x 4 x 4 of 8 x 8 x 8 voxels.
        #expect(try compare(bench.output.item("one"), other.item("one")).dice == 0.125)
        #expect(try compare(other.item("one"), other.item("larger")).problem?.contains("20 x 18 x 25") == true)
    }

    @Test("has the difference of volumes as the second minus the first, relative to the first")
    func volumes() async throws {
        let bench = try BatchBench()
        try bench.addBox("one.nii", edge: 8)
        try await bench.run()
        let other = OutputFolder(bench.folder("other").path)
        try bench.addBox("one.nii", edge: 10)
        try await bench.run(output: other)
        let found = try RecipeResults().agreement(bench.output.item("one"), other.item("one"), scope: .serial())
        func value(_ measure: String) -> Double? {
            found.measures.first { $0.measure == measure && $0.label == "above" }?.value
        }
        // 10 x 10 x 10 and 8 x 8 x 8 voxels.
        #expect(try #require(value("volumeDifference")) > 0)
        #expect(value("relativeVolumeDifference") == 0.953125)
    }
}
