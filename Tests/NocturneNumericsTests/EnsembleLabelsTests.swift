import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

/// Logits of one network on a grid of its own.
private struct MemberLogits {
    let shape: VolumeShape
    let planes: [[Float]]

    init(_ shape: VolumeShape, planes: [[Float]]) {
        self.shape = shape
        self.planes = planes
    }

    init(_ shape: VolumeShape, classes: Int, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        self.shape = shape
        planes = (0..<shape.z).map { _ in random.floats(classes * shape.sliceCount, in: -6..<6) }
    }

    func member(of box: VolumeShape) throws -> EnsemblePlanes.Member {
        try EnsemblePlanes.Member(
            model: shape,
            box: box,
            rule: ResamplingRule(order: .linear),
            separateAxis: nil
        )
    }

    /// The interpolated logit of a class, in double precision.
    func value(_ c: Int, _ place: SIMD3<Int>, of box: VolumeShape) -> Double {
        var sum = 0.0
        let taps = (0..<3).map { axis -> [(Int, Double)] in
            let n = shape[axis]
            let u = (Double(place[axis]) + 0.5) * (Double(n) / Double(box[axis])) - 0.5
            let floor = u.rounded(.down)
            func clamped(_ index: Double) -> Int { min(max(Int(index), 0), n - 1) }
            return [(clamped(floor), 1 - (u - floor)), (clamped(floor + 1), u - floor)]
        }
        for (z, wz) in taps[2] {
            for (y, wy) in taps[1] {
                for (x, wx) in taps[0] {
                    sum += wz * wy * wx * Double(planes[z][c * shape.sliceCount + y * shape.x + x])
                }
            }
        }
        return sum
    }
}

@Suite("Labels of an ensemble")
struct EnsembleLabelsTests {
    private static let classes = 4
    private static let native = VolumeShape(x: 23, y: 14, z: 12)
    private static let box = VoxelBox(lower: SIMD3(2, 1, 3), upper: SIMD3(21, 14, 11))

    private func labels(
        _ members: [MemberLogits],
        _ decision: LabelDecision,
        from slice: Int = 0,
        scope: ComputeScope
    ) throws -> [UInt16] {
        try labelled(members, decision, from: slice, scope: scope).labels
    }

    private func labelled(
        _ members: [MemberLogits],
        _ decision: LabelDecision,
        from slice: Int = 0,
        scope: ComputeScope
    ) throws -> (labels: [UInt16], tally: ConfidenceTally) {
        var tally = ConfidenceTally()
        var labeler = try SliceLabeler(
            try members.map { try $0.member(of: Self.box.shape) },
            native: Self.native,
            box: Self.box,
            decision: decision,
            resumingAtSlice: slice
        )
        var labels = try VoxelBuffer<UInt16>(count: Self.native.count)
        while !labeler.isFinished {
            for (index, member) in members.enumerated() {
                while let plane = labeler.planes.neededPlane(of: index) {
                    try member.planes[plane].withUnsafeBufferPointer { try labeler.planes.push($0, of: index) }
                }
            }
            try labeler.labelSlice(into: &labels, tally: &tally, scope: scope)
        }
        #expect(labeler.finishedSlices == Self.native.z)
        return (labels.array(), tally)
    }

    /// The mean probabilities of a voxel of the box, in double precision.
    private func probabilities(_ members: [MemberLogits], _ place: SIMD3<Int>, isRegions: Bool) -> [Double] {
        var sums = [Double](repeating: 0, count: Self.classes)
        for member in members {
            let logits = (0..<Self.classes).map { member.value($0, place, of: Self.box.shape) }
            if isRegions {
                for (c, logit) in logits.enumerated() { sums[c] += 1 / (1 + exp(-logit)) }
            } else {
                let total = logits.reduce(0) { $0 + exp($1) }
                for (c, logit) in logits.enumerated() { sums[c] += exp(logit) / total }
            }
        }
        return sums.map { $0 / Double(members.count) }
    }

    /// The probabilities of some classes in the slices of the box, from `slice` on.
    private func maps(
        _ members: [MemberLogits],
        _ probabilities: ClassProbabilities,
        from slice: Int = 0,
        scope: ComputeScope
    ) throws -> [UInt8] {
        let planes = try EnsemblePlanes(
            members: try members.map { try $0.member(of: Self.box.shape) },
            box: Self.box.shape,
            classes: Self.classes,
            resumingAtSlice: slice
        )
        var bytes: [UInt8] = []
        var one = try VoxelBuffer<UInt8>(count: probabilities.classes.count * Self.box.shape.sliceCount)
        while !planes.isFinished {
            for (index, member) in members.enumerated() {
                while let plane = planes.neededPlane(of: index) {
                    try member.planes[plane].withUnsafeBufferPointer {
                        try planes.push($0, of: index)
                        while planes.isComplete {
                            try probabilities.nextSlice(of: planes, into: &one, scope: scope)
                            bytes += one.array()
                            planes.advance()
                        }
                    }
                }
            }
        }
        return bytes
    }

