import NocturneSystem

/// The pieces of a picture and the contacts of those that touch, horizontally or vertically, to join pieces one by one: the
/// contacts of the one that goes are added to those of the one that stays.
struct PieceGraph {
    struct Pair: Hashable {
        let low: Int
        let high: Int

        init(_ a: Int, _ b: Int) { (low, high) = (min(a, b), max(a, b)) }
    }

    struct Contact {
        /// Pairs of neighbouring pixels.
        var pairs: Int
        /// Of the strengths of the pairs.
        var sum: Double
        var mean: Double { sum / Double(pairs) }
    }

    private(set) var contacts: [Pair: Contact] = [:]
    /// The piece that each one is part of: itself at first, 0 for background.
    private(set) var targets: [Int]
    private var neighbours: [Set<Int>]

    /// - Parameters:
    ///   - labels: rows of `width` pixels; 0 is background, pieces count from 1 to `count`.
    ///   - strength: of the contact of two pixels, by their places.
    init(
        _ labels: [some BinaryInteger],
        count: Int,
        width: Int,
        flag: CancellationFlag,
        strength: (Int, Int) -> Double
    ) throws(CancelledError) {
        targets = Array(0...count)
        neighbours = Array(repeating: [], count: count + 1)
        // Horizontal contacts first: a sum of strengths depends on their order.
        for isRow in [true, false] {
            let step = isRow ? 1 : width
            for place in labels.indices.dropLast(step) where !isRow || (place + 1) % width != 0 {
                if place % (1 << 16) == 0 { try flag.check() }
                let (a, b) = (Int(labels[place]), Int(labels[place + step]))
                guard a != b, a > 0, b > 0 else { continue }
                add(Contact(pairs: 1, sum: strength(place, place + step)), a, b)
            }
        }
    }

    private mutating func add(_ contact: Contact, _ a: Int, _ b: Int) {
        if let place = contacts.index(forKey: Pair(a, b)) {
            contacts.values[place].pairs += contact.pairs
            contacts.values[place].sum += contact.sum
        } else {
            contacts[Pair(a, b)] = contact
            neighbours[a].insert(b)
            neighbours[b].insert(a)
        }
    }

    /// The neighbour with the longest contact, of equal ones that with the lowest number; nil for a piece that touches no other.
    func closest(to piece: Int) -> Int? {
        func pairs(_ other: Int) -> Int { contacts[Pair(piece, other)]?.pairs ?? 0 }
        return neighbours[piece].max { (pairs($0), $1) < (pairs($1), $0) }
    }

    /// - Parameter keep: 0, for background, only where the piece touches no other.
    mutating func join(_ gone: Int, to keep: Int) {
        for piece in targets.indices where targets[piece] == gone { targets[piece] = keep }
        for other in neighbours[gone] {
            neighbours[other].remove(gone)
            guard let contact = contacts.removeValue(forKey: Pair(gone, other)), other != keep else { continue }
            add(contact, keep, other)
        }
        neighbours[gone] = []
    }
}
