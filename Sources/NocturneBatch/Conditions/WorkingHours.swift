import Glibc
package import NocturneSystem

/// When items may be started: within hours of the day, and only what can be finished in time.
public struct WorkingHours: Sendable, Hashable {
    /// A time of the day in local time.
    public struct TimeOfDay: Sendable, Hashable, CustomStringConvertible {
        /// 0 to 1439.
        public let minutes: Int

        /// From text such as "06:30"; nil for other text.
        public init?(_ text: some StringProtocol) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.count) && $0.allSatisfy(\.isNumber) }),
                let hour = Int(parts[0]), let minute = Int(parts[1]), (0..<24).contains(hour), (0..<60).contains(minute)
            else { return nil }
            minutes = 60 * hour + minute
        }

        /// "06:30": always with two digits each.
        public var description: String {
            func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
            return "\(two(minutes / 60)):\(two(minutes % 60))"
        }
    }

    /// Items are started from the first time of the day until the second, which may be one of the next day.
    public struct Window: Sendable, Hashable {
        /// The first minute in which items may be started.
        public let from: TimeOfDay
        /// The first minute in which nothing is started; before ``from`` for hours over midnight.
        public let until: TimeOfDay

        /// From text such as "20:00-06:00"; nil for other text, and where both times are the same.
        public init?(_ text: String) {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, let from = TimeOfDay(parts[0]), let until = TimeOfDay(parts[1]), from != until
            else { return nil }
            self.from = from
            self.until = until
        }
    }

    private static let day = 86_400

    /// Nil for all day.
    public var window: Window?
    /// Nothing is started that would probably not be finished at the next such time after the start of the run.
    public var finishBy: TimeOfDay?

    /// - Parameters:
    ///   - window: nil for all day.
    ///   - finishBy: nil for no such time.
    public init(window: Window? = nil, finishBy: TimeOfDay? = nil) {
        self.window = window
        self.finishBy = finishBy
    }

    /// Seconds until items may be started, at a number of seconds after midnight; 0 while they may.
    package func secondsUntilOpen(at second: Int) -> Int {
        guard let window else { return 0 }
        // Modulo a day, so that hours over midnight need no separate case.
        let sinceOpening = WorkingHours.modulo(second - 60 * window.from.minutes)
        let length = WorkingHours.modulo(60 * (window.until.minutes - window.from.minutes))
        return sinceOpening < length ? 0 : WorkingHours.day - sinceOpening
    }

    /// Seconds from this moment until items may be started; 0 while they may.
    package func secondsUntilOpen(at moment: WallTime) -> Int {
        window == nil ? 0 : secondsUntilOpen(at: secondsSinceMidnight(moment))
    }

    /// The next time to be finished by after a moment, both in seconds since 1970; nil when there is none.
    package func deadline(after moment: Int) -> Int? {
        guard let finishBy else { return nil }
        var now = time_t(moment)
        var local = tm()
        localtime_r(&now, &local)
        local.tm_sec = 0
        local.tm_min = Int32(finishBy.minutes % 60)
        local.tm_hour = Int32(finishBy.minutes / 60)
        // Where the clocks change in between, the system knows which time is meant.
        local.tm_isdst = -1
        var next = local
        let today = mktime(&next)
        if today > now { return Int(today) }
        local.tm_mday += 1
        return Int(mktime(&local))
    }

    private static func modulo(_ seconds: Int) -> Int { (seconds % day + day) % day }

    /// In local time.
    package func secondsSinceMidnight(_ moment: WallTime) -> Int {
        var seconds = time_t(moment.seconds)
        var local = tm()
        localtime_r(&seconds, &local)
        return Int(local.tm_hour) * 3600 + Int(local.tm_min) * 60 + Int(local.tm_sec)
    }
}
