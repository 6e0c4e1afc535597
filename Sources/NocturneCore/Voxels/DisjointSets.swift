/// Sets of numbers that are joined step by step, each known by its smallest member.
///
/// A union-find with path halving (R. E. Tarjan, J. van Leeuwen, "Worst-Case Analysis of Set Union Algorithms", 1984). The
/// smaller root always remains, so that the result does not depend on the order in which sets are joined. Ranks, which would
/// bound the depth more tightly, are left out for that reason.
public struct DisjointSets: Sendable {
    @usableFromInline var parents: [UInt32]

    /// The numbers below `count`, each in a set by itself.
    @inlinable
    public init(count: Int) { parents = Array(0..<UInt32(count)) }

    /// The number of members of all sets.
    @inlinable
    public var count: Int { parents.count }

    /// Adds a set with the next number as its only member.
    @inlinable
    public mutating func add() -> Int {
        parents.append(UInt32(parents.count))
        return parents.count - 1
    }

    /// The smallest member of the set of a number.
    @inlinable
    public mutating func root(of member: Int) -> Int {
        var member = member
        while Int(parents[member]) != member {
            parents[member] = parents[Int(parents[member])]
            member = Int(parents[member])
        }
        return member
    }

    /// Joins the sets of two numbers.
    /// - Returns: the smallest member of the joined set.
    @inlinable
    @discardableResult
    public mutating func join(_ one: Int, _ other: Int) -> Int {
        let (a, b) = (root(of: one), root(of: other))
        parents[max(a, b)] = UInt32(min(a, b))
        return min(a, b)
    }

    /// For each number that of its set, counted in the order of the smallest members; and the number of sets.
    @inlinable
    public consuming func numbered() -> (ofMember: [UInt32], count: Int) {
        var numbers = parents
        var count = 0
        // A parent precedes its children, so its number is already assigned.
        for member in numbers.indices {
            if numbers[member] == UInt32(member) {
                numbers[member] = UInt32(count)
                count += 1
            } else {
                numbers[member] = numbers[Int(numbers[member])]
            }
        }
        return (numbers, count)
    }
}

extension Float {
    /// Integers in the order of the numbers; -0 is below 0, NaN at both ends.
    @inlinable
    public var orderedBits: UInt32 { bitPattern >> 31 == 0 ? bitPattern | 0x8000_0000 : ~bitPattern }

    /// The number of ``orderedBits``.
    @inlinable
    public init(orderedBits bits: UInt32) { self.init(bitPattern: bits >> 31 == 1 ? bits & 0x7FFF_FFFF : ~bits) }
}
