import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Cleaning label maps")
struct CleaningTests {
    private func clean(
        _ labels: PlainLabels,
        _ rules: PostprocessRules,
        affine: Affine = .identity
    ) throws -> (labels: PlainLabels, report: [LabelCleaning]) {
        var report: [LabelCleaning] = []
        let result = try labels.changed { buffer in
            report = try LabelCleaner.apply(
                rules,
                to: &buffer,
                geometry: VolumeGeometry(shape: labels.shape, affine: affine),
                scope: .serial()
            )
        }
        return (result, report)
    }

    @Test("keeping the largest removes the others and leaves other labels alone")
    func keepLargest() throws {
        let labels = PlainLabels(12, 4, 1) { voxel in
            switch (voxel.i, voxel.j) {
            case (0...1, 0...1): 1
            case (4...6, 0...1): 1
            case (8, 0): 1
            case (10...11, _): 2
            default: voxel.j == 3 && voxel.i == 0 ? 2 : 0
            }
        }
        let (result, report) = try clean(labels, PostprocessRules(keepLargest: [[1]]))
        #expect(result.count(of: 1) == 6)
        #expect(result[Voxel(5, 1, 0)] == 1)
        #expect(result.count(of: 2) == labels.count(of: 2))
        #expect(report == [LabelCleaning(value: 1, componentsFound: 3, componentsRemoved: 2, voxelsRemoved: 5)])
    }

    @Test("what is below the minimum volume goes, what has exactly that volume stays")
    func minimumVolume() throws {
        let labels = PlainLabels(30, 1, 1) { [3, 4, 5, 8, 9, 15].contains($0.i) ? 1 : $0.i == 25 ? 2 : 0 }
        let affine = Affine.scaling(SIMD3(0.1, 1, 1))
        let rules = PostprocessRules(minimumVolumeMm3: [1: 0.2])
        let (result, report) = try clean(labels, rules, affine: affine)
        #expect(result.values.indices.filter { result.values[$0] == 1 } == [3, 4, 5, 8, 9])
        #expect(result.count(of: 2) == 1)
        #expect(report == [LabelCleaning(value: 1, componentsFound: 3, componentsRemoved: 1, voxelsRemoved: 1)])
        let none = try clean(labels, PostprocessRules(minimumVolumeMm3: [1: 0.31]), affine: affine).labels
        #expect(none.count(of: 1) == 0)
    }

    @Test("ten voxels of 0.1 mm³ are not below 1 mm³")
    func rounding() throws {
        let labels = PlainLabels(10, 1, 1) { _ in 1 }
        let affine = Affine.scaling(SIMD3(0.1, 1, 1))
        #expect(try clean(labels, PostprocessRules(minimumVolumeMm3: [1: 1.0]), affine: affine).labels == labels)
    }

    @Test("connectivity decides what is one component")
    func connectivity() throws {
        let labels = PlainLabels(3, 3, 3) { $0.i == $0.j && $0.j == $0.k ? 1 : 0 }
        let byFaces = try clean(labels, PostprocessRules(minimumVolumeMm3: [1: 2])).labels
        let byCorners = try clean(labels, PostprocessRules(minimumVolumeMm3: [1: 2], connectivity: .corners)).labels
        #expect(byFaces.count(of: 1) == 0)
        #expect(byCorners == labels)
    }

    @Test("a cavity is filled; a dent and a tunnel to the border are not")
    func cavity() throws {
        let solid = PlainLabels(9, 9, 9) {
            (1...7).contains($0.i) && (1...7).contains($0.j) && (1...7).contains($0.k) ? 1 : 0
        }
        var labels = solid
        labels[Voxel(4, 4, 4)] = 0
        labels[Voxel(4, 4, 3)] = 0
        labels[Voxel(2, 2, 1)] = 0
        for k in 1...7 { labels[Voxel(6, 6, k)] = 0 }
        let (result, report) = try clean(labels, PostprocessRules(fillHoles: [1]))
        var expected = labels
        expected[Voxel(4, 4, 4)] = 1
        expected[Voxel(4, 4, 3)] = 1
        #expect(result == expected)
        var filled = LabelCleaning(value: 1, componentsFound: 1)
        filled.voxelsFilled = 2
        #expect(report == [filled])
    }

