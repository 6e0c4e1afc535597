import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Morphology of labels")
struct MorphologyTests {
    private static let spacings = [SIMD3(1, 1, 1), SIMD3(0.7, 0.7, 2.5), SIMD3(3, 1.1, 0.9)]

    private func changed(
        _ labels: PlainLabels,
        _ steps: [MorphologyStep],
        spacing: SIMD3<Double> = SIMD3(1, 1, 1),
        scope: ComputeScope = .serial()
    ) throws -> (labels: PlainLabels, report: [LabelCleaning]) {
        var report: [LabelCleaning] = []
        let result = try labels.changed { buffer in
            report = try LabelCleaner.apply(
                PostprocessRules(morphology: steps),
                to: &buffer,
                geometry: VolumeGeometry(shape: labels.shape, affine: .scaling(spacing)),
                scope: scope
            )
        }
        return (result, report)
    }

    /// Blobs of several labels that meet, reach the border, and leave narrow gaps.
    private func blobs(seed: UInt64, labels: Int) -> PlainLabels {
        var dice = SplitMix64(seed: seed)
        let centres = (0..<7).map { _ in
            SIMD3(
                Int.random(in: 0..<13, using: &dice),
                Int.random(in: 0..<11, using: &dice),
                Int.random(in: 0..<9, using: &dice)
            )
        }
        return PlainLabels(13, 11, 9) { voxel in
            for (index, centre) in centres.enumerated() {
                let step = SIMD3(voxel.i, voxel.j, voxel.k) &- centre
                if (step &* step).wrappedSum() <= 5 + index % 3 * 3 { return UInt16(1 + index % labels) }
            }
            return 0
        }
    }

    @Test(
        "every operation agrees with its definition, voxel by voxel",
        arguments: MorphologyStep.Operation.allCases,
        [1, 3]
    )
    func agrees(operation: MorphologyStep.Operation, labelCount: Int) throws {
        for (place, spacing) in Self.spacings.enumerated() {
            for size in operation == .smooth ? [0.6, 1.5] : [0.9, 2.1, 3.4] {
                for seed in UInt64(0)..<3 {
                    let labels =
                        seed == 0
                        ? PlainLabels.random(10, 9, 8, labels: labelCount, empty: 0.4, seed: UInt64(place))
                        : blobs(seed: seed, labels: labelCount)
                    let step = MorphologyStep(operation, labels: labelCount > 1 ? [3, 0, 1] : [1], millimetres: size)
                    let expected = SlowMorphology(spacing: spacing).applied(step, to: labels)
                    let (result, report) = try changed(labels, [step], spacing: spacing)
                    #expect(result == expected, "spacing \(spacing), size \(size), seed \(seed)")
                    for entry in report {
                        let pairs = zip(labels.values, result.values)
                        let added = pairs.count { $0 != entry.value && $1 == entry.value }
                        let removed = pairs.count { $0 == entry.value && $1 != entry.value }
                        #expect(entry.morphology == MorphologyStep.Change(voxelsAdded: added, voxelsRemoved: removed))
                    }
                    #expect(report.map(\.value) == (labelCount > 1 ? [1, 3] : [1]))
                }
            }
        }
    }

    @Test("a ball reaches exactly its radius along every axis, and its end counts")
    func reach() throws {
        let labels = PlainLabels(21, 21, 21) { $0 == Voxel(10, 10, 10) ? 4 : 0 }
        let step = MorphologyStep(.dilate, labels: [4], millimetres: 2.1)
        let result = try changed(labels, [step], spacing: SIMD3(0.7, 0.3, 2.1)).labels
        for (voxel, isIn) in [
            (Voxel(13, 10, 10), true), (Voxel(14, 10, 10), false), (Voxel(10, 17, 10), true),
            (Voxel(10, 18, 10), false),
            (Voxel(10, 10, 11), true), (Voxel(11, 10, 11), false), (Voxel(10, 10, 12), false),
        ] {
            #expect(result[voxel] == (isIn ? 4 : 0), "\(voxel)")
        }
    }

    @Test("between two labels the nearer one takes the background, the lower value at equal distances")
    func meeting() throws {
        let labels = PlainLabels(9, 1, 1) { [0: 5, 8: 2][$0.i] ?? 0 }
        let both = try changed(labels, [MorphologyStep(.dilate, labels: [5, 2], millimetres: 8)]).labels
        #expect(both.values == [5, 5, 5, 5, 2, 2, 2, 2, 2])
        let one = try changed(labels, [MorphologyStep(.dilate, labels: [5], millimetres: 20)]).labels
        #expect(one.values == [5, 5, 5, 5, 5, 5, 5, 5, 2])
        let gap = PlainLabels(5, 1, 1) { [0: 2, 1: 1, 3: 1, 4: 2][$0.i] ?? 0 }
        let closed = try changed(gap, [MorphologyStep(.close, labels: [2, 1], millimetres: 2)]).labels
        #expect(closed.values == [2, 1, 1, 1, 2])
    }

