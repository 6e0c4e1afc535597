public import NocturneSystem

/// How scarce memory is.
public enum PressureLevel: Int, Sendable, Comparable, CaseIterable, Codable, CustomStringConvertible {
    case normal
    /// No new items are admitted.
    case warning
    /// Running items pause at their next tile; the oldest one continues alone.
    case critical

    /// Scarcer is greater.
    public static func < (left: PressureLevel, right: PressureLevel) -> Bool { left.rawValue < right.rawValue }

    /// The word for logs, events and the status.
    public var description: String {
        switch self {
        case .normal: "normal"
        case .warning: "warning"
        case .critical: "critical"
        }
    }
}

extension PressureStateMachine {
    /// A change of level and its reason.
    public struct Change: Hashable, Sendable {
        /// The level before.
        public let from: PressureLevel
        /// The level after. A rise may skip warning; a fall is always by one level.
        public let to: PressureLevel
        /// The measured values that caused the change, for the log.
        public let reason: String
    }
}

/// Converts readings to levels: rises at once, falls by one level after several consecutive calm readings.
public struct PressureStateMachine: Sendable {
    /// The limits of a level, which is reached when any one of them is.
    private struct Marks {
        /// Available bytes below this fraction of the memory limit.
        let availableShare: Double
        /// PSI "some avg10" above this percentage, with less than ``stallShare`` available.
        let stallPercent: Double
        /// Resident bytes of this process, without file-backed pages, above this fraction of the budget.
        let residentShare: Double
    }

    private static let warning = Marks(availableShare: 0.15, stallPercent: 10, residentShare: 0.95)
    private static let critical = Marks(availableShare: 0.05, stallPercent: 40, residentShare: 1.10)
    /// With more than this fraction available, stalls are attributed to other processes with separate limits: PSI covers the whole
    /// system.
    private static let stallShare = 0.5
    /// Number of consecutive readings that must be below a level before the level falls; a rise needs only one.
    private static let calmReadings = 3

    /// The budget to which resident memory is compared.
    public let budgetBytes: Int
    /// The present level.
    public private(set) var level = PressureLevel.normal
    private var calmCount = 0

    /// - Parameter budgetBytes: above 0.
    public init(budgetBytes: Int) { self.budgetBytes = budgetBytes }

    /// - Returns: The change caused by this reading, nil when the level stays.
    public mutating func observe(_ reading: MemoryReading) -> Change? {
        let critical = reasons(reading, Self.critical)
        let warning = reasons(reading, Self.warning)
        let seen: PressureLevel = !critical.isEmpty ? .critical : !warning.isEmpty ? .warning : .normal
        let before = level
        if seen >= level {
            calmCount = 0
            level = seen
            guard level != before else { return nil }
            let reason = (critical.isEmpty ? warning : critical).joined(separator: ", ")
            return Change(from: before, to: level, reason: reason)
        }
        calmCount += 1
        guard calmCount >= Self.calmReadings else { return nil }
        calmCount = 0
        level = before == .critical ? .warning : .normal
        return Change(from: before, to: level, reason: "enough free in \(Self.calmReadings) readings in a row")
    }

    private func reasons(_ reading: MemoryReading, _ marks: Marks) -> [String] {
        var reasons: [String] = []
        var share: Double?
        if let available = reading.availableBytes, let limit = reading.limitBytes, limit > 0 {
            share = Double(available) / Double(limit)
            if Double(available) < marks.availableShare * Double(limit) {
                reasons.append("\(ByteCount(available)) of \(ByteCount(limit)) available")
            }
        }
        if let stall = reading.stallPercent, stall > marks.stallPercent, share ?? 0 < Self.stallShare {
            reasons.append("tasks stalled \(stall) % of the time")
        }
        // The kernel can reclaim file-backed pages: a plan that keeps its sums in a file does not exceed the budget
        // because of them.
        if let own = reading.anonymousBytes ?? reading.residentBytes,
            Double(own) > marks.residentShare * Double(budgetBytes)
        {
            reasons.append("\(ByteCount(own)) resident, the budget is \(ByteCount(budgetBytes))")
        }
        return reasons
    }
}
