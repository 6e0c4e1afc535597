import Foundation
import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

/// What SciPy and NumPy measured: Tools/fixtures/make_roi_fixtures.py.
private struct ComparisonFixtures: Decodable, Sendable {
    struct Distances: Decodable, Sendable {
        let mean: Double
        let hausdorff95: Double
        let hausdorff: Double
    }

    struct Expected: Decodable, Sendable {
        let value: UInt16
        let dice: Double?
        let distances: Distances?
    }

    struct Case: Decodable, Sendable {
        let name: String
        let shape: [Int]
        let spacing: [Double]
        let labels: Data
        let reference: Data
        let expected: [Expected]

        func volume(_ voxels: Data, turned: Bool = false) throws -> LabelVolume {
            var affine = Affine.scaling(SIMD3(spacing[0], spacing[1], spacing[2]))
            // The same grid elsewhere: distances do not change.
            if turned {
                let (c, s) = (0.8, 0.6)
                affine = Affine(
                    columnI: SIMD3(-c, s, 0) * spacing[0],
                    columnJ: SIMD3(0, 0, 1) * spacing[1],
                    columnK: SIMD3(s, c, 0) * spacing[2],
                    translation: SIMD3(-100, 33, 250)
                )
            }
            return LabelVolume(
                geometry: VolumeGeometry(shape: VolumeShape(x: shape[0], y: shape[1], z: shape[2]), affine: affine),
                voxels: try FrozenVoxels(voxels.map { UInt16($0) })
            )
        }
    }

    let cases: [Case]

    static func load() throws -> ComparisonFixtures {
        try JSONDecoder().decode(ComparisonFixtures.self, from: Data(try Fixtures.bytes("Regions/comparisons.json")))
    }
}

@Suite("Comparison with reference labels")
struct ComparisonTests {
    @Test("Dice and distances are those of SciPy to 1e-6", arguments: [false, true])
    func fixtures(turned: Bool) throws {
        var (measured, absent) = (0, 0)
        for entry in try ComparisonFixtures.load().cases {
            let found = try LabelComparison.compare(
                labels: entry.volume(entry.labels, turned: turned),
                reference: entry.volume(entry.reference, turned: turned),
                values: entry.expected.map(\.value),
                scope: .serial()
            )
            for (found, want) in zip(found, entry.expected) {
                let name: Comment = "\(entry.name), label \(want.value)"
                #expect(found.value == want.value && found.problem == nil, name)
                #expect((found.dice == nil) == (want.dice == nil), name)
                #expect(abs((found.dice ?? 0) - (want.dice ?? 0)) < 1e-12, name)
                #expect((found.distances == nil) == (want.distances == nil), name)
                guard let a = found.distances, let b = want.distances else {
                    absent += 1
                    continue
                }
                measured += 1
                #expect(abs(a.mean - b.mean) < 1e-6, name)
                #expect(abs(a.hausdorff95 - b.hausdorff95) < 1e-6, name)
                #expect(abs(a.hausdorff - b.hausdorff) < 1e-6, name)
            }
        }
        #expect(measured > 50 && absent > 10)
    }

