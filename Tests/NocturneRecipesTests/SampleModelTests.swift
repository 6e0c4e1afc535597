import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("The sample model on phantoms it has not seen")
struct SampleModelTests {
    /// The share of overlap: twice the common voxels over the sum of both.
    private func dice(_ a: LabelVolume, _ b: LabelVolume, _ value: UInt16) -> Double {
        var common = 0
        var sum = 0
        for index in 0..<a.voxels.count {
            let inA = a.voxels[index] == value
            let inB = b.voxels[index] == value
            if inA && inB { common += 1 }
            sum += (inA ? 1 : 0) + (inB ? 1 : 0)
        }
        return sum == 0 ? 1 : 2 * Double(common) / Double(sum)
    }

    @Test("Kidneys and bladder overlap by at least 0.90, ureters by 0.60", arguments: [501, 502])
    func overlap(seed: Int) async throws {
        let folder = try TemporaryFolder("nocturne-sample")
        let package = try ModelPackage.load(
            folder: Checkout.folder.appendingPathComponent("Samples/Models/urinary-tract-ct").path
        )
        let model = try SegmentationModel(package: package, engine: BuiltinEngine(), precision: .float32)
        let options = try SegmentationOptions(given: ["meshes": "none"])
        let source = Fixtures.url("Phantoms/seed-\(seed).nii.gz").path
        let output = OutputFolder(folder("out").path)
        let outcome = try await BatchOptions(options.recorded, inputs: [source], output: output, memoryBytes: 2 << 30)
            .run([try VolumeSegmentation(models: [model], options: options)])
        #expect(outcome.counts.completed == 1)
        let found = try VolumeFileReader.readLabels(
            at: output.item("seed-\(seed)") + "/segmentation.nii.gz",
            scope: .serial()
        ).labels
        let truth = try VolumeFileReader.readLabels(
            at: Fixtures.url("Phantoms/seed-\(seed)-labels.nii.gz").path,
            scope: .serial()
        ).labels
        #expect(found.geometry.matches(truth.geometry))
        for label in package.labels {
            let overlap = dice(found, truth, label.value)
            #expect(overlap >= (label.name.hasSuffix("ureter") ? 0.60 : 0.90), "\(label.name): \(overlap)")
        }
    }

    @Test("A plan that divides the cores of a machine takes the threads that the network uses well")
    func threadsOfPlan() async throws {
        let model = Checkout.folder.appendingPathComponent("Samples/Models/urinary-tract-ct").path
        var description = BatchDescription(
            version: "0.0.0",
            models: [],
            options: [:],
            inputs: [Fixtures.url("Phantoms/seed-501.nii.gz").path],
            modelPaths: [model]
        )
        description.recipes = ["volume-segmentation"]
        let recipe = try #require(try LoadedModels.recipes(description).first)
        let threads = try recipe.threadsOfProcess(cores: 64)
        #expect((4..<64).contains(threads))
        let limits = ResourceLimits(threads: 64)
        #expect(try await PlanReport(description, limits, dividesCores: true).threads == threads)
        #expect(try await PlanReport(description, limits).threads == 64)
    }
}
