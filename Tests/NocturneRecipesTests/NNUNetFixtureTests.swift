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

/// Small volumes with networks that can be written down, and the label maps nnU-Net's own predictor made of them.
private struct NNUNetCase: Decodable, CustomTestStringConvertible, Sendable {
    let name: String
    let about: String
    let channels: Int
    let labelCounts: [Int]
    /// One digit a voxel, x fastest.
    let labels: String

    var testDescription: String { "\(name): \(about)" }

    private struct All: Decodable { let cases: [NNUNetCase] }

    static let all: [NNUNetCase] = {
        guard let data = try? Data(contentsOf: Fixtures.url("NNUNet/expected.json")) else { return [] }
        return (try? JSONDecoder().decode(All.self, from: data))?.cases ?? []
    }()

    var volumes: [String] {
        (0..<channels).map { Fixtures.url("NNUNet/volumes/\(name)_000\($0).nii").path }
    }

    /// Runs the case and gives its labels.
    func run(_ options: SegmentationOptions, threads: Int = 2) async throws -> [UInt16] {
        let bench = try BatchBench(model: "NNUNet/models/\(name)")
        let files = try volumes.map { path in
            let copy = bench.input + "/" + (path as NSString).lastPathComponent
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            return copy
        }
        #expect(files.count == channels)
        let outcome = try await bench.run(options, threads: threads)
        #expect(outcome.counts.completed == 1)
        let path = bench.output.path + "/\(name)/segmentation.nii.gz"
        let read = try VolumeFileReader.readLabels(at: path, scope: .serial())
        return read.labels.voxels.array()
    }
}

@Suite("The predictor of nnU-Net")
struct NNUNetFixtureTests {
    @Test("is met voxel by voxel with its rounding", arguments: NNUNetCase.all)
    private func reference(_ fixture: NNUNetCase) async throws {
        let rounding = ["meshes": "none", "preview": "none", "reference-rounding": "yes"]
        let labels = try await fixture.run(SegmentationOptions(given: rounding))
        #expect(labels.map(String.init).joined() == fixture.labels)
        #expect(fixture.labelCounts.reduce(0, +) == labels.count)
    }

    @Test("is met without its rounding where no logit lies at a tie", arguments: NNUNetCase.all)
    private func single(_ fixture: NNUNetCase) async throws {
        let labels = try await fixture.run(.labelsOnly)
        let different = zip(labels, fixture.labels).filter { "\($0)" != "\($1)" }.count
        // Half precision rounds logits at the border of these tiny volumes to whole numbers. The two folds' constants
        // lie a sixteenth from the logits they compete with.
        #expect(different <= labels.count * (fixture.name == "G" ? 5 : 1) / 100)
    }

    @Test("there are nineteen of its fixtures")
    func count() { #expect(NNUNetCase.all.count == 19) }
}