    @Test("Random masks agree with a search over all pairs", arguments: [UInt64(1), 2, 3])
    func pairs(seed: UInt64) throws {
        let spacing = SIMD3(0.7, 2.1, 1.3)
        let labels = [
            PlainLabels.random(9, 7, 8, labels: 2, empty: 0.5, seed: seed),
            PlainLabels.random(9, 7, 8, labels: 2, empty: 0.9, seed: seed + 50),
        ]
        let found = try LabelComparison.compare(
            labels: labels[0].volume(.scaling(spacing)),
            reference: labels[1].volume(.scaling(spacing)),
            values: [2],
            scope: .serial()
        )
        let borders = labels.map { map in
            Voxel.all(of: map.shape).filter { v in
                map[v] == 2
                    && [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)].contains { step in
                        let n = Voxel(v.i + step.0, v.j + step.1, v.k + step.2)
                        return !map.contains(n) || map[n] != 2
                    }
            }
        }
        func toNearest(_ from: [Voxel], _ to: [Voxel]) -> [Double] {
            from.map { a in
                to.map { b in
                    length(SIMD3(Double(a.i - b.i), Double(a.j - b.j), Double(a.k - b.k)) * spacing)
                }.min() ?? .infinity
            }
        }
        let all = toNearest(borders[0], borders[1]) + toNearest(borders[1], borders[0])
        let distances = try #require(found[0].distances)
        #expect(abs(distances.mean - all.reduce(0, +) / Double(all.count)) < 1e-12)
        #expect(abs(distances.hausdorff - (all.max() ?? 0)) < 1e-12)
        for tolerance in [0, 0.7, 1.3, 1.5, 2.1, 50] {
            let found = try LabelComparison.compare(
                labels: labels[0].volume(.scaling(spacing)),
                reference: labels[1].volume(.scaling(spacing)),
                values: [2],
                tolerance: tolerance,
                scope: .serial()
            )
            let within = all.count { $0 <= tolerance + 1e-9 }
            #expect(found[0].distances?.surfaceDice == Double(within) / Double(all.count), "\(tolerance)")
        }
    }

    @Test("Two boxes, 3 voxels apart along the coarse axis, are 3 slices apart")
    func boxes() throws {
        func box(_ first: Int) -> PlainLabels {
            PlainLabels(12, 12, 12) { (4..<8).contains($0.i) && (4..<8).contains($0.j) && $0.k == first ? 5 : 0 }
        }
        let affine = Affine.scaling(SIMD3(0.5, 0.5, 4))
        let found = try LabelComparison.compare(
            labels: box(2).volume(affine),
            reference: box(5).volume(affine),
            values: [5, 6],
            scope: .serial()
        )
        #expect(found[0].dice == 0)
        let distances = try #require(found[0].distances)
        #expect(distances.mean == 12 && distances.hausdorff95 == 12 && distances.hausdorff == 12)
        #expect(distances.surfaceDice == 0)
        #expect(found[1].dice == nil && found[1].distances == nil && found[1].problem == nil)
    }

    @Test("The surface Dice of a label that only one has is 0; that neither has, none", arguments: [0, 0.2])
    func oneSided(shear: Double) throws {
        let affine = Affine(
            columnI: SIMD3(1, 0, 0),
            columnJ: SIMD3(shear, 1, 0),
            columnK: SIMD3(0, 0, 1),
            translation: .zero
        )
        let found = try LabelComparison.compare(
            labels: PlainLabels(6, 6, 6) { $0.i > 2 ? 1 : 0 }.volume(affine),
            reference: PlainLabels(6, 6, 6) { $0.i > 2 ? 2 : 0 }.volume(affine),
            values: [1, 2, 3],
            scope: .serial()
        )
        #expect(found.map(\.surfaceDice) == [0, 0, nil] && found.map(\.dice) == [0, 0, nil])
        #expect(found.allSatisfy { $0.distances == nil && $0.problem == nil })
    }

    @Test("Too long a boundary and a sheared grid are told, not guessed")
    func refusals() throws {
        let labels = PlainLabels(6, 6, 6) { $0.i > 2 ? 1 : 0 }
        let few = try LabelComparison.compare(
            labels: labels.volume(),
            reference: labels.volume(),
            values: [1],
            boundaryLimit: 10,
            scope: .serial()
        )
        #expect(few[0].dice == 1 && few[0].distances == nil && few[0].problem?.contains("more than 10") == true)
        let sheared = Affine(
            columnI: SIMD3(1, 0, 0),
            columnJ: SIMD3(0.2, 1, 0),
            columnK: SIMD3(0, 0, 1),
            translation: .zero
        )
        let skew = try LabelComparison.compare(
            labels: labels.volume(sheared),
            reference: labels.volume(sheared),
            values: [1],
            scope: .serial()
        )
        #expect(skew[0].distances == nil && skew[0].problem?.contains("perpendicular") == true)
    }

    @Test("The result is bit-identical for 1, 2 and 5 threads")
    func widths() async throws {
        let labels = PlainLabels.random(60, 50, 40, labels: 3, empty: 0.3, seed: 8)
        let reference = PlainLabels.random(60, 50, 40, labels: 3, empty: 0.6, seed: 9)
        let found = try await resultsForWidths { scope in
            try LabelComparison.compare(
                labels: labels.volume(.scaling(SIMD3(0.3, 0.7, 1.9))),
                reference: reference.volume(.scaling(SIMD3(0.3, 0.7, 1.9))),
                values: [1, 2, 3],
                scope: scope
            )
        }
        #expect(found[0] == found[1] && found[0] == found[2])
    }

    @Test("A raised flag stops the comparison")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let labels = PlainLabels(6, 6, 6) { $0.i > 2 ? 1 : 0 }
        #expect(throws: CancelledError.self) {
            try LabelComparison.compare(
                labels: labels.volume(),
                reference: labels.volume(),
                values: [1],
                scope: .serial(flag)
            )
        }
    }
}
