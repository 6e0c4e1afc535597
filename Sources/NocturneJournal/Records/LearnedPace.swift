/// How long items take, learned from those that were completed: seconds a tile, one figure for each model.
public struct LearnedPace: Codable, Sendable, Equatable {
    private var secondsPerStep: [String: Double] = [:]

    public init() {}

    /// A new item counts as much as all before it together: machines change.
    public mutating func learn(model: String, seconds: Double, steps: Int) {
        let new = seconds / Double(max(steps, 1))
        secondsPerStep[model] = secondsPerStep[model].map { ($0 + new) / 2 } ?? new
    }

    /// Nil for a model of which nothing was completed yet.
    public func seconds(model: String, steps: Int) -> Double? {
        secondsPerStep[model].map { $0 * Double(max(steps, 1)) }
    }
}