    @Test("Maps hold the mean probabilities in steps of 1/255, for any number of threads", arguments: [false, true])
    func maps(isRegions: Bool) async throws {
        let decision: LabelDecision =
            isRegions ? .regions(labels: [5, 6, 7, 8]) : .largestLogit(labels: [0, 3, 9, 2])
        let probabilities = ClassProbabilities(decision, of: [3, 1])
        let members = members
        let found = try await resultsForWidths { try maps(members, probabilities, scope: $0) }
        #expect(found.dropFirst().allSatisfy { $0 == found[0] })
        let shape = Self.box.shape
        #expect(found[0].count == shape.count * 2)
        var worst = 0.0
        for index in 0..<shape.count {
            let place = SIMD3(index % shape.x, index / shape.x % shape.y, index / shape.sliceCount)
            let expected = self.probabilities(members, place, isRegions: isRegions)
            for (order, c) in [3, 1].enumerated() {
                let byte = found[0][(place.z * 2 + order) * shape.sliceCount + index % shape.sliceCount]
                worst = max(worst, abs(Double(byte) - expected[c] * 255))
            }
        }
        #expect(worst > 0.4 && worst < 0.5 + 1e-3)
        for slice in 0...shape.z {
            let rest = try maps(members, probabilities, from: slice, scope: .serial())
            #expect(rest[...] == found[0][(slice * 2 * shape.sliceCount)...])
        }
    }

    @Test("Maps of one network on the voxels of the volume are those of its own logits")
    func direct() throws {
        let decision = LabelDecision.largestLogit(labels: [0, 3, 9, 2])
        let member = MemberLogits(Self.box.shape, classes: Self.classes, seed: 3)
        let found = try maps([member], ClassProbabilities(decision, of: [2]), scope: .serial())
        let shape = Self.box.shape
        var worst = 0.0
        for index in 0..<shape.count {
            let place = SIMD3(index % shape.x, index / shape.x % shape.y, index / shape.sliceCount)
            let expected = self.probabilities([member], place, isRegions: false)[2] * 255
            worst = max(worst, abs(Double(found[index]) - expected))
        }
        #expect(worst > 0.4 && worst < 0.5 + 1e-3)
    }

    @Test("Planes of probabilities are interpolated as they are", arguments: [false, true])
    func interpolated(isRegions: Bool) throws {
        let decision: LabelDecision =
            isRegions ? .regions(labels: [5, 6, 7, 8]) : .largestLogit(labels: [0, 3, 9, 2])
        let logits = MemberLogits(VolumeShape(x: 9, y: 8, z: 7), classes: Self.classes, seed: 4)
        let converter = try PlaneProbabilities(model: logits.shape, decision: decision)
        let planes = try logits.planes.map { plane in
            var converted: [Float] = []
            try plane.withUnsafeBufferPointer {
                try converter.withProbabilities(of: $0, scope: .serial()) { converted = Array($0) }
            }
            return converted
        }
        let member = MemberLogits(logits.shape, planes: planes)
        let found = try maps(
            [member],
            ClassProbabilities(decision, of: [2], form: .probabilities),
            scope: .serial()
        )
        let shape = Self.box.shape
        var worst = 0.0
        for index in 0..<shape.count {
            let place = SIMD3(index % shape.x, index / shape.x % shape.y, index / shape.sliceCount)
            // The planes of regions hold one half less.
            let expected = member.value(2, place, of: shape) + (isRegions ? 0.5 : 0)
            worst = max(worst, abs(Double(found[index]) - expected * 255))
        }
        #expect(worst > 0.4 && worst < 0.5 + 1e-3)
    }

    private var members: [MemberLogits] {
        [
            MemberLogits(VolumeShape(x: 9, y: 8, z: 7), classes: Self.classes, seed: 1),
            MemberLogits(VolumeShape(x: 30, y: 20, z: 5), classes: Self.classes, seed: 2),
            MemberLogits(Self.box.shape, classes: Self.classes, seed: 3),
        ]
    }

