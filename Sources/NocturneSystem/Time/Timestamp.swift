import Foundation

/// UTC, RFC 3339, to the millisecond.
public enum Timestamp {
    public static func now() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return string(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

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
