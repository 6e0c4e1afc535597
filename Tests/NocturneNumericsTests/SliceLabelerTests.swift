import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

/// A case: grids, the box of the native grid that the model saw, classes.
struct LabelCase: Sendable, CustomTestStringConvertible {
    var model: VolumeShape
    var native: VolumeShape
    var box: VoxelBox?
    var classes = 4
    var regions = false
    var separateAxis: Int?

    var testDescription: String {
        "\(model) to \(native), box \(box.map { "\($0)" } ?? "-"), regions \(regions), separate \(separateAxis ?? -1)"
    }

    var decision: LabelDecision {
        let labels = (0..<classes).map { UInt16($0 * 7 % 300) }
        return regions ? .regions(labels: labels.map { $0 + 1 }) : .largestLogit(labels: labels)
    }

    /// Of a single network.
    func labeler(from slice: Int = 0) throws -> SliceLabeler {
        let box = box ?? VoxelBox(all: native)
        let member = try EnsemblePlanes.Member(
            model: model,
            box: box.shape,
            rule: .logits,
            separateAxis: separateAxis
        )
        return try SliceLabeler(
            [member],
            native: native,
            box: box,
            decision: decision,
            resumingAtSlice: slice
        )
    }

    /// Rounded to halves, so that there are ties.
    func logits() -> [[Float]] {
        var random = SplitMix64(seed: 77)
        return (0..<model.z).map { _ in
            random.floats(classes * model.sliceCount, in: -4..<4).map { ($0 * 2).rounded() / 2 }
        }
    }

    static let all = [
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 21, y: 19, z: 16)),
        LabelCase(model: VolumeShape(x: 21, y: 19, z: 16), native: VolumeShape(x: 9, y: 8, z: 7)),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 9, y: 8, z: 7)),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 9, y: 10, z: 7)),
        LabelCase(model: VolumeShape(x: 1, y: 1, z: 1), native: VolumeShape(x: 5, y: 4, z: 6)),
        LabelCase(model: VolumeShape(x: 5, y: 4, z: 6), native: VolumeShape(x: 1, y: 1, z: 1)),
        LabelCase(
            model: VolumeShape(x: 9, y: 8, z: 7),
            native: VolumeShape(x: 21, y: 19, z: 16),
            box: VoxelBox(lower: SIMD3(2, 3, 4), upper: SIMD3(20, 18, 13))
        ),
        LabelCase(
            model: VolumeShape(x: 9, y: 8, z: 7),
            native: VolumeShape(x: 12, y: 11, z: 10),
            box: VoxelBox(lower: SIMD3(2, 1, 3), upper: SIMD3(11, 9, 10))
        ),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 13, y: 12, z: 14), regions: true),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 9, y: 8, z: 7), regions: true),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 13, y: 12, z: 14), separateAxis: 0),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 13, y: 12, z: 14), separateAxis: 1),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 7), native: VolumeShape(x: 13, y: 12, z: 14), separateAxis: 2),
        LabelCase(model: VolumeShape(x: 9, y: 8, z: 14), native: VolumeShape(x: 13, y: 12, z: 5), separateAxis: 2),
        // Rows longer than the kernel's buffers, on either side.
        LabelCase(model: VolumeShape(x: 2500, y: 2, z: 3), native: VolumeShape(x: 7, y: 3, z: 2), classes: 2),
        LabelCase(model: VolumeShape(x: 2, y: 2, z: 3), native: VolumeShape(x: 700, y: 3, z: 4), classes: 2),
        LabelCase(model: VolumeShape(x: 300, y: 2, z: 3), native: VolumeShape(x: 300, y: 2, z: 3), classes: 3),
    ]
}

extension SliceLabeler {
    /// Of a single network, on the whole grid.
    init(
        model: VolumeShape,
        native: VolumeShape,
        decision: LabelDecision,
        rule: ResamplingRule = .logits,
        separateAxis: Int? = nil,
        rounding: Rounding = .single
    ) throws {
        let member = try EnsemblePlanes.Member(
            model: model,
            box: native,
            rule: rule,
            separateAxis: separateAxis
        )
        try self.init(
            [member],
            native: native,
            box: VoxelBox(all: native),
            decision: decision,
            rounding: rounding
        )
    }

