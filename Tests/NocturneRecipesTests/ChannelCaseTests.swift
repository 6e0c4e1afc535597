import Foundation
import NocturneBatch
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Cases of several channels")
struct ChannelCaseTests {
    /// A bench with some volumes of two channels under other names.
    private func bench(_ files: [(volume: String, name: String)]) throws -> BatchBench {
        let bench = try BatchBench(model: "NNUNet/models/M")
        for file in files {
            try FileManager.default.copyItem(
                at: Fixtures.url("NNUNet/volumes/\(file.volume).nii"),
                to: bench.folder("in/\(file.name)")
            )
        }
        return bench
    }

    /// The state and the reason of each item, by name.
    private func items(_ output: OutputFolder) async throws -> [String: String] {
        let items = try await Journal.with(path: output.journal) { try await $0.items() }
        return Dictionary(uniqueKeysWithValues: items.map { ($0.name, "\($0.state) \($0.reason?.text ?? "")") })
    }

    @Test("A case that is named by one of its files is the one of a run over the folder")
    func namedByOneFile() async throws {
        let bench = try bench([
            ("M_0000", "mix_0000.nii"), ("M_0001", "mix_0001.NII"), ("M_0000", "three_0000.nii"),
            ("M_0001", "three_0001.nii"), ("M_0001", "three_0002.nii"), ("M_0000", "twice_0000.nii"),
            ("M_0001", "twice_0001.NII"), ("M_0001", "twice_0001.nii"),
        ])
        let whole = try await bench.run()
        #expect(whole.counts.completed == 1 && whole.counts.failed == 2)
        let named = OutputFolder(bench.folder("named").path)
        let inputs = ["mix_0001.NII", "three_0000.nii", "twice_0001.nii"].map { "\(bench.input)/\($0)" }
        let outcome = try await bench.run(inputs: inputs, output: named)
        #expect(outcome.counts.inputs == 3)
        let (expected, found) = (try await items(bench.output), try await items(named))
        #expect(found == expected)
        #expect(found["three"]?.contains("0002 unexpected") == true, "\(found)")
        #expect(found["twice"]?.contains("a channel number occurs twice") == true, "\(found)")
        #expect(try bench.labels("mix", named) == bench.labels("mix"))
    }
    @Test("A model of one channel takes only the file that is named")
    func otherModels() throws {
        let bench = try bench([("M_0000", "case_0000.nii"), ("M_0001", "case_0001.nii")])
        let packages = try ["NNUNet/models/M", "Models/threshold"].map {
            try ModelPackage.load(folder: Fixtures.url($0).path)
        }
        let models = try packages.map {
            try SegmentationModel(package: $0, engine: BuiltinEngine(), precision: .float32)
        }
        let recipe = try VolumeSegmentation(models: models, options: SegmentationOptions())
        let items = try recipe.search(DiscoveryRequest(inputs: [bench.input + "/case_0001.nii"])).items
        #expect(items.map(\.name).sorted() == ["case", "case_0001"] && items.allSatisfy { $0.problem == nil })
        #expect(items.first { $0.name == "case_0001" }?.model == packages[1].id)
    }

    @Test("A single file with the number 0001 has a note, unless it is one of several volumes")
    func firstChannelMissing() throws {
        let bench = try BatchBench()
        for name in ["first_0000", "second_0001", "later_0042", "scan_0001", "scan_0002"] {
            try bench.addBox("\(name).nii")
        }
        let items = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
        #expect(items.count == 5 && items.allSatisfy { $0.problem == nil })
        #expect(items.filter { $0.source.contains("case.firstChannelMissing") }.map(\.name) == ["second_0001"])
    }
    @Test("A 4-D file among the channels of a case is the reason of the case, and not that its number is missing")
    func timeSeries() throws {
        let bench = try bench([("M_0001", "four_0001.nii")])
        for name in ["four_0000", "lone_0000", "plain"] {
            try bench.addSeries("\(name).nii", [(edge: 4, value: 1), (edge: 5, value: 1)])
        }
        let items = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
        #expect(items.map(\.name).sorted() == ["four", "lone", "plain"])
        for item in items {
            guard case .refused(let reason) = try #require(item.problem) else {
                Issue.record("\(item.name) is set aside")
                continue
            }
            #expect(reason.code == .channels && reason.text.contains("4-D with 2 volumes"), "\(reason)")
            #expect(item.name == "plain" || reason.text.hasPrefix("“\(item.name)_0000.nii”: "), "\(reason)")
        }
    }
}
