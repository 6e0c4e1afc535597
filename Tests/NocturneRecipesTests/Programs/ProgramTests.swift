import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

private func notes(_ output: OutputFolder, _ item: String = "one") throws -> [String] {
    let data = try Data(contentsOf: URL(fileURLWithPath: output.item(item) + "/result.json"))
    return (try JSONSerialization.jsonObject(with: data) as? [String: Any])?["notes"] as? [String] ?? []
}

@Suite("A program of several networks")
struct ProgramTests {
    private func bench(_ section: String = ProgramBuilder.merged) throws -> BatchBench {
        let bench = try BatchBench { try ProgramBuilder(section: section).write(into: $0) }
        try Boxes.standard.write(to: bench)
        return bench
    }

    private static let merged = Boxes.standard.values.map { $0 > 5 ? UInt16(2) : $0 > 0.5 ? 1 : 0 }

    @Test("A later part replaces labels of an earlier one; the order decides")
    func order() async throws {
        let bench = try bench()
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("one") == Self.merged)

        let turned = try self.bench(
            """
            {"parts": [{"packages": ["parts/high"], "labels": {"1": 2}}, {"packages": ["parts/low"], "labels": {"1": 1}}]}
            """
        )
        // Nothing of the inner label is left, since the outer one is everywhere that it is.
        try await turned.run()
        #expect(try turned.labels("one") == Boxes.standard.values.map { $0 > 0.5 ? 1 : 0 })
    }

    @Test("Only the parts with labels that are asked for run, and a note says so")
    func subset() async throws {
        let bench = try bench()
        let tiles = Mutex(0)
        let inner = try SegmentationOptions(given: ["labels": "inner", "meshes": "none", "preview": "none"])
        try await bench.run(inner) { _, _ in tiles.withLock { $0 += 1 } }
        #expect(try bench.labels("one") == Boxes.standard.values.map { $0 > 5 ? 2 : 0 })
        #expect(try notes(bench.output).contains { $0.hasPrefix("1 of 2 parts of the model ran") })
        // The map of a part is not taken for that of the program, nor that of the program for the part's.
        let whole = OutputFolder(bench.folder("whole").path)
        try await bench.run(output: whole)
        try await bench.run(inner, output: whole, overwrite: true)
        #expect(try bench.tree(whole) == bench.tree())
    }

    @Test("The probabilities of an ensemble are averaged")
    func ensemble() async throws {
        // The logistic functions of x - 0.5 and x - 5 have a mean above one half where x is above 2.75.
        let bench = try BatchBench {
            try ProgramBuilder(
                labels: [(1, "outer")],
                section: #"{"parts": [{"packages": ["parts/low", "parts/high"], "labels": {"1": 1}}]}"#
            ).write(into: $0)
        }
        let ramp = Boxes(boxes: (1...6).map { (Boxes.cube($0 * 4, 44 - $0), Float($0)) })
        try ramp.write(to: bench)
        for (threads, memory) in [(1, 2 << 30), (3, 2 << 30), (2, 300 << 20)] {
            let output = OutputFolder(bench.folder("out-\(threads)-\(memory)").path)
            #expect(try await bench.run(output: output, threads: threads, memoryBytes: memory).counts.completed == 1)
            #expect(try bench.labels("one", output) == ramp.values.map { $0 > 2.75 ? 1 : 0 })
        }
    }

    @Test("Networks need one workspace, and buffers only if they run together")
    func memory() throws {
        func memory(_ section: String, labels: [(value: Int, name: String)], limit: Int = .max) throws -> LevelMemory {
            let engine = BuiltinEngine().sharing(PackedWeights(limit: limit))
            let folder = try TemporaryFolder()
            let path = try ProgramBuilder(labels: labels, section: section).write(into: folder)
            let package = try ModelPackage.load(folder: path)
            let model = try SegmentationModel(package: package, engine: engine, precision: .float32)
            return try model.memory(threads: 2, options: SegmentationOptions())
        }
        let outer = [(value: 1, name: "outer")]
        let one = try memory(#"{"parts": [{"packages": ["parts/low"], "labels": {"1": 1}}]}"#, labels: outer)
        #expect(one.kept > 0 && one.packed.bytes > 0 && one.workspace > 0 && one.buffers > 0)
        let merged = try memory(ProgramBuilder.merged, labels: outer + [(2, "inner")])
        #expect(merged.kept == 2 * one.kept && merged.packed.bytes == 2 * one.packed.bytes)
        let inTurns = try memory(ProgramBuilder.merged, labels: outer + [(2, "inner")], limit: 1)
        // Weights that are packed again and again stay as they were read.
        #expect(merged.weights == 0 && inTurns.weights > 0)
        #expect(inTurns.total == merged.total - one.packed.bytes + inTurns.weights)
        #expect(merged.workspace == one.workspace && merged.buffers == one.buffers)
        let region = try memory(ProgramBuilder.region, labels: outer)
        #expect(region.kept == 2 * one.kept && region.buffers == one.buffers)
        let ensemble = try memory(
            #"{"parts": [{"packages": ["parts/low", "parts/high"], "labels": {"1": 1}}]}"#,
            labels: outer
        )
        #expect(ensemble.workspace == one.workspace && ensemble.buffers == 2 * one.buffers)
    }

    @Test("Where packed weights do not fit together, networks pack them in turns, and the labels are equal")
    func weightsInTurns() async throws {
        let bench = try BatchBench { try ProgramBuilder(section: ProgramBuilder.merged).write(into: $0) }
        let ramp = Boxes(boxes: (1...6).map { (Boxes.cube($0 * 4, 44 - $0), Float($0)) })
        for name in ["one", "two"] { try ramp.write(to: bench, as: name + ".nii.gz") }
        for (limit, networks) in [(Int.max, 2), (1, 1)] {
            let weights = PackedWeights(limit: limit)
            let output = OutputFolder(bench.folder("out-\(networks)").path)
            let recipe = try bench.recipe(engine: BuiltinEngine().sharing(weights))
            #expect(withExtendedLifetime(recipe) { weights.networks } == networks)
            try await bench.run(output: output, engine: BuiltinEngine().sharing(weights))
            for name in ["one", "two"] {
                #expect(try bench.labels(name, output) == ramp.values.map { $0 > 5 ? 2 : $0 > 0.5 ? 1 : 0 })
            }
        }
    }

    @Test("Networks of a model that was released make their packed weights again, and the labels are equal")
    func released() async throws {
        let bench = try BatchBench { try ProgramBuilder(section: ProgramBuilder.merged).write(into: $0) }
        let ramp = Boxes(boxes: (1...6).map { (Boxes.cube($0 * 4, 44 - $0), Float($0)) })
        try ramp.write(to: bench)
        let weights = PackedWeights()
        let recipe = try bench.recipe(engine: BuiltinEngine().sharing(weights))
        let before = try recipe.sharedMemory(threads: 2)
        let (id, bytes) = try #require(before.ofModels.first)
        #expect(before.ofModels.count == 1 && bytes > 0 && bytes <= before.bytes && weights.networks == 2)
        recipe.release(model: "another")
        #expect(weights.networks == 2)
        recipe.release(model: id)
        #expect(weights.networks == 0)
        let options = try BatchOptions(
            SegmentationOptions().recorded,
            models: [bench.model],
            inputs: [bench.input],
            output: bench.output
        )
        #expect(try await options.run([recipe]).counts.completed == 1)
        #expect(try bench.labels("one") == ramp.values.map { $0 > 5 ? 2 : $0 > 0.5 ? 1 : 0 })
        #expect(weights.networks == 2)
        #expect(try recipe.sharedMemory(threads: 2).bytes == before.bytes)
    }

    private func regionBench(_ section: String = ProgramBuilder.region) throws -> BatchBench {
        try BatchBench { try ProgramBuilder(labels: [(1, "outer")], section: section).write(into: $0) }
    }

    @Test("The parts work in the region, which grows while their labels touch its sides")
    func region() async throws {
        let bench = try regionBench()
        try Boxes.standard.write(to: bench)
        try await bench.run()
        let near = Boxes(boxes: [(Boxes.cube(4, 14), 1)])
        #expect(try bench.labels("one") == near.values.map { $0 > 0.5 ? 1 : 0 })
        #expect(try notes(bench.output).contains("the region was enlarged once, until labels no longer touched it"))
    }

    @Test("A region between planes of a grid is that of deepbet, and intensities in it are clamped")
    func planeRegion() async throws {
        let section = """
            {"region": {"package": "parts/high", "marginShare": 0.1, "planeShare": 0.02, "grows": false,
                "clip": {"lower": 0.5, "upper": 1},
                "grid": {"size": [11, 9, 10], "resampling": {"method": "spline", "order": 0}}},
             "parts": [{"packages": ["parts/low"], "labels": {"1": 1}}]}
            """
        let bench = try regionBench(section)
        // On the grid, nines are voxels 2 to 4 along each axis, and one voxel more, which is too few for a plane. Zeros amid
        // them lie between its voxels, of which more than half are ones.
        let nines: [(VoxelBox, Float)] = [(Boxes.cube(8, 20), 9), (Boxes.cube(28, 32), 9)]
        try Boxes(boxes: [(Boxes.cube(2, 34), 1)] + nines + [(Boxes.cube(11, 13), 0)]).write(to: bench)
        try await bench.run()
        // get_bbox_with_margin of deepbet 1.0.2 returns 7 to 21 along each axis.
        let box = Boxes(boxes: [(Boxes.cube(7, 21), 1)])
        #expect(try bench.labels("one") == box.values.map { $0 > 0.5 ? 1 : 0 })
    }

    @Test("A region that is not there gives no labels, and a note")
    func emptyRegion() async throws {
        let bench = try regionBench()
        try Boxes(boxes: [(Boxes.cube(4, 14), 1)]).write(to: bench)
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("one").allSatisfy { $0 == 0 })
        #expect(try notes(bench.output).contains { $0.contains("region of the model was not found") })
    }

    @Test("Labels of a region are the same as without one, where both have the same box")
    func sameInRegion() async throws {
        let bench = try regionBench(
            ProgramBuilder.region.replacingOccurrences(of: "\"marginMm\": 2", with: "\"marginMm\": 100")
        )
        try Boxes.standard.write(to: bench)
        try await bench.run()
        #expect(try bench.labels("one") == Boxes.standard.values.map { $0 > 0.5 ? 1 : 0 })
        #expect(try !notes(bench.output).contains { $0.contains("enlarged") })
    }

    @Test("On a grid of its own, a program works on the resampled volume, and labels return by the nearest voxel")
    func grid() async throws {
        let section = """
            {"grid": {"spacing": [1.5, 2, 1.25], "resampling": {"method": "zoom", "order": 1}}, \(ProgramBuilder.merged.dropFirst())
            """
        let bench = try bench(section)
        try await bench.run()
        let source = Boxes.standard
        let values = source.values
        // Along one axis, zoom puts sample k of m at k (n - 1) / (m - 1).
        func positions(_ n: Int, _ m: Int) -> [Double] { (0..<m).map { Double($0) * Double(n - 1) / Double(m - 1) } }
        let counts = [source.shape.x, source.shape.y, source.shape.z]
        let sizes = zip(counts, [1.25, 2, 1.5]).map { Int((Double($0) / $1).rounded(.toNearestOrEven)) }
        let forward = zip(counts, sizes).map { positions($0, $1) }
        let back = zip(counts, sizes).map { positions($1, $0).map { Int(($0 + 0.5).rounded(.down)) } }
        func sample(_ place: [Int]) -> Double {
            var sum = 0.0
            for corner in 0..<8 {
                var (weight, voxel) = (1.0, [0, 0, 0])
                for axis in 0..<3 {
                    let u = forward[axis][place[axis]]
                    let lower = Int(u.rounded(.down))
                    let isUpper = corner >> axis & 1 == 1
                    weight *= isUpper ? u - Double(lower) : 1 - (u - Double(lower))
                    voxel[axis] = min(lower + (isUpper ? 1 : 0), counts[axis] - 1)
                }
                sum += weight * Double(values[source.shape.offset(voxel[0], voxel[1], voxel[2])])
            }
            return sum
        }
        let found = try bench.labels("one")
        var (wrong, ties) = (0, 0)
        for index in 0..<source.shape.count {
            let place = [
                index % source.shape.x, index / source.shape.x % source.shape.y, index / source.shape.sliceCount,
            ]
            let value = sample((0..<3).map { back[$0][place[$0]] })
            guard abs(value - 0.5) > 1e-4, abs(value - 5) > 1e-4 else {
                ties += 1
                continue
            }
            if found[index] != (value > 5 ? 2 : value > 0.5 ? 1 : 0) { wrong += 1 }
        }
        #expect(wrong == 0 && ties < source.shape.count / 20)
        #expect(Set(found) == [0, 1, 2])
    }

    @Test("A volume stored in other axes gives the same labels on the program's grid")
    func orientation() async throws {
        let section = """
            {"grid": {"spacing": [1, 1, 1], "resampling": {"method": "zoom", "order": 1}}, \(ProgramBuilder.merged.dropFirst())
            """
        let bench = try bench(section)
        var turned = Boxes.standard
        turned.affine = Affine(
            columnI: SIMD3(0, 0, -1),
            columnJ: SIMD3(-1, 0, 0),
            columnK: SIMD3(0, 1, 0),
            translation: SIMD3(3, -7, 20)
        )
        try turned.write(to: bench, as: "turned.nii.gz")
        #expect(try await bench.run().counts.completed == 2)
        #expect(try bench.labels("one") == Self.merged)
        #expect(try bench.labels("turned") == Self.merged)
    }

    @Test(
        "Cancelled at any event, a resumed batch ends as an undisturbed one",
        arguments: [ProgramBuilder.merged, ProgramBuilder.region]
    )
    func resuming(_ section: String) async throws {
        let isRegion = section == ProgramBuilder.region
        let bench = try isRegion ? regionBench() : bench()
        for index in 0..<3 { try Boxes.standard.write(to: bench, as: "v\(index).nii.gz") }
        let whole = OutputFolder(bench.folder("whole").path)
        try await bench.run(output: whole)
        let seen = Mutex(0)
        try await bench.run { _, control in
            let count = seen.withLock { seen in
                seen += 1
                return seen
            }
            if count == 6 { control.cancel() }
        }
        try await bench.run()
        #expect(try bench.tree() == bench.tree(whole))
    }
}
