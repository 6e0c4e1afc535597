#if canImport(Glibc)
    internal import Glibc
#endif

/// Where a run gets its time from: the system's clocks, or a clock that a test advances.
///
/// Durations come from ``monotonic`` and are not affected when somebody sets the system clock. ``wallClock`` is for what
/// people read: timestamps, hours of the day, deadlines.
public protocol TimeSource: Sendable {
    /// Time since a fixed but arbitrary moment. It never goes back.
    var monotonic: Duration { get }
    /// The date and time now.
    var wallClock: WallTime { get }
    /// Suspends until so much monotonic time has passed.
    /// - Throws: `CancellationError` when the task is cancelled before.
    func sleep(for duration: Duration) async throws
    /// Blocks the thread until so much monotonic time has passed: for synchronous code on the blocking pool.
    func block(for duration: Duration)
}

/// A moment by the system clock, UTC.
public struct WallTime: Sendable, Hashable, Comparable {
    /// Since 1970-01-01T00:00:00Z.
    public var seconds: Int
    /// 0 to 999,999,999.
    public var nanoseconds: Int

    /// - Parameters:
    ///   - seconds: since 1970, UTC.
    ///   - nanoseconds: 0 to 999,999,999.
    public init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// UTC, RFC 3339, to the millisecond.
    public var timestamp: String { Timestamp.string(seconds: seconds, nanoseconds: nanoseconds) }

    /// Date and time of the day in local time, to the second: `2026-11-24 01:55:46`.
    public var localText: String {
        var (seconds, local) = (time_t(seconds), tm())
        localtime_r(&seconds, &local)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let day = "\(local.tm_year + 1900)-\(two(local.tm_mon + 1))-\(two(local.tm_mday))"
        return "\(day) \(two(local.tm_hour)):\(two(local.tm_min)):\(two(local.tm_sec))"
    }

    public static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

/// The clocks of the machine.
public struct SystemTime: TimeSource {
    public init() {}

    public var monotonic: Duration {
        var time = timespec()
        // Counts while the machine sleeps, too, as `ContinuousClock` does.
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    public var wallClock: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration, clock: .continuous) }

    public func block(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var rest = timespec(tv_sec: time_t(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var left = timespec()
        while nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
    }
}

/// UTC, RFC 3339, to the millisecond.
public enum Timestamp {
    /// The present moment by the system clock.
    public static func now() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return string(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    /// - Parameters:
    ///   - seconds: since 1970, UTC.
    ///   - nanoseconds: 0 to 999,999,999; cut to milliseconds.
    public static func string(seconds: Int, nanoseconds: Int) -> String {
        var parts = tm()
        var seconds = time_t(seconds)
        gmtime_r(&seconds, &parts)
        func digits(_ value: Int, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let date = "\(Int(parts.tm_year) + 1900)-\(digits(Int(parts.tm_mon) + 1, 2))-\(digits(Int(parts.tm_mday), 2))"
        let clock = "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
        return "\(date)T\(clock).\(digits(nanoseconds / 1_000_000, 3))Z"
    }
}

extension Duration {
    /// Seconds as a floating-point number.
    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
