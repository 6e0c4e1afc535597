import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

/// The networks' logits are 0.5 and x minus a shift, so that the probability of a label is the logistic function of x minus
/// the shift minus 0.5.
@Suite("Maps of probabilities")
struct ProbabilityMapTests {
    private static let options = {
        var options = SegmentationOptions.labelsOnly
        options.writesProbabilities = true
        return options
    }()

    private func bench(_ section: String = ProgramBuilder.merged, labels: Int = 2) throws -> BatchBench {
        let named = [(value: 1, name: "outer"), (value: 2, name: "inner")].prefix(labels)
        let bench = try BatchBench { try ProgramBuilder(labels: Array(named), section: section).write(into: $0) }
        try Boxes.standard.write(to: bench)
        return bench
    }

    /// The scaled values of a map.
    private func map(_ bench: BatchBench, _ label: String, _ output: OutputFolder? = nil) throws -> [Double] {
        let path = (output ?? bench.output).item("one") + "/probabilities/\(label).nii.gz"
        let read = try VolumeFileReader.readVolume(at: path, scope: .serial())
        #expect(read.header.dataType == .uint8)
        return read.volume.voxels.array().map(Double.init)
    }

    private static func logistic(_ values: [Float], _ shift: Double) -> [Double] {
        values.map { 1 / (1 + exp(0.5 + shift - Double($0))) }
    }

    private static func difference(_ one: [Double], _ other: [Double]) -> Double {
        one.count == other.count ? zip(one, other).map { abs($0 - $1) }.max() ?? 0 : .infinity
    }

    /// Half a step, and the rounding of single precision.
    private static let tolerance = 0.5 / 255 + 1e-5

    @Test("of merged networks are each network's own, for any number of threads and any memory")
    func merged() async throws {
        let bench = try bench()
        var trees: [[String: String]] = []
        for (threads, memory) in [(1, 2 << 30), (3, 2 << 30), (2, 300 << 20)] {
            let output = OutputFolder(bench.folder("out-\(threads)-\(memory)").path)
            let outcome = try await bench.run(Self.options, output: output, threads: threads, memoryBytes: memory)
            #expect(outcome.counts.completed == 1)
            for (label, shift) in [("outer", 0.0), ("inner", 4.5)] {
                let expected = Self.logistic(Boxes.standard.values, shift)
                #expect(Self.difference(try map(bench, label, output), expected) < Self.tolerance)
            }
            #expect(try await BatchVerification(output, inspection: RecipeResults()).run().faults == [])
            trees.append(try bench.tree(output).filter { $0.key.hasPrefix("one/") })
        }
        #expect(trees.dropFirst().allSatisfy { $0 == trees[0] })
        #expect(trees[0].keys.filter { $0.contains("probabilities/") }.count == 2)
    }