    /// The plane that must be pushed next; nil when all slices are labelled.
    var neededPlane: Int? { planes.neededPlane(of: 0) }

    /// Labels the slices that a plane of the single network completes.
    mutating func push(
        _ plane: UnsafeBufferPointer<Float>,
        into labels: inout VoxelBuffer<UInt16>,
        scope: ComputeScope = .serial()
    ) throws {
        var tally = ConfidenceTally()
        try planes.push(plane, of: 0)
        while planes.isComplete { try labelSlice(into: &labels, tally: &tally, scope: scope) }
        // A single network's confidence is that of its own grid.
        #expect(tally == ConfidenceTally())
    }
}

/// Everything at once: interpolate classes × native voxels, then decide.
private func wholeVolume(_ test: LabelCase, _ planes: [[Float]]) -> [UInt16] {
    let box = test.box ?? VoxelBox(all: test.native)
    func taps(_ index: Int, _ axis: Int) -> (Int, Int, Float, Float) {
        let n = test.model[axis]
        let u = (Double(index - box.lower[axis]) + 0.5) * (Double(n) / Double(box.shape[axis])) - 0.5
        if axis == test.separateAxis {
            let nearest = min(max(Int((u + 0.5).rounded(.down)), 0), n - 1)
            return (nearest, nearest, 1, 0)
        }
        let floor = u.rounded(.down)
        let w0 = Float(1 - (u - floor))
        return (min(max(Int(floor), 0), n - 1), min(max(Int(floor) + 1, 0), n - 1), w0, 1 - w0)
    }
    var result = [UInt16](repeating: 0, count: test.native.count)
    for k in box.lower.z..<box.upper.z {
        for j in box.lower.y..<box.upper.y {
            for i in box.lower.x..<box.upper.x {
                let (x, y, z) = (taps(i, 0), taps(j, 1), taps(k, 2))
                let values = (0..<test.classes).map { c -> Float in
                    func at(_ i: Int, _ j: Int, _ k: Int) -> Float {
                        planes[k][c * test.model.sliceCount + j * test.model.x + i]
                    }
                    if test.model == box.shape { return at(x.0, y.0, z.0) }
                    func alongZ(_ i: Int, _ j: Int) -> Float { at(i, j, z.0) * z.2 + at(i, j, z.1) * z.3 }
                    func alongY(_ i: Int) -> Float { alongZ(i, y.0) * y.2 + alongZ(i, y.1) * y.3 }
                    return alongY(x.0) * x.2 + alongY(x.1) * x.3
                }
                var label: UInt16 = 0
                switch test.decision {
                case .regions(let labels, _):
                    for c in 0..<test.classes where values[c] > 0 { label = labels[c] }
                case .largestLogit(let labels):
                    var best = 0
                    for c in 0..<test.classes where values[c] > values[best] { best = c }
                    label = labels[best]
                }
                result[test.native.offset(i, j, k)] = label
            }
        }
    }
    return result
}

/// Labels from `slice` on, pushing what the labeler asks for.
private func stream(
    _ test: LabelCase,
    _ planes: [[Float]],
    from slice: Int,
    into labels: inout VoxelBuffer<UInt16>,
    scope: ComputeScope
) throws {
    var labeler = try test.labeler(from: slice)
    var finished = labeler.finishedSlices
    #expect(finished <= slice || labeler.isFinished)
    while let plane = labeler.neededPlane {
        try planes[plane].withUnsafeBufferPointer { try labeler.push($0, into: &labels, scope: scope) }
        #expect(labeler.finishedSlices >= finished)
        finished = labeler.finishedSlices
    }
    #expect(labeler.isFinished && labeler.finishedSlices == test.native.z)
}

@Suite("Labelling native slices")
struct SliceLabelerTests {
    @Test("equals the whole volume at once, for every number of threads", arguments: LabelCase.all)
    func streaming(test: LabelCase) async throws {
        let planes = test.logits()
        let expected = wholeVolume(test, planes)
        let results = try await resultsForWidths { scope in
            var labels = try VoxelBuffer<UInt16>(count: test.native.count)
            try stream(test, planes, from: 0, into: &labels, scope: scope)
            return labels.array()
        }
        #expect(results.allSatisfy { $0 == expected })
    }

