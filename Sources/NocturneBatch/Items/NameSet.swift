import Foundation

/// A set of names, in which upper and lower case are the same, as are the Unicode forms of a text: some 15 bytes a name, since
/// there may be a million.
///
/// Kept are hashes of 64 bits (FNV-1a, the same in every process). Two of a million names have equal ones with a
/// probability of 3 in 100 million: the second one is then taken for the first, and its item gets another name.
package struct NameSet: Sendable {
    private var hashes: Set<UInt64> = []

    package init() {}

    package init(_ names: some Sequence<String>) {
        for name in names { insert(name) }
    }

    package func contains(_ name: String) -> Bool { hashes.contains(Self.hash(name.lowercased())) }

    /// - Returns: whether it was not in the set.
    @discardableResult package mutating func insert(_ name: String) -> Bool {
        hashes.insert(Self.hash(name.lowercased())).inserted
    }

    mutating func removeAll() { hashes.removeAll(keepingCapacity: true) }

    /// Of a text, in which case counts.
    static func hash(_ text: String) -> UInt64 {
        let isASCII = text.utf8.allSatisfy { $0 < 128 }
        let form = isASCII ? text : text.precomposedStringWithCanonicalMapping
        return form.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