    @Test("are written for the labels that are asked for, and only on request")
    func selection() async throws {
        let bench = try bench()
        var options = Self.options
        options.labels = LabelNames(argument: "inner")
        try await bench.run(options)
        #expect(try bench.tree().keys.filter { $0.contains("probabilities/") } == ["one/probabilities/inner.nii.gz"])
        #expect(
            Self.difference(try map(bench, "inner"), Self.logistic(Boxes.standard.values, 4.5)) < Self.tolerance
        )
        let without = OutputFolder(bench.folder("without").path)
        try await bench.run(output: without)
        #expect(try bench.tree(without).keys.allSatisfy { !$0.contains("probabilities") })
    }

    @Test("of an ensemble are the means of its networks")
    func ensemble() async throws {
        let section = #"{"parts": [{"packages": ["parts/low", "parts/high"], "labels": {"1": 1}}]}"#
        let bench = try bench(section, labels: 1)
        try await bench.run(Self.options)
        let values = Boxes.standard.values
        let expected = zip(Self.logistic(values, 0), Self.logistic(values, 4.5)).map { ($0 + $1) / 2 }
        #expect(Self.difference(try map(bench, "outer"), expected) < Self.tolerance)
    }

    @Test("are 0 outside the region in which networks work, also after it has grown")
    func region() async throws {
        let bench = try bench(ProgramBuilder.region, labels: 1)
        try await bench.run(Self.options)
        let found = try map(bench, "outer")
        let expected = Self.logistic(Boxes.standard.values, 0)
        let inside = found.indices.filter { found[$0] > 0 }
        #expect(inside.allSatisfy { abs(found[$0] - expected[$0]) < Self.tolerance })
        let shape = Boxes.standard.shape
        // The background has a probability of 0.38 where networks have looked.
        let near = inside.filter { index in
            [index % shape.x, index / shape.x % shape.y, index / shape.sliceCount].allSatisfy { (4..<14).contains($0) }
        }
        #expect(near.count == 1000 && inside.count > 1000 && inside.count < shape.count / 2)
    }

    @Test("return from the grid of a program as its labels do")
    func grid() async throws {
        let section = """
            {"grid": {"spacing": [1.5, 2, 1.25], "resampling": {"method": "zoom", "order": 1}}, \(ProgramBuilder.merged.dropFirst())
            """
        let bench = try bench(section)
        try await bench.run(Self.options)
        let labels = try bench.labels("one")
        let (outer, inner) = (try map(bench, "outer"), try map(bench, "inner"))
        var wrong = 0
        for index in labels.indices {
            let expected = inner[index] > 0.5 ? 2 : outer[index] > 0.5 ? 1 : 0
            let isTie = abs(inner[index] - 0.5) < 1.0 / 255 || abs(outer[index] - 0.5) < 1.0 / 255
            if !isTie, labels[index] != expected { wrong += 1 }
        }
        #expect(wrong == 0 && Set(labels) == [0, 1, 2])
    }

    @Test("A volume that is cancelled among its tiles continues; the maps are those of an undisturbed run")
    func resuming() async throws {
        let bench = try bench()
        try Boxes.ramp.write(to: bench)
        let whole = OutputFolder(bench.folder("whole").path)
        let undisturbed = CountingEngine()
        try await bench.run(Self.options, output: whole, engine: undisturbed)
        let control = RunControl()
        let tiles = undisturbed.runs
        let first = CountingEngine { if $0 == tiles * 3 / 4 { control.cancel() } }
        #expect(try await bench.run(Self.options, engine: first, control: control).counts.completed == 0)
        let second = CountingEngine()
        #expect(try await bench.run(Self.options, engine: second).counts.completed == 1)
        #expect(second.runs < tiles)
        #expect(try bench.tree() == bench.tree(whole))
    }

    @Test("A volume whose saved probabilities are damaged or missing begins again", arguments: [true, false])
    func damage(isMissing: Bool) async throws {
        let bench = try bench()
        try Boxes.ramp.write(to: bench)
        let whole = OutputFolder(bench.folder("whole").path)
        let undisturbed = CountingEngine()
        try await bench.run(Self.options, output: whole, engine: undisturbed)
        let control = RunControl()
        let tiles = undisturbed.runs
        // In the first part, after more than one layer of tiles.
        let first = CountingEngine { if $0 == tiles * 3 / 8 { control.cancel() } }
        try await bench.run(Self.options, engine: first, control: control)
        let path = bench.output.staging("one") + "/probabilities0.u8"
        var bytes = try FileSystem.read(path)
        #expect(!bytes.isEmpty)
        bytes[0] ^= 1
        if isMissing { FileSystem.remove(path) } else { try FileSystem.write(path, bytes) }
        let second = CountingEngine()
        #expect(try await bench.run(Self.options, engine: second).counts.completed == 1)
        #expect(second.runs == tiles)
        #expect(try bench.tree() == bench.tree(whole))
    }

    @Test("are taken from an earlier result that has them, and computed where it has none")
    func earlier() async throws {
        let bench = try bench()
        try await bench.run()
        let computing = CountingEngine()
        try await bench.run(Self.options, overwrite: true, engine: computing)
        #expect(computing.runs > 0)
        let before = try bench.tree().filter { $0.key.contains("probabilities/") }
        var options = Self.options
        options.surfaces.meshes = .obj
        let taking = CountingEngine()
        #expect(try await bench.run(options, overwrite: true, engine: taking).counts.completed == 1)
        #expect(taking.runs == 0 && before.count == 2)
        #expect(try bench.tree().filter { $0.key.contains("probabilities/") } == before)
    }
}
