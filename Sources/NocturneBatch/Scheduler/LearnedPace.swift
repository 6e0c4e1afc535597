/// How long items take, learned from those that were completed: seconds a tile, one figure for each model.
package struct LearnedPace: Codable, Hashable, Sendable {
    private var secondsPerStep: [String: Double] = [:]

    package init() {}

    /// Later items count as much as all before them together: machines change.
    package mutating func learn(model: String, seconds: Double, steps: Int) {
        let new = seconds / Double(max(steps, 1))
        secondsPerStep[model] = secondsPerStep[model].map { ($0 + new) / 2 } ?? new
    }

    /// Nil for a model of which nothing was completed yet.
    package func seconds(model: String, steps: Int) -> Double? {
        secondsPerStep[model].map { $0 * Double(max(steps, 1)) }
    }
}
