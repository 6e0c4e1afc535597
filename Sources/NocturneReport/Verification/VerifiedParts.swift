public import NocturneJournal
import NocturneSystem

/// A part of the items of a batch, which is verified by itself. Of N parts, the name of an item always gives the same one.
public struct VerificationPart: Sendable, Hashable, CustomStringConvertible {
    /// From 1 to the count.
    public let number: Int
    /// How many parts there are, at most ``largestCount``.
    public let count: Int

    static let largestCount = 10_000

    /// From text such as "3/7"; nil for other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], (1...Self.largestCount).contains(count),
            (1...count).contains(number)
        else { return nil }
        (self.number, self.count) = (number, count)
    }

    /// Whether the item of this name is in this part: by the first 60 bits of the name's SHA-256.
    package func contains(_ name: String) -> Bool {
        let digits = ContentDigest.of(name).hex.prefix(15)
        return (Int(digits, radix: 16) ?? 0) % count == number - 1
    }

    /// "NUMBER/COUNT", as ``init(_:)`` reads it.
    public var description: String { "\(number)/\(count)" }
}

/// When the parts of a batch were last verified without a fault.
public struct VerifiedParts: Codable, Sendable, Hashable {
    /// How many parts there are.
    public private(set) var count = 1
    /// By number, UTC.
    public private(set) var times: [Int: String] = [:]

    /// Without any verification.
    public init() {}

    /// A journal that others have changed may have any count.
    private var numbers: ClosedRange<Int> { 1...min(max(count, 1), VerificationPart.largestCount) }

    /// The parts that were never verified.
    public var missing: [Int] { numbers.filter { times[$0] == nil } }

    /// The earliest of the times; nil as long as a part is missing.
    public var oldest: String? { missing.isEmpty ? times.values.min() : nil }

    /// A part, or the whole batch, was verified without a fault. With another number of parts, those before count only together.
    public mutating func add(_ part: VerificationPart?, at time: String) {
        if let part, part.count != count {
            let before = oldest
            count = part.count
            times = [:]
            if let before { for number in numbers { times[number] = before } }
        }
        for number in part.map({ [$0.number] }) ?? Array(numbers) { times[number] = time }
    }
}

extension JournalSetting<VerifiedParts> {
    /// The verifications of the batch so far.
    public static var verifiedParts: Self { Self(json: "verifiedParts") }
}