    @Test("a diagonal gap does not open a cavity")
    func diagonalGap() throws {
        // A hollow cube with a missing edge voxel: background inside and outside touch by edges only.
        var labels = PlainLabels(5, 5, 5) { voxel in
            let inside = [voxel.i, voxel.j, voxel.k].allSatisfy { (1...3).contains($0) }
            return inside && voxel != Voxel(2, 2, 2) ? 3 : 0
        }
        labels[Voxel(1, 1, 2)] = 0
        let result = try clean(labels, PostprocessRules(fillHoles: [3])).labels
        #expect(result[Voxel(2, 2, 2)] == 3)
        #expect(result[Voxel(1, 1, 2)] == 0)
    }

    @Test("a cavity that another label borders or lies in stays, and no label is overwritten")
    func shared() throws {
        let labels = PlainLabels(11, 7, 7) { voxel in
            if voxel == Voxel(3, 3, 3) { return 2 }
            if (2...4).contains(voxel.i), (2...4).contains(voxel.j), (2...4).contains(voxel.k) { return 0 }
            return (1...9).contains(voxel.i) && (1...5).contains(voxel.j) && (1...5).contains(voxel.k) ? 1 : 0
        }
        #expect(try clean(labels, PostprocessRules(fillHoles: [1, 2])).labels == labels)
    }

    @Test("in a picture, what is enclosed within the plane is filled, what reaches the border is not")
    func plane() throws {
        // A ring, a ring with a gap, and one at the border.
        let rows = [
            "..............11.1", ".11111.22222..1..1", ".1...1.2...2..1..1", ".1.3.1.2......1111",
            ".11111.22222......",
        ]
        let labels = PlainLabels(18, 5, 1) { voxel in
            UInt16(rows[voxel.j].dropFirst(voxel.i).first?.wholeNumberValue ?? 0)
        }
        var rules = PostprocessRules(fillHoles: [1, 2])
        rules.isPlane = true
        #expect(try clean(labels, rules).labels == labels)
        let without = PlainLabels(18, 5, 1) { labels[$0] == 3 ? 0 : labels[$0] }
        let (result, report) = try clean(without, rules)
        #expect(result.count(of: 1) == without.count(of: 1) + 6)
        #expect(result[Voxel(3, 3, 0)] == 1 && result[Voxel(9, 2, 0)] == 0 && result[Voxel(15, 2, 0)] == 0)
        #expect(report.map(\.voxelsFilled) == [6, 0])
        // With little memory, step by step.
        let stepwise = try without.changed { buffer in
            let geometry = VolumeGeometry(shape: without.shape, affine: .identity)
            _ = try LabelCleaner.apply(rules, to: &buffer, geometry: geometry, within: 0, scope: .serial())
        }
        #expect(stepwise == result)
        // In a volume such a ring is open above and below.
        #expect(try clean(without, PostprocessRules(fillHoles: [1, 2])).labels == without)
    }

    @Test("volumes whose cavities lie at the border are left as they are")
    func border() throws {
        let ring = PlainLabels(5, 5, 1) { voxel in
            [voxel.i, voxel.j].allSatisfy { (1...3).contains($0) } && voxel != Voxel(2, 2, 0) ? 1 : 0
        }
        #expect(try clean(ring, PostprocessRules(fillHoles: [1])).labels == ring)
    }

    @Test("random volumes are filled as a flood fill says", arguments: [0.25, 0.35, 0.5], [1, 2])
    func fillingAgrees(empty: Double, labelCount: Int) throws {
        for seed in UInt64(0)..<6 {
            let labels = PlainLabels.random(11, 9, 18, labels: labelCount, empty: empty, seed: seed)
            #expect(try clean(labels, PostprocessRules(fillHoles: [1])).labels == FloodFill.filled(labels, [1]))
            #expect(try clean(labels, PostprocessRules(fillHoles: [2, 1])).labels == FloodFill.filled(labels, [1, 2]))
        }
    }

