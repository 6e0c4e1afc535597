import NocturneRecipeSupport

/// The urgency of a result, in ascending order.
public enum RiskLevel: String, Sendable, Codable, CaseIterable, Comparable {
    case low, moderate, high

    private var rank: Int {
        switch self {
        case .low: 0
        case .moderate: 1
        case .high: 2
        }
    }

    public static func < (left: RiskLevel, right: RiskLevel) -> Bool { left.rank < right.rank }
}

/// A class whose score reached a threshold of the package.
public struct RiskReason: Hashable, Sendable {
    /// Index of the class in the package.
    public let index: Int
    public let threshold: Double
}

/// The level with its reasons.
public struct RiskAssessment: Hashable, Sendable {
    public let level: RiskLevel
    /// In the order of classes; empty for a low risk.
    public let reasons: [RiskReason]

    /// The highest level that any class reaches. A score equal to a threshold reaches it.
    /// - Parameter probabilities: one per class.
    public init(probabilities: [Double], classes: [PhotoClass], settings: PhotoRiskSettings) {
        let pairs = Array(zip(classes, probabilities).enumerated())
        let high = pairs.filter {
            settings.highClasses.contains($0.element.0.name) && $0.element.1 >= settings.highThreshold
        }
        let moderate = pairs.filter { $0.element.0.isMalignant && $0.element.1 >= settings.moderateThreshold }
        if !high.isEmpty {
            level = .high
            reasons = high.map { RiskReason(index: $0.offset, threshold: settings.highThreshold) }
        } else if !moderate.isEmpty {
            level = .moderate
            reasons = moderate.map { RiskReason(index: $0.offset, threshold: settings.moderateThreshold) }
        } else {
            level = .low
            reasons = []
        }
    }
}
