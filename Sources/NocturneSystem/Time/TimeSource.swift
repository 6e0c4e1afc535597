internal import Glibc

/// Where a run gets its time from: the system's clocks, or a clock that a test advances.
///
/// Durations, time limits and estimates come from ``monotonic``: neither a clock that somebody sets nor a machine that sleeps changes
/// them, since work sleeps with its machine. ``sinceBoot`` is for what others see of this machine: how long it was silent.
/// ``wallClock`` is for what people read: timestamps, hours of the day, deadlines.
public protocol TimeSource: Sendable {
    /// Time since a fixed but arbitrary moment in which the machine was awake. It never goes back.
    var monotonic: Duration { get }
    /// The date and time now.
    var wallClock: WallTime { get }
    /// Suspends until so much monotonic time has passed.
    /// - Throws: `CancellationError` when the task is cancelled before.
    func sleep(for duration: Duration) async throws
    /// Blocks the thread until so much monotonic time has passed: for synchronous code on the blocking pool.
    func block(for duration: Duration)
    /// Time since a fixed but arbitrary moment, also that in which the machine slept. It never goes back.
    var sinceBoot: Duration { get }
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

    /// UTC, RFC 3339, to the millisecond; what is below is cut off.
    public var timestamp: String {
        let (day, time) = texts(gmtime_r)
        return "\(day)T\(time).\(Self.digits(nanoseconds / 1_000_000, 3))Z"
    }

    /// Date and time of the day in local time, to the second: `2026-11-24 01:55:46`.
    public var localText: String {
        let (day, time) = texts(localtime_r)
        return "\(day) \(time)"
    }

    /// The same with the zone, for moments that people compare with their clocks: `2026-11-24 18:00:00 CET`.
    public var zonedText: String {
        var (seconds, parts) = (time_t(seconds), tm())
        _ = localtime_r(&seconds, &parts)
        return localText + (parts.tm_zone.map { " " + String(cString: $0) } ?? "")
    }

    /// Day and time of the day.
    /// - Parameter divide: `gmtime_r` or `localtime_r`.
    private func texts(
        _ divide: (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?
    ) -> (day: String, time: String) {
        var (seconds, parts) = (time_t(seconds), tm())
        _ = divide(&seconds, &parts)
        func two(_ value: Int32) -> String { Self.digits(Int(value), 2) }
        return (
            "\(Int(parts.tm_year) + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))",
            "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        )
    }

    private static func digits(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    /// The earlier moment.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

/// The clocks of the machine.
public struct SystemTime: TimeSource {
    /// Has no state: all instances give the same times.
    public init() {}

    // The clock by which the kernel's waits count, too. On Linux it stops while the machine is suspended.
    /// `CLOCK_MONOTONIC`, to the nanosecond.
    public var monotonic: Duration { Self.read(CLOCK_MONOTONIC) }
    /// `CLOCK_BOOTTIME`, to the nanosecond: a machine that slept has been silent all the while.
    public var sinceBoot: Duration { Self.read(CLOCK_BOOTTIME) }

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// `CLOCK_REALTIME`. May go back when somebody sets the clock.
    public var wallClock: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    /// Waits by the clock of ``monotonic``: time in which the machine sleeps does not count.
    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration, clock: .suspending) }

    /// Continues after signals until the whole time has passed.
    public func block(for duration: Duration) {
        let (seconds, attoseconds) = duration.components
        var rest = timespec(tv_sec: time_t(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var left = timespec()
        while nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
    }
}

extension Duration {
    /// Seconds as a floating-point number.
    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
