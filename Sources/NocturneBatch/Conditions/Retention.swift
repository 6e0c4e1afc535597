package import NocturneJournal
package import NocturneSystem

/// Which results a watch keeps.
public enum Retention: Sendable, Hashable, CustomStringConvertible {
    /// The newest ones, at least 1.
    case items(Int)
    /// Those of this number of days, at least 1.
    case days(Int)

    /// As in the option `--keep`: "100" or "30d".
    public var description: String {
        switch self {
        case .items(let count): "\(count)"
        case .days(let count): "\(count)d"
        }
    }

    /// The items whose results are older, the oldest first.
    /// - Parameter items: completed ones.
    package func older(of items: [JournalItem], at now: WallTime) -> [JournalItem] {
        // Times are texts in one form, whose order is that of time. Items without one are the oldest.
        let sorted = items.sorted { ($0.changed ?? "", $0.id) < ($1.changed ?? "", $1.id) }
        switch self {
        case .items(let count): return Array(sorted.dropLast(count))
        case .days(let count):
            let oldest = WallTime(seconds: now.seconds - 86_400 * count).timestamp
            return Array(sorted.prefix { $0.changed ?? "" < oldest })
        }
    }
}
