public import ArgumentParser
public import NocturneBatch
public import NocturneJournal
import NocturneOutput
public import NocturneRecipeSupport
public import NocturneReport
public import NocturneSystem

extension ByteCount: OptionValue {
    /// Completes "expected", with the smallest size that a budget may have.
    package static var allowed: String { "a size such as 8G or 500M, at least 1M (a number alone means bytes)" }
    /// Nil below 1 MiB: such a small number is usually one whose unit was forgotten.
    public init?(argument: String) {
        self.init(argument)
        if bytes < 1 << 20 { return nil }
    }
}

extension FullDiskPolicy: ExpressibleByArgument {}

extension WorkingHours.TimeOfDay: OptionValue {
    /// Completes "expected".
    package static var allowed: String { "a time of day such as 06:00" }
    /// A time of 24 hours; nil for other texts.
    public init?(argument: String) { self.init(argument) }
}

extension StopRules: OptionValue {
    /// Completes "expected".
    package static var allowed: String { "rules such as same=20,empty=20,failed=20%/50,outside=50%/20, or never" }
    /// The rules separated by commas; `never` for none.
    public init?(argument: String) { self.init(argument) }
}

extension VerificationPart: OptionValue {
    /// Completes "expected".
    package static var allowed: String { "a part such as 3/7" }
    /// Part k of n, with 1 ≤ k ≤ n.
    public init?(argument: String) { self.init(argument) }
}

extension WorkingHours.Window: OptionValue {
    /// Completes "expected".
    package static var allowed: String { "two different times of day such as 20:00-06:00" }
    /// Two times with a hyphen; the second one may be on the next day.
    public init?(argument: String) { self.init(argument) }
}

extension WorkOrder: ExpressibleByArgument {}

extension Retention: OptionValue {
    /// Completes "expected".
    package static var allowed: String { "a number of items from 1 on, or of days such as 30d" }
    /// A number of items, or of days with the unit d.
    public init?(argument: String) {
        let isDays = argument.hasSuffix("d")
        guard let count = Int(isDays ? argument.dropLast() : argument[...]), (1...1_000_000_000).contains(count) else {
            return nil
        }
        self = isDays ? .days(count) : .items(count)
    }
}

// For the `transform` of options: the parser puts the option and the value before these messages.

extension DisplayFiles {
    /// Kinds of files, separated by commas.
    static func kinds(_ text: String) throws -> Set<DisplayFiles> {
        let kinds = text.split(separator: ",", omittingEmptySubsequences: false).map { DisplayFiles(rawValue: "\($0)") }
        if kinds.contains(nil) { throw ValidationError("expected meshes, pictures, or meshes,pictures") }
        return Set(kinds.compactMap(\.self))
    }
}

extension Int {
    /// A number of items.
    static func itemCount(_ text: String) throws -> Int {
        try number(text, in: 1...Int.max, "a number of items from 1 on")
    }

    /// A number of threads. 1024 is more than a machine is likely to have.
    static func threadCount(_ text: String) throws -> Int { try number(text, in: 1...1024, "a number from 1 to 1024") }

    private static func number(_ text: String, in range: ClosedRange<Int>, _ allowed: String) throws -> Int {
        guard let number = Int(text), range.contains(number) else { throw ValidationError("expected \(allowed)") }
        return number
    }
}

/// A duration in seconds, or with a unit; 0 means no limit.
struct DurationLimit: OptionValue, CustomStringConvertible {
    /// Completes "expected".
    package static var allowed: String { "a duration such as 30m, 2h or 90s, or 0" }
    /// Nil without a limit.
    let seconds: Int?

    init(seconds: Int) { self.seconds = seconds == 0 ? nil : seconds }

    init?(argument: String) {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        let unit = argument.last.flatMap { units[$0] }
        let digits = unit == nil ? argument[...] : argument.dropLast()
        // `isNumber` refuses signs, which `Int` accepts.
        guard let count = Int(digits), (0...1_000_000).contains(count), digits.allSatisfy(\.isNumber)
        else { return nil }
        self.init(seconds: count * (unit ?? 1))
    }

    var description: String { "\(seconds ?? 0)" }
}
