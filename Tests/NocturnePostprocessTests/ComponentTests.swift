import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Connected components")
struct ComponentTests {
    private func painted(_ components: ConnectedComponents, _ count: Int) throws -> [UInt32] {
        let buffer = try components.painted()
        return (0..<count).map { buffer[$0] }
    }

    private func expectAgreement(_ labels: PlainLabels, _ connectivity: Connectivity) throws {
        let expected = FloodFill.components(of: labels, connectivity)
        let found = try ConnectedComponents(of: labels.volume(), connectivity: connectivity, scope: .serial())
        #expect(try painted(found, labels.values.count) == FloodFill.painted(expected, labels.shape))
        #expect(found.components.map(\.voxelCount) == expected.map(\.count))
        #expect(found.components.map(\.value) == expected.map { labels[$0[0]] })
        #expect(
            found.components.map(\.firstVoxel) == expected.map { labels.shape.offset($0[0].i, $0[0].j, $0[0].k) }
        )
        let counts = try ComponentCounter.counts(in: labels.volume(), connectivity: connectivity, scope: .serial())
        let byValue = Dictionary(grouping: expected) { labels[$0[0]] }
        #expect(counts.mapValues(\.components) == byValue.mapValues(\.count))
        #expect(counts.mapValues(\.largestVoxelCount) == byValue.mapValues { $0.map(\.count).max() ?? 0 })
    }

    @Test("counting looks only at the box, and ends when its flag is raised")
    func countingInBox() throws {
        var labels = PlainLabels(9, 8, 7)
        for (i, j, k) in [(2, 2, 2), (4, 2, 2), (6, 6, 6)] { labels[Voxel(i, j, k)] = 5 }
        let box = VoxelBox(lower: SIMD3(2, 2, 2), upper: SIMD3(5, 5, 5))
        let inside = try ComponentCounter.counts(in: labels.volume(), box: box, scope: .serial())
        #expect(inside[5]?.components == 2 && inside[5]?.largestVoxelCount == 1 && inside.count == 1)
        let all = try ComponentCounter.counts(in: labels.volume(), scope: .serial())
        #expect(all[5]?.components == 3)
        let flag = CancellationFlag()
        flag.cancel()
        let volume = try labels.volume()
        #expect(throws: CancelledError.self) { _ = try ComponentCounter.counts(in: volume, scope: .serial(flag)) }
    }

    @Test("measurements have the count, and the share of the largest component")
    func measured() throws {
        var labels = PlainLabels(9, 8, 7)
        for i in 0..<3 { labels[Voxel(i, 1, 1)] = 2 }
        labels[Voxel(6, 1, 1)] = 2
        let found = try LabelMeasurement.measure(
            labels: labels.volume(),
            image: nil,
            values: [2, 3],
            connectivity: .corners,
            scope: .serial()
        )
        #expect(found.map(\.components) == [2, 0])
        #expect(found.map(\.largestComponentShare) == [0.75, nil])
        let without = try LabelMeasurement.measure(labels: labels.volume(), image: nil, values: [2], scope: .serial())
        #expect(without[0].components == nil)
    }

    @Test(
        "random volumes agree with a flood fill",
        arguments: Connectivity.allCases,
        [(1, 0.5), (1, 0.7), (1, 0.85), (2, 0.3), (3, 0.0), (3, 0.6)]
    )
    func random(connectivity: Connectivity, mixture: (labels: Int, empty: Double)) throws {
        for seed in UInt64(0)..<6 {
            try expectAgreement(
                .random(9, 8, 19, labels: mixture.labels, empty: mixture.empty, seed: seed),
                connectivity
            )
        }
    }

    @Test(
        "volumes thin along one or two axes agree with a flood fill",
        arguments: Connectivity.allCases,
        [(1, 1, 40), (1, 40, 1), (40, 1, 1), (1, 9, 9), (9, 1, 9), (9, 9, 1), (1, 1, 1), (2, 2, 2)]
    )
    func thin(connectivity: Connectivity, size: (Int, Int, Int)) throws {
        for seed in UInt64(10)..<14 {
            try expectAgreement(.random(size.0, size.1, size.2, labels: 2, empty: 0.4, seed: seed), connectivity)
        }
    }

    @Test("nothing is no component", arguments: Connectivity.allCases)
    func empty(connectivity: Connectivity) throws {
        let found = try ConnectedComponents(
            of: PlainLabels(5, 6, 7).volume(),
            connectivity: connectivity,
            scope: .serial()
        )
        #expect(found.components.isEmpty)
    }

    @Test("a full volume is one component", arguments: Connectivity.allCases)
    func full(connectivity: Connectivity) throws {
        let labels = PlainLabels(5, 6, 20) { _ in 9 }
        let found = try ConnectedComponents(of: labels.volume(), connectivity: connectivity, scope: .serial())
        #expect(found.components.map(\.voxelCount) == [600])
    }

    @Test("a checkerboard falls apart by faces and holds by edges", arguments: Connectivity.allCases)
    func checkerboard(connectivity: Connectivity) throws {
        let labels = PlainLabels(7, 6, 17) { UInt16(($0.i + $0.j + $0.k) % 2) }
        let found = try ConnectedComponents(of: labels.volume(), connectivity: connectivity, scope: .serial())
        #expect(found.components.count == (connectivity == .faces ? labels.count(of: 1) : 1))
        try expectAgreement(labels, connectivity)
    }

    @Test("two voxels that share only a corner connect by corners alone")
    func corner() throws {
        let labels = PlainLabels(2, 2, 2) { $0 == Voxel(0, 0, 0) || $0 == Voxel(1, 1, 1) ? 1 : 0 }
        let counts = try Connectivity.allCases.map {
            try ConnectedComponents(of: labels.volume(), connectivity: $0, scope: .serial()).components.count
        }
        #expect(counts == [2, 2, 1])
    }

    @Test("one label alone, and the background, can be asked for")
    func single() throws {
        let labels = PlainLabels.random(8, 9, 10, labels: 3, empty: 0.4, seed: 77)
        for value in UInt16(0)...4 {
            let expected = FloodFill.components(of: labels, .edges) { $0 == value }
            let found = try ConnectedComponents(
                of: labels.volume(),
                only: value,
                connectivity: .edges,
                scope: .serial()
            )
            #expect(try painted(found, labels.values.count) == FloodFill.painted(expected, labels.shape))
        }
    }

    @Test("a comb whose teeth meet in the last slice is one component, wherever slabs are cut")
    func comb() throws {
        let labels = PlainLabels(33, 3, 30) { $0.k == 29 || $0.i % 2 == 0 ? 1 : 0 }
        try expectAgreement(labels, .faces)
    }

    @Test("the result is the same for 1, 2 and 5 threads", arguments: Connectivity.allCases)
    func widths(connectivity: Connectivity) async throws {
        let labels = try PlainLabels.random(40, 41, 42, labels: 3, empty: 0.55, seed: 5).volume()
        let results = try await resultsForWidths { scope in
            let found = try ConnectedComponents(of: labels, connectivity: connectivity, scope: scope)
            let buffer = try found.painted()
            return (0..<buffer.count).map { buffer[$0] }
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
    }

    @Test("a raised flag stops the search")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let labels = try PlainLabels(4, 4, 4).volume()
        #expect(throws: CancelledError.self) {
            try ConnectedComponents(of: labels, connectivity: .faces, scope: .serial(flag))
        }
    }
}
