import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Confidence in labels")
struct ConfidenceTests {
    /// Rows of labels, and one probability for all, but for places given.
    private func tally(_ rows: [[UInt16]], _ probability: Float, except: [Int: Float] = [:]) -> ConfidenceTally {
        var tally = ConfidenceTally()
        let labels = rows.flatMap(\.self)
        let probabilities = labels.indices.map { except[$0] ?? probability }
        tally.add(plane: 0, width: rows[0].count, labels: labels, probabilities: probabilities)
        return tally
    }

    private let square: [[UInt16]] = [
        [0, 0, 0, 0, 0],
        [0, 2, 2, 2, 0],
        [0, 2, 2, 2, 0],
        [0, 2, 2, 2, 7],
        [0, 0, 0, 0, 7],
    ]

    @Test("The mean is over the voxels of a label, the share over its boundary")
    func meanAndShare() {
        // The middle of the square is no boundary; one corner is uncertain.
        let found = tally(square, 0.875, except: [12: 0.5, 6: 0.625, 19: 0.25]).confidence(agreement: [])
        #expect(found.keys.sorted() == [2, 7])
        #expect(found[2]?.meanProbability == (7 * 0.875 + 0.5 + 0.625) / 9)
        #expect(found[2]?.uncertainBoundaryShare == 1.0 / 8)
        #expect(found[7]?.meanProbability == (0.25 + 0.875) / 2)
        #expect(found[7]?.uncertainBoundaryShare == 0.5)
    }

    @Test("A label that fills the plane has no boundary; 0 is not counted")
    func noBoundary() {
        let found = tally([[3, 3], [3, 3]], 0.5).confidence(agreement: [])
        #expect(found == [3: LabelConfidence(meanProbability: 0.5, uncertainBoundaryShare: nil)])
        #expect(tally([[0, 0]], 0.5).confidence(agreement: []).isEmpty)
    }

    @Test("A plane that is added again replaces the earlier one, and a stored tally goes on")
    func again() throws {
        var tally = tally(square, 0.25)
        let labels = square.flatMap(\.self)
        tally.add(plane: 0, width: 5, labels: labels, probabilities: [Float](repeating: 0.75, count: 25))
        var restored = try JSONDecoder().decode(ConfidenceTally.self, from: JSONEncoder().encode(tally))
        #expect(restored == tally && tally.confidence(agreement: [])[2]?.meanProbability == 0.75)
        restored.add(plane: 1, width: 5, labels: labels, probabilities: [Float](repeating: 0.25, count: 25))
        #expect(restored.confidence(agreement: [])[2]?.meanProbability == 0.5)
        #expect(restored.confidence(agreement: [])[2]?.uncertainBoundaryShare == 0.5)
    }

    @Test(
        "Damaged sums are refused",
        arguments: [#"{"planes":{"0":{"2":[1,2,3]}}}"#, #"{"planes":{"0":{"2":[1,2,3,-4]}}}"#]
    )
    func damaged(text: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ConfidenceTally.self, from: Data(text.utf8))
        }
    }

    @Test("Probabilities of logits are those of softmax, or of the region that is chosen", arguments: [false, true])
    func logits(isRegions: Bool) async throws {
        let (width, height, classes) = (301, 7, 5)
        let values: [UInt16] = isRegions ? [4, 1, 3, 9, 2] : [0, 4, 1, 9, 3]
        var random = SplitMix64(seed: 11)
        let count = width * height
        // The last rows are background, where classes are not compared.
        let logits = random.floats(classes * count, in: -5..<5).enumerated().map { index, value -> Float in
            index % count / width < 5 ? value : index / count == 0 && !isRegions ? 9 : -9
        }
        let decision: LabelDecision = isRegions ? .regions(labels: values) : .largestLogit(labels: values)
        let means = try await resultsForWidths { scope in
            var tally = ConfidenceTally()
            try logits.withUnsafeBufferPointer {
                try LogitConfidence(decision, width: width, height: height)
                    .add($0, plane: 0, to: &tally, scope: scope)
            }
            return tally.confidence(agreement: []).sorted { $0.key < $1.key }
                .map { [Double($0.key), $0.value.meanProbability] }
        }
        #expect(means.dropFirst().allSatisfy { $0 == means[0] })
        var (sums, counts): ([UInt16: Double], [UInt16: Double]) = ([:], [:])
        for place in 0..<count {
            let own = (0..<classes).map { Double(logits[$0 * count + place]) }
            let chosen =
                isRegions
                ? own.lastIndex { $0 > 0 } : own.firstIndex(of: own.max() ?? 0)
            guard let chosen, values[chosen] != 0 else { continue }
            let total = own.reduce(0) { $0 + exp($1) }
            sums[values[chosen], default: 0] += isRegions ? 1 / (1 + exp(-own[chosen])) : exp(own[chosen]) / total
            counts[values[chosen], default: 0] += 1
        }
        #expect(means[0].count == sums.count && sums.count >= 4)
        for found in means[0] {
            let label = UInt16(found[0])
            #expect(abs(found[1] - (sums[label] ?? 0) / (counts[label] ?? 1)) < 2e-6)
        }
    }

    @Test("A plane of another size is refused")
    func size() {
        var tally = ConfidenceTally()
        #expect(throws: NumericsError.self) {
            try [Float](repeating: 0, count: 11).withUnsafeBufferPointer {
                try LogitConfidence(.largestLogit(labels: [0, 1]), width: 3, height: 2)
                    .add($0, plane: 0, to: &tally, scope: .serial())
            }
        }
    }
}
