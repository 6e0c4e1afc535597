import Foundation

/// JSON as Nocturne writes it: sorted keys, readable, the same bytes for the same values.
public enum StableJSON {
    /// Ends with a line feed.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return Array(try encoder.encode(value)) + [10]
    }

    /// One object on one line, with a line feed.
    public static func encodeLine(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value)) + [10]
    }
}

/// An optional that is written as null when there is nothing, instead of leaving out the key: "not measured", never 0.
@propertyWrapper
public struct Nullable<Value: Codable & Sendable>: Codable, Sendable {
    public var wrappedValue: Value?

    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

/// UTC, RFC 3339, to the millisecond.
public enum Timestamp {
    public static func now() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return string(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
    }

    static func string(seconds: Int, nanoseconds: Int) -> String {
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

/// This process's memory, from the system.
public enum ProcessMemory {
    /// Resident bytes now, and the most there ever were; 0 where the system does not say.
    public static func read() -> (resident: Int, peak: Int) {
        guard let text = try? FileSystem.read("/proc/self/status") else { return (0, 0) }
        var resident = 0
        var peak = 0
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count >= 2, let kilobytes = Int(words[1]) else { continue }
            if words[0] == "VmRSS:" { resident = kilobytes * 1024 }
            if words[0] == "VmHWM:" { peak = kilobytes * 1024 }
        }
        return (resident, peak)
    }
}
