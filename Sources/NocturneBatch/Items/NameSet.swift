import NocturneSystem

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

    package func contains(_ name: String) -> Bool { hashes.contains(TextHash.of(name.lowercased())) }

    /// - Returns: whether it was not in the set.
    @discardableResult package mutating func insert(_ name: String) -> Bool {
        hashes.insert(TextHash.of(name.lowercased())).inserted
    }

    mutating func removeAll() { hashes.removeAll(keepingCapacity: true) }

}
