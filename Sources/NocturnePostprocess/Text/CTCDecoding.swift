/// Greedy decoding of the outputs of a network with connectionist temporal classification (Graves et al. 2006).
public struct CTCDecoding: Hashable, Sendable {
    /// The classes that were read, without blanks and repetitions.
    public let classes: [Int]
    /// The mean of their probabilities, 0...1; 0 for nothing.
    public let confidence: Float

    /// At each step the class with the highest probability counts, the first of equal ones; then repetitions are one, and blanks
    /// (class 0) nothing.
    /// - Parameters:
    ///   - values: probabilities `[steps][classes]`; a rest that fills no step is ignored.
    ///   - classCount: the number of classes with the blank, at least 1.
    /// - Throws: ``NetworkOutputError`` for values that are not finite.
    public init(_ values: [Float], classCount: Int) throws(NetworkOutputError) {
        var classes: [Int] = []
        var sum = 0.0
        var previous = 0
        for step in 0..<values.count / classCount {
            let (best, value) = Self.highest(values, step * classCount..<(step + 1) * classCount)
            guard value.isFinite else { throw NetworkOutputError(detail: "probabilities of letters are not numbers") }
            defer { previous = best }
            guard best != 0, best != previous else { continue }
            classes.append(best)
            sum += Double(value)
        }
        self.classes = classes
        confidence = classes.isEmpty ? 0 : Float(min(max(sum / Double(classes.count), 0), 1))
    }

    /// The index of the highest value and that value; a value that is not a number counts as the highest.
    private static func highest(_ values: [Float], _ range: Range<Int>) -> (index: Int, value: Float) {
        var best = (index: 0, value: -Float.infinity)
        values.withUnsafeBufferPointer { values in
            for place in range where !(values[place] <= best.value) {
                best = (place - range.lowerBound, values[place])
                if best.value.isNaN { return }
            }
        }
        return best
    }
}