    @Test("goes on from any slice with the same labels", arguments: LabelCase.all)
    func resuming(test: LabelCase) throws {
        let planes = test.logits()
        let expected = wholeVolume(test, planes)
        for slice in 0..<test.native.z {
            var labels = try VoxelBuffer<UInt16>(count: test.native.count)
            for index in 0..<slice * test.native.sliceCount { labels[index] = expected[index] }
            var resumed = try test.labeler(from: slice)
            guard let plane = resumed.neededPlane else { continue }
            try planes[plane].withUnsafeBufferPointer { try resumed.push($0, into: &labels) }
            try stream(test, planes, from: slice, into: &labels, scope: .serial())
            let isEqual = labels.array() == expected
            #expect(isEqual, "from slice \(slice)")
        }
    }

    @Test("a slice is final as soon as its two planes were there")
    func promptness() throws {
        let test = LabelCase(model: VolumeShape(x: 2, y: 2, z: 3), native: VolumeShape(x: 2, y: 2, z: 6))
        var labels = try VoxelBuffer<UInt16>(count: test.native.count)
        var labeler = try test.labeler()
        var ends: [Int] = []
        for plane in test.logits() {
            try plane.withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
            ends.append(labeler.finishedSlices)
        }
        // Slices lie at -0.25, 0.25, 0.75, 1.25, 1.75, 2.25.
        #expect(ends == [1, 3, 6])
    }

    @Test("the boundary between two classes falls where the interpolated logits cross")
    func crossing() throws {
        // Class 1 leads beyond 0.5 of a row of two model voxels: native voxels right of the middle.
        let native = VolumeShape(x: 10, y: 1, z: 1)
        var labeler = try SliceLabeler(
            model: VolumeShape(x: 2, y: 1, z: 1),
            native: native,
            decision: .largestLogit(labels: [0, 9])
        )
        var labels = try VoxelBuffer<UInt16>(count: 10)
        try ([0, 0, -1, 1] as [Float]).withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
        #expect(labels.array() == [0, 0, 0, 0, 0, 9, 9, 9, 9, 9])
    }

    @Test("planes of another size, one too many, and impossible grids are refused")
    func hostile() throws {
        let model = VolumeShape(x: 2, y: 2, z: 1)
        let native = VolumeShape(x: 3, y: 3, z: 3)
        var labeler = try SliceLabeler(model: model, native: native, decision: .largestLogit(labels: [0, 1]))
        var labels = try VoxelBuffer<UInt16>(count: native.count)
        func error(_ count: Int) -> NumericsError? {
            do {
                try [Float](repeating: 0, count: count).withUnsafeBufferPointer {
                    try labeler.push($0, into: &labels)
                }
            } catch { return error as? NumericsError }
            return nil
        }
        #expect(error(7) == .count("plane of logits", expected: 8, found: 7))
        #expect(error(8) == nil)
        #expect(error(8) != nil)
        func refused(
            _ model: VolumeShape,
            _ box: VoxelBox? = nil,
            classes: Int = 2,
            slice: Int = 0
        ) -> Bool {
            do {
                _ = try LabelCase(model: model, native: native, box: box, classes: classes).labeler(from: slice)
            } catch { return error is NumericsError }
            return false
        }
        #expect(refused(VolumeShape(x: 0, y: 2, z: 2)))
        #expect(refused(model, VoxelBox(lower: SIMD3(0, 0, 0), upper: SIMD3(4, 1, 1))))
        #expect(refused(model, classes: 0))
        #expect(refused(model, slice: 4))
        #expect(!refused(model, slice: 3))
    }

    @Test("holds two planes of logits of each network, and none of a single one where grids agree")
    func prediction() {
        let model = VolumeShape(x: 10, y: 20, z: 30)
        func bytes(_ box: VolumeShape, _ members: Int) -> Int {
            SliceLabeler.predictedBytes(model: model, box: box, rule: .logits, classes: 5, members: members)
        }
        let taps = 60 * 32
        #expect(bytes(model, 1) == taps)
        let box = VolumeShape(x: 20, y: 20, z: 20)
        #expect(bytes(box, 1) == taps + 2 * 5 * 200 * 4)
        // Labels and probabilities of a slice, too.
        #expect(bytes(model, 2) == taps + 2 * 5 * 200 * 4 + 200 * 6)
        #expect(bytes(box, 2) == taps + 2 * 5 * 200 * 4 + 400 * 6)
    }
}