    @Test("a label that fills the volume or meets its border does not recede from it")
    func border() throws {
        let full = PlainLabels(6, 5, 4) { _ in 1 }
        let half = PlainLabels(10, 10, 10) { $0.i < 5 ? 1 : 0 }
        for operation in [MorphologyStep.Operation.open, .close, .smooth] {
            #expect(try changed(full, [MorphologyStep(operation, labels: [1], millimetres: 3)]).labels == full)
            #expect(try changed(half, [MorphologyStep(operation, labels: [1], millimetres: 2)]).labels == half)
        }
        #expect(try changed(full, [MorphologyStep(.erode, labels: [1], millimetres: 100)]).labels == full)
        let eroded = try changed(half, [MorphologyStep(.erode, labels: [1], millimetres: 2)]).labels
        #expect(eroded == PlainLabels(10, 10, 10) { $0.i < 3 ? 1 : 0 })
    }

    @Test("opening removes a thin bridge, closing fills a narrow gap, and both keep the rest")
    func bridge() throws {
        // Closing also fills what is narrow between a label and the border, so the cubes are far from it.
        let cubes = PlainLabels(24, 13, 13) { voxel in
            let isInside = (3...9).contains(voxel.j) && (3...9).contains(voxel.k)
            return isInside && ((3...8).contains(voxel.i) || (12...20).contains(voxel.i)) ? 1 : 0
        }
        var bridged = cubes
        for i in 9...11 { bridged[Voxel(i, 6, 6)] = 1 }
        let opened = try changed(bridged, [MorphologyStep(.open, labels: [1], millimetres: 1)])
        #expect(opened.labels.count(of: 1) < cubes.count(of: 1))
        // A ball in the cube reaches its first voxel.
        #expect((9...11).map { opened.labels[Voxel($0, 6, 6)] } == [1, 0, 1])
        #expect(opened.report[0].componentsFound == 2)
        let closed = try changed(cubes, [MorphologyStep(.close, labels: [1], millimetres: 2)]).labels
        #expect(closed[Voxel(10, 6, 6)] == 1 && closed[Voxel(10, 1, 6)] == 0)
        #expect(zip(cubes.values, closed.values).allSatisfy { $0 == 0 || $1 == 1 })
    }

    @Test("steps follow one another and come before the other rules; their changes add up")
    func order() throws {
        let labels = PlainLabels(9, 1, 1) { [1, 3, 5, 7].contains($0.i) ? 1 : 0 }
        let rules = PostprocessRules(
            keepLargest: [[1]],
            morphology: [
                MorphologyStep(.close, labels: [1], millimetres: 1),
                MorphologyStep(.dilate, labels: [1], millimetres: 1),
                MorphologyStep(.dilate, labels: [9], millimetres: 1),
            ]
        )
        for bytes in [0, Int.max] {
            var report: [LabelCleaning] = []
            let result = try labels.changed { buffer in
                let geometry = VolumeGeometry(shape: labels.shape, affine: .identity)
                report = try LabelCleaner.apply(rules, to: &buffer, geometry: geometry, within: bytes, scope: .serial())
            }
            #expect(result.count(of: 1) == 9)
            #expect(
                report == [
                    LabelCleaning(value: 1, componentsFound: 1, morphology: MorphologyStep.Change(voxelsAdded: 5)),
                    LabelCleaning(value: 9, morphology: MorphologyStep.Change()),
                ]
            )
        }
    }

    @Test("the result is the same for 1, 2 and 5 threads, and the memory is as predicted")
    func widths() async throws {
        let labels = PlainLabels.random(40, 30, 25, labels: 3, empty: 0.3, seed: 9)
        let steps = MorphologyStep.Operation.allCases.map { MorphologyStep($0, labels: [1, 2], millimetres: 1.2) }
        let results = try await resultsForWidths { scope in try changed(labels, steps, scope: scope).labels }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
        let shape = labels.shape
        let bytes = steps.map {
            LabelCleaner.morphologyBytes(of: PostprocessRules(morphology: [$0]), shape: shape, threads: 2) / shape.count
        }
        #expect(bytes.allSatisfy { (4...20).contains($0) })
        #expect(LabelCleaner.morphologyBytes(of: PostprocessRules(), shape: shape, threads: 2) == 0)
    }

    @Test("a raised flag stops every operation", arguments: MorphologyStep.Operation.allCases)
    func cancelled(operation: MorphologyStep.Operation) throws {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            _ = try changed(
                PlainLabels(4, 4, 4) { _ in 1 },
                [MorphologyStep(operation, labels: [1], millimetres: 1)],
                scope: .serial(flag)
            )
        }
    }
}