    @Test("have their mean probabilities as confidence", arguments: [false, true])
    func confidence(isRegions: Bool) async throws {
        let values: [UInt16] = isRegions ? [5, 6, 7, 8] : [0, 3, 9, 2]
        let decision: LabelDecision = isRegions ? .regions(labels: values) : .largestLogit(labels: values)
        let members = members
        let (labels, tally) = try labelled(members, decision, scope: .serial())
        let again = try await resultsForWidths {
            try labelled(members, decision, scope: $0).tally.confidence(agreement: []).count
        }
        #expect(Set(again).count == 1)
        var (sums, counts): ([UInt16: Double], [UInt16: Int]) = ([:], [:])
        let shape = Self.box.shape
        for index in 0..<shape.count {
            let place = SIMD3(index % shape.x, index / shape.x % shape.y, index / shape.sliceCount)
            let whole = place &+ Self.box.lower
            let label = labels[Self.native.offset(whole.x, whole.y, whole.z)]
            guard label != 0, let c = values.firstIndex(of: label) else { continue }
            sums[label, default: 0] += probabilities(members, place, isRegions: isRegions)[c]
            counts[label, default: 0] += 1
        }
        let found = tally.confidence(agreement: [])
        #expect(Set(found.keys) == Set(counts.keys) && counts.count > 2)
        for (label, sum) in sums {
            #expect(abs((found[label]?.meanProbability ?? 0) - sum / Double(counts[label] ?? 0)) < 2e-6)
        }
    }

    @Test(
        "are those of the mean probabilities on every grid, for any number of threads",
        arguments: [nil, 0.5, 0.2] as [Double?]
    )
    func mean(threshold: Double?) async throws {
        let isRegions = threshold != nil
        let values: [UInt16] = isRegions ? [5, 6, 7, 8] : [0, 3, 9, 2]
        let decision = threshold.map { LabelDecision(regions: values, threshold: $0) } ?? .largestLogit(labels: values)
        let limit = threshold ?? 0
        let members = members
        let found = try await resultsForWidths { try labels(members, decision, scope: $0) }
        #expect(found.dropFirst().allSatisfy { $0 == found[0] })
        var (compared, wrong) = (0, 0)
        for index in 0..<Self.native.count {
            let whole = SIMD3(
                index % Self.native.x,
                index / Self.native.x % Self.native.y,
                index / Self.native.sliceCount
            )
            guard (0..<3).allSatisfy({ (Self.box.lower[$0]..<Self.box.upper[$0]).contains(whole[$0]) }) else {
                wrong += found[0][index] == 0 ? 0 : 1
                continue
            }
            let means = probabilities(members, whole &- Self.box.lower, isRegions: isRegions)
            let sorted = means.sorted()
            // Sums in single precision decide ties differently.
            let isTie = isRegions ? means.contains { abs($0 - limit) < 1e-5 } : sorted[3] - sorted[2] < 1e-5
            guard !isTie else { continue }
            compared += 1
            let winner = isRegions ? means.lastIndex { $0 > limit } : means.firstIndex(of: sorted[3])
            wrong += found[0][index] == (winner.map { values[$0] } ?? 0) ? 0 : 1
        }
        #expect(wrong == 0)
        #expect(compared > Self.box.shape.count * 99 / 100)
    }

    @Test("are the same when they resume at any slice")
    func resuming() throws {
        let decision = LabelDecision.largestLogit(labels: [0, 1, 2, 3])
        let whole = try labels(members, decision, scope: .serial())
        for slice in 0...Self.native.z {
            let rest = try labels(members, decision, from: slice, scope: .serial())
            let start = slice * Self.native.sliceCount
            #expect(rest[start...] == whole[start...] && rest[..<start].allSatisfy { $0 == 0 })
        }
    }

    // The slices are at (k + 1/2) · 10 / 3 − 1/2: between the planes 1 and 2, 4 and 5, 7 and 8.
    @Test("resume behind the planes of the slices before", arguments: [(0, 1), (1, 3), (2, 6), (3, 10)])
    func resumingPlane(slice: Int, plane: Int) throws {
        let member = MemberLogits(VolumeShape(x: 2, y: 2, z: 10), classes: 1, seed: 1)
        let box = VolumeShape(x: 2, y: 2, z: 3)
        let members = [try member.member(of: box)]
        let planes = try EnsemblePlanes(members: members, box: box, classes: 1, resumingAtSlice: slice)
        #expect(planes.nextPlane(of: 0) == plane)
    }
}
