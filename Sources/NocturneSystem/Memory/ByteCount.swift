/// A number of bytes as people write it. Units are binary: K, KB and KiB all mean 1,024.
public struct ByteCount: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// May be negative, for differences.
    public let bytes: Int

    /// Wraps a number of bytes for messages.
    public init(_ bytes: Int) { self.bytes = bytes }

    private static let prefixes: [Character] = ["K", "M", "G", "T"]

    /// Reads "8G", "2GiB", "1.5 gb", "512M" or plain bytes; nil for anything else, for less than one byte, and from 2⁶²
    /// on.
    public init?(_ text: String) {
        let scalars = text.split(separator: " ", omittingEmptySubsequences: true)
        guard (1...2).contains(scalars.count) else { return nil }
        let joined = scalars.joined().uppercased()
        let number = joined.prefix { $0 == "." || ("0"..."9").contains($0) }
        // "1 2G" is two numbers, not twelve.
        guard scalars.count == 1 || number.count == scalars[0].count else { return nil }
        guard let shift = Self.shift(of: joined.dropFirst(number.count)) else { return nil }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 19 }),
            let whole = Int(parts[0]), whole < 1 << (62 - shift)
        else { return nil }
        var bytes = whole << shift
        if parts.count == 2 {
            guard shift > 0, let fraction = Double("0." + parts[1]) else { return nil }
            // Exact before it is cut off: multiplying by a power of two loses no digits.
            bytes += Int(fraction * Double(1 << shift))
        }
        guard bytes > 0 else { return nil }
        self.bytes = bytes
    }

    private static func shift(of unit: Substring) -> Int? {
        if unit.isEmpty || unit == "B" { return 0 }
        guard let prefix = unit.first, let index = prefixes.firstIndex(of: prefix),
            ["", "B", "IB"].contains(unit.dropFirst())
        else { return nil }
        return 10 * (index + 1)
    }

    /// By the number of bytes.
    public static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }

    /// "0 B", "512 MiB", "1.5 GiB": at most one decimal, rounded to nearest.
    public var description: String {
        let magnitude = bytes.magnitude
        guard magnitude >= 1024 else { return "\(bytes) B" }
        var index = 0
        // 1,048,550 bytes would read "1024 KiB" after rounding, so the next unit starts a little early.
        while index < 3, Double(magnitude) / Double(1 << (10 * (index + 1))) >= 1023.95 { index += 1 }
        let tenths = (Double(magnitude) * 10 / Double(1 << (10 * (index + 1)))).rounded()
        let digits = Int(tenths)
        let fraction = digits % 10 == 0 ? "" : ".\(digits % 10)"
        return "\(bytes < 0 ? "-" : "")\(digits / 10)\(fraction) \(Self.prefixes[index])iB"
    }
}
