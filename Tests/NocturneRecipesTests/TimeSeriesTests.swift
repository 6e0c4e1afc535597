import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("NIfTI files with several volumes")
struct TimeSeriesTests {
    private let boxes: [(edge: Int, value: Float)] = [(8, 1), (6, 2), (4, 5)]

    private let options: SegmentationOptions = {
        var options = SegmentationOptions()
        options.inputs.takesTimeSeries = true
        return options
    }()

    private func lines(_ output: OutputFolder) throws -> [[String]] {
        try String(contentsOfFile: output.timeTable, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
    }

    @Test("Each volume is an item, and one table has the measures over time")
    func items() async throws {
        let bench = try BatchBench()
        try bench.addSeries("heart.nii", boxes)
        try bench.addBox("still.nii")
        let outcome = try await bench.run(options)
        #expect(outcome.counts.completed == 4 && outcome.counts.inputs == 4)
        for (index, box) in boxes.enumerated() {
            let labels = try bench.labels("heart_t00\(index)")
            #expect(labels.count { $0 == 1 } == box.edge * box.edge * box.edge)
        }
        let table = try lines(bench.output)
        let names = try #require(table.first)
        #expect(table.count == 4)
        for (index, box) in boxes.enumerated() {
            let row = Dictionary(zip(names, table[index + 1])) { first, _ in first }
            let volume = Double(box.edge * box.edge * box.edge)
            #expect(row["timePoint"].flatMap(Double.init) == Double(index))
            #expect(row["timeS"].flatMap(Double.init) == 2.5 * Double(index))
            #expect(row["label"] == "above" && row["item"] == "heart_t00\(index)")
            #expect(row["source"]?.hasSuffix("heart.nii") == true)
            #expect(row["voxelCount"].flatMap(Double.init) == volume)
            #expect(row["volumeMl"].flatMap(Double.init) == volume / 1000)
            #expect(row["intensityMean"].flatMap(Double.init) == Double(box.value))
            #expect(row["intensityUnit"] == "image value")
        }
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        let result = try Data(contentsOf: URL(fileURLWithPath: bench.output.item("heart_t002") + "/result.json"))
        #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: result) == [])
        #expect(String(decoding: result, as: UTF8.self).contains("\"timePoint\""))
    }

    @Test("Without a unit of time the index is known alone, and a batch of single volumes has no such table")
    func withoutTime() async throws {
        let bench = try BatchBench()
        try bench.addSeries("a.nii", boxes, secondsApart: nil)
        try await bench.run(options)
        let table = try lines(bench.output)
        #expect(table.dropFirst().map { $0[2] } == ["0", "1", "2"])
        #expect(table.dropFirst().allSatisfy { $0[3].isEmpty })
        let other = try BatchBench()
        try other.addBox("a.nii")
        try await other.run(options)
        #expect(!FileSystem.exists(other.output.timeTable))
    }

    @Test("Cancelled between two volumes, a resumed batch ends as an undisturbed one")
    func resumed() async throws {
        let bench = try BatchBench()
        try bench.addSeries("a.nii", boxes)
        let whole = OutputFolder(bench.folder("whole").path)
        try await bench.run(options, output: whole)
        let first = try await bench.run(options, observe: cancelling(atStart: 2))
        #expect(first.counts.completed < 3)
        #expect(try await bench.run(options).counts.completed == 3)
        #expect(try bench.tree() == bench.tree(whole))
    }

    @Test("A file too short for its last volume fails as one input, and the others are done")
    func short() async throws {
        let bench = try BatchBench()
        try bench.addSeries("a.nii", boxes)
        let bytes = try FileSystem.read(bench.input + "/a.nii")
        try bench.folder.write(Array(bytes.dropLast(10)), to: "in/short.nii")
        let outcome = try await bench.run(options)
        #expect(outcome.counts.completed == 3 && outcome.counts.failed == 1)
        #expect(try await bench.reason("short")?.contains("the voxels end after") == true)
    }

    @Test("Unless it is asked for, a model for single volumes refuses the file once")
    func notAskedFor() async throws {
        let bench = try BatchBench()
        try bench.addSeries("a.nii", boxes)
        let outcome = try await bench.run()
        #expect(outcome.counts.failed == 1 && outcome.counts.inputs == 1)
        #expect(try await bench.reason("a")?.contains("a time series of 3 volumes") == true)
    }

    @Test("A model with several channels refuses the file once, with what to do")
    func channels() async throws {
        let bench = try BatchBench(model: "NNUNet/models/M")
        try bench.addSeries("a.nii", boxes)
        let outcome = try await bench.run()
        #expect(outcome.counts.failed == 1 && outcome.counts.inputs == 1)
        #expect(
            try await bench.reason("a")?.contains("4-D with 3 volumes: if they are its channels, write each") == true
        )
    }
}
