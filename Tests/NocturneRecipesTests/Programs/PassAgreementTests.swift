import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Agreement of passes")
struct PassAgreementTests {
    private static let patch = GridZYX(4, 5, 6)
    private static let classes = 3

    private static func buffer(_ values: [Float]) throws -> VoxelBuffer<Float> {
        var buffer = try VoxelBuffer<Float>(count: values.count)
        for (index, value) in values.enumerated() { buffer[index] = value }
        return buffer
    }

    /// The index of a voxel in a tile that is flipped.
    private static func flipped(_ index: Int, _ axes: [Int]) -> Int {
        var (z, y, x) = (index / (patch.y * patch.x), index / patch.x % patch.y, index % patch.x)
        if axes.contains(0) { z = patch.z - 1 - z }
        if axes.contains(1) { y = patch.y - 1 - y }
        if axes.contains(2) { x = patch.x - 1 - x }
        return (z * patch.y + y) * patch.x + x
    }

    /// The class of the largest logit of a voxel, or the last region above 0.
    private static func label(_ logits: [Float], _ index: Int, _ values: [UInt16], isRegions: Bool) -> UInt16 {
        let own = (0..<classes).map { logits[$0 * patch.count + index] }
        if isRegions { return own.lastIndex { $0 > 0 }.map { values[$0] } ?? 0 }
        return values[own.firstIndex(of: own.max() ?? 0) ?? 0]
    }

    @Test(
        "is the share of voxels to which flipped and plain passes give the label of their mean",
        arguments: [false, true]
    )
    func counts(isRegions: Bool) throws {
        let values: [UInt16] = isRegions ? [4, 9, 2] : [0, 9, 2]
        let decision: LabelDecision = isRegions ? .regions(labels: values) : .largestLogit(labels: values)
        let agreement = try PassAgreement(decision, patch: Self.patch)
        let flips = [[], [2], [0, 1], [], [0, 1, 2]]
        for seed in 1...3 {
            var random = SplitMix64(seed: UInt64(seed))
            let count = Self.patch.count * Self.classes
            // What all passes have in common is larger than what each has of its own.
            let common = random.floats(count, in: -3..<3)
            let passes = flips.map { _ in
                zip(common, random.floats(count, in: -1..<1)).map { $0 + $1 }
            }
            agreement.begin()
            for (pass, axes) in zip(passes, flips) {
                var logits = pass
                for c in 0..<Self.classes {
                    for index in 0..<Self.patch.count {
                        logits[c * Self.patch.count + Self.flipped(index, axes)] = pass[c * Self.patch.count + index]
                    }
                }
                try agreement.add(try Self.buffer(logits), flippedAlong: axes, scope: .serial())
            }
            let mean = (0..<count).map { index in passes.reduce(0) { $0 + $1[index] } / Float(passes.count) }
            let found = try agreement.finish(try Self.buffer(mean), scope: .serial())
            var expected: [UInt16: AgreementTally.Counts] = [:]
            for index in 0..<Self.patch.count {
                let own = Self.label(mean, index, values, isRegions: isRegions)
                guard own != 0 else { continue }
                let isAgreed = passes.allSatisfy { Self.label($0, index, values, isRegions: isRegions) == own }
                expected[own, default: .init(agreeing: 0, all: 0)].all += 1
                expected[own, default: .init(agreeing: 0, all: 0)].agreeing += isAgreed ? 1 : 0
            }
            #expect(found == expected && found.count == (isRegions ? 3 : 2))
            #expect(found.values.contains { $0.agreeing > 0 && $0.agreeing < $0.all })
        }
    }

    @Test("A row of tiles that begins again replaces the earlier one; tallies of members are added")
    func tally() throws {
        var tally = AgreementTally()
        for _ in 0..<2 {
            for row in 0..<2 {
                tally.begin(row: row)
                tally.add([5: .init(agreeing: row, all: 2)], row: row)
                tally.add([5: .init(agreeing: 1, all: 1), 6: .init(agreeing: 0, all: 4)], row: row)
            }
        }
        #expect(AgreementTally.shares([tally]) == [5: 0.5, 6: 0])
        var other = AgreementTally()
        other.add([6: .init(agreeing: 8, all: 8), 7: .init(agreeing: 0, all: 0)], row: 0)
        let restored = try JSONDecoder().decode(AgreementTally.self, from: JSONEncoder().encode(tally))
        #expect(AgreementTally.shares([restored, other]) == [5: 0.5, 6: 0.5])
    }

    @Test(
        "Damaged counts are refused",
        arguments: [#"{"rows":{"0":{"2":[3,2]}}}"#, #"{"rows":{"0":{"2":[-1,2]}}}"#, #"{"rows":{"0":{"2":[1]}}}"#]
    )
    func damaged(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(AgreementTally.self, from: Data(text.utf8)) }
    }

    private func agreements(_ bench: BatchBench) throws -> [Double?] {
        struct Result: Decodable {
            struct Confidence: Decodable { let passAgreement: Double? }
            struct Label: Decodable { let confidence: Confidence? }
            let labels: [Label]
        }
        let bytes = try FileSystem.read(bench.output.item("one") + "/result.json")
        return try JSONDecoder().decode(Result.self, from: Data(bytes)).labels.map { $0.confidence?.passAgreement }
    }

    @Test("is complete for a network that looks at single voxels, and absent for a single pass")
    func results() async throws {
        for axes in [[], [0, 2]] {
            let bench = try BatchBench {
                try ProgramBuilder(mirroringAxes: axes, section: ProgramBuilder.merged).write(into: $0)
            }
            try Boxes.standard.write(to: bench)
            try await bench.run()
            #expect(try agreements(bench) == (axes.isEmpty ? [nil, nil] : [1, 1]))
            let table = String(decoding: try FileSystem.read(bench.output.path + "/statistics.csv"), as: UTF8.self)
            #expect(table.contains("passAgreement") == !axes.isEmpty)
        }
    }

    @Test("is the same, as are all files, where tiles stay on a device", arguments: [[], [0, 2], [0, 1, 2]])
    func device(axes: [Int]) async throws {
        let bench = try BatchBench {
            try ProgramBuilder(mirroringAxes: axes, section: ProgramBuilder.merged).write(into: $0)
        }
        try Boxes.ramp.write(to: bench)
        try await bench.run(engine: FaultyEngine(.none, from: 1))
        let resident = OutputFolder(bench.folder("resident").path)
        let engine = FaultyEngine(.none, from: 1, keepsTiles: true)
        try await bench.run(output: resident, engine: engine)
        #expect(try engine.residents.value > 0 && bench.tree() == bench.tree(resident))
    }

    @Test("is the same after an interruption among the tiles", arguments: [false, true])
    func resuming(onDevice: Bool) async throws {
        let residents = onDevice ? Counter() : nil
        let bench = try BatchBench {
            try ProgramBuilder(mirroringAxes: [1], section: ProgramBuilder.merged).write(into: $0)
        }
        try Boxes.ramp.write(to: bench)
        let whole = OutputFolder(bench.folder("whole").path)
        let undisturbed = CountingEngine(residents: residents)
        try await bench.run(output: whole, engine: undisturbed)
        let control = RunControl()
        let runs = undisturbed.runs
        let first = CountingEngine(residents: residents) { if $0 == runs * 3 / 4 { control.cancel() } }
        try await bench.run(engine: first, control: control)
        let second = CountingEngine(residents: residents)
        try await bench.run(engine: second)
        #expect(second.runs < runs)
        #expect(try bench.tree() == bench.tree(whole))
    }
}
