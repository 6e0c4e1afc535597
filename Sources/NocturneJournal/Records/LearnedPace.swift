/// What items of each model take, learned from those that were completed: seconds a tile, and bytes on the disk.
public struct LearnedPace: Codable, Sendable, Equatable {
    /// What results of one model take on the disk, as a share of the prediction.
    private struct DiskUse: Codable, Equatable {
        var largestShare: Double
        var count: Int
    }

    /// From this number of results on, the share that they took is used.
    private static let believedCount = 3
    /// Results differ: twice the largest share so far is planned.
    private static let margin = 2.0

    private var secondsPerStep: [String: Double] = [:]
    /// Nil until a result was measured.
    private var diskUse: [String: DiskUse]?

    /// Without anything learned.
    public init() {}

    /// A new item counts as much as all before it together: machines change.
    public mutating func learn(model: String, seconds: Double, steps: Int) {
        // At least one step: items of models without tiles count as one.
        let new = seconds / Double(max(steps, 1))
        secondsPerStep[model] = secondsPerStep[model].map { ($0 + new) / 2 } ?? new
    }

    /// Nil for a model of which nothing was completed yet.
    public func seconds(model: String, steps: Int) -> Double? {
        secondsPerStep[model].map { $0 * Double(max(steps, 1)) }
    }

    /// A result took `bytes` where `predicted` bytes were expected.
    public mutating func learn(model: String, diskBytes bytes: Int, predicted: Int) {
        guard bytes > 0, predicted > 0 else { return }
        var use = diskUse?[model] ?? DiskUse(largestShare: 0, count: 0)
        use.largestShare = max(use.largestShare, Double(bytes) / Double(predicted))
        use.count += 1
        diskUse = (diskUse ?? [:]).merging([model: use]) { $1 }
    }

    /// What a result will probably take that was predicted from its header alone, and never more than that.
    public func diskBytes(model: String, predicted: Int) -> Int {
        guard let use = diskUse?[model], use.count >= Self.believedCount else { return predicted }
        return min(predicted, Int((Double(predicted) * use.largestShare * Self.margin).rounded(.up)))
    }
}