    @Test("minimum volume comes first, then the largest, then cavities")
    func order() throws {
        // The shell's cavity holds a speck of its own label; once the speck is gone the whole cavity is filled.
        let labels = PlainLabels(9, 9, 9) { voxel in
            if voxel == Voxel(4, 4, 4) { return 1 }
            let distance = max(abs(voxel.i - 4), abs(voxel.j - 4), abs(voxel.k - 4))
            return distance == 3 ? 1 : 0
        }
        let (result, report) = try clean(labels, PostprocessRules(keepLargest: [[1]], fillHoles: [1]))
        #expect(result.count(of: 1) == 343)
        var cleaned = LabelCleaning(value: 1, componentsFound: 2, componentsRemoved: 1, voxelsRemoved: 1)
        cleaned.voxelsFilled = 125
        #expect(report == [cleaned])
        let gone = try clean(labels, PostprocessRules(keepLargest: [[1]], fillHoles: [1], minimumVolumeMm3: [1: 1e6]))
        #expect(gone.labels.count(of: 1) == 0)
    }

    @Test("the report names every label of the rules, ascending, also absent ones, but never the background")
    func report() throws {
        let labels = PlainLabels(3, 3, 3)
        let rules = PostprocessRules(keepLargest: [[7, 0]], fillHoles: [2, 7], minimumVolumeMm3: [5: 1, 0: 3])
        let (result, report) = try clean(labels, rules)
        #expect(report == [2, 5, 7].map { LabelCleaning(value: $0) })
        #expect(result == labels)
        #expect(try clean(labels, PostprocessRules()).report.isEmpty)
    }

    @Test("rules are applied in the order minimum volume, keep largest, fill holes")
    func singleSteps() throws {
        let labels = PlainLabels.random(9, 10, 11, labels: 2, empty: 0.5, seed: 3)
        let geometry = VolumeGeometry(shape: labels.shape, affine: .identity)
        let steps = try labels.changed { buffer in
            for step in [
                PostprocessRules(minimumVolumeMm3: [1: 2.0]), PostprocessRules(keepLargest: [[1]]),
                PostprocessRules(fillHoles: [1]),
            ] {
                _ = try LabelCleaner.apply(step, to: &buffer, geometry: geometry, scope: .serial())
            }
        }
        let rules = PostprocessRules(keepLargest: [[1]], fillHoles: [1], minimumVolumeMm3: [1: 2.0])
        #expect(try clean(labels, rules).labels == steps)
    }

    @Test("rules followed one by one to save memory give the same labels and the same report", arguments: UInt64(0)..<6)
    func bounded(seed: UInt64) throws {
        let labels = PlainLabels.random(12, 11, 13, labels: 4, empty: 0.45, seed: seed)
        let geometry = VolumeGeometry(shape: labels.shape, affine: .identity)
        let rules = PostprocessRules(
            keepLargest: [[1, 2], [3], [2]],
            fillHoles: [2, 1, 3],
            minimumVolumeMm3: [1: 2, 4: 3],
            connectivity: .edges
        )
        let whole = try clean(labels, rules)
        for bytes in [0, Int.max] {
            var report: [LabelCleaning] = []
            let result = try labels.changed { buffer in
                report = try LabelCleaner.apply(rules, to: &buffer, geometry: geometry, within: bytes, scope: .serial())
            }
            #expect(result == whole.labels)
            #expect(report == whole.report)
        }
        #expect(whole.labels != labels)
    }

    @Test("the result is the same for 1, 2 and 5 threads")
    func widths() async throws {
        let labels = PlainLabels.random(40, 30, 50, labels: 3, empty: 0.3, seed: 9)
        let results = try await resultsForWidths { scope in
            try labels.changed { buffer in
                _ = try LabelCleaner.apply(
                    PostprocessRules(keepLargest: [[1], [2, 3]], fillHoles: [1, 2, 3], minimumVolumeMm3: [2: 5]),
                    to: &buffer,
                    geometry: VolumeGeometry(shape: labels.shape, affine: .identity),
                    scope: scope
                )
            }
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
        #expect(results[0] != labels)
    }

    @Test("a raised flag stops the cleaning")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try PlainLabels(4, 4, 4).changed { buffer in
                _ = try LabelCleaner.apply(
                    PostprocessRules(fillHoles: [1]),
                    to: &buffer,
                    geometry: VolumeGeometry(shape: VolumeShape(x: 4, y: 4, z: 4), affine: .identity),
                    scope: .serial(flag)
                )
            }
        }
    }
}
