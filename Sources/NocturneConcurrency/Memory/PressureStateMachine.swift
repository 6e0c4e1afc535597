public import NocturneSystem

/// How scarce memory is.
public enum PressureLevel: Int, Sendable, Comparable, CaseIterable, Codable, CustomStringConvertible {
    case normal
    /// Nothing new is admitted; idle models and caches go.
    case warning
    /// Items in flight pause at their next tile; the oldest goes on alone.
    case critical

    public static func < (left: PressureLevel, right: PressureLevel) -> Bool { left.rawValue < right.rawValue }

    public var description: String {
        switch self {
        case .normal: "normal"
        case .warning: "warning"
        case .critical: "critical"
        }
    }
}

/// From where on memory is scarce. A level is reached when any one of its figures is.
public struct PressureThresholds: Hashable, Sendable {
    /// The figures of one level.
    public struct Marks: Hashable, Sendable {
        /// Available bytes below this share of the limit.
        public var availableShare: Double
        /// PSI "some avg10" above this many per cent, with less than ``PressureThresholds/stallShare`` available.
        public var stallPercent: Double
        /// Own resident bytes, those of files left out, above this share of the budget.
        public var residentShare: Double

        public init(availableShare: Double, stallPercent: Double, residentShare: Double) {
            self.availableShare = availableShare
            self.stallPercent = stallPercent
            self.residentShare = residentShare
        }
    }

    public var warning = Marks(availableShare: 0.15, stallPercent: 10, residentShare: 0.95)
    public var critical = Marks(availableShare: 0.05, stallPercent: 40, residentShare: 1.10)
    /// With more than this share available, stalls are those of others, behind limits of their own: PSI is of the whole system.
    public var stallShare = 0.5
    /// So many readings in a row must lie below a level before it is left; a rise takes one.
    public var calmReadings = 3

    public init() {}
}

/// A change of level, and why.
public struct PressureChange: Hashable, Sendable {
    public let from: PressureLevel
    public let to: PressureLevel
    /// The figures that led to it, for the log.
    public let reason: String
}

/// Turns readings into levels: up at once, down by one level after several calm readings in a row.
public struct PressureStateMachine: Sendable {
    public let budgetBytes: Int
    public let thresholds: PressureThresholds
    public private(set) var level = PressureLevel.normal
    private var calm = 0

    public init(budgetBytes: Int, thresholds: PressureThresholds = PressureThresholds()) {
        self.budgetBytes = budgetBytes
        self.thresholds = thresholds
    }

    /// - Returns: The change this reading makes, nil when the level stays.
    public mutating func observe(_ reading: MemoryReading) -> PressureChange? {
        let critical = reasons(reading, thresholds.critical)
        let warning = reasons(reading, thresholds.warning)
        let seen: PressureLevel = !critical.isEmpty ? .critical : !warning.isEmpty ? .warning : .normal
        let before = level
        if seen >= level {
            calm = 0
            level = seen
            guard level != before else { return nil }
            let reason = (critical.isEmpty ? warning : critical).joined(separator: ", ")
            return PressureChange(from: before, to: level, reason: reason)
        }
        calm += 1
        guard calm >= thresholds.calmReadings else { return nil }
        calm = 0
        level = before == .critical ? .warning : .normal
        return PressureChange(from: before, to: level, reason: "\(thresholds.calmReadings) calm readings in a row")
    }

    private func reasons(_ reading: MemoryReading, _ marks: PressureThresholds.Marks) -> [String] {
        var reasons: [String] = []
        var share: Double?
        if let available = reading.availableBytes, let limit = reading.limitBytes, limit > 0 {
            share = Double(available) / Double(limit)
            if Double(available) < marks.availableShare * Double(limit) {
                reasons.append("\(ByteCount(available)) of \(ByteCount(limit)) available")
            }
        }
        if let stall = reading.stallPercent, stall > marks.stallPercent, share ?? 0 < thresholds.stallShare {
            reasons.append("tasks stalled \(stall) % of the time")
        }
        // Pages of files are the kernel's to take back: a plan that keeps its sums in one is not over the budget for that.
        if let own = reading.anonymousBytes ?? reading.residentBytes,
            Double(own) > marks.residentShare * Double(budgetBytes)
        {
            reasons.append("\(ByteCount(own)) resident, the budget is \(ByteCount(budgetBytes))")
        }
        return reasons
    }
}
