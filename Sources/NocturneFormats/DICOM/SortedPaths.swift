internal import NocturneSystem

/// Paths in their order, each once, without a copy of them where they come so: there may be millions.
struct SortedPaths: Sendable {
    let count: Int
    private let path: @Sendable (Int) -> String

    init<Paths: RandomAccessCollection & Sendable>(_ paths: Paths) where Paths.Element == String, Paths.Index == Int {
        if zip(paths, paths.dropFirst()).allSatisfy({ $0 < $1 }) {
            let start = paths.startIndex
            (count, path) = (paths.count, { paths[start + $0] })
        } else {
            let sorted = Set(paths).sorted()
            (count, path) = (sorted.count, { sorted[$0] })
        }
    }

    /// - Parameter place: in `0 ..< count`.
    subscript(place: Int) -> String { path(place) }

    /// How many paths come before this one.
    func countBefore(_ path: String) -> Int { (0..<count).prefixCount { self[$0] < path } }

    func contains(_ path: String) -> Bool {
        let place = countBefore(path)
        return place < count && self[place] == path
    }

    /// Where other paths come to lie in ``merging(_:)``.
    /// - Parameter others: sorted, and not among these.
    func places(of others: [String]) -> [Int] { others.enumerated().map { countBefore($0.element) + $0.offset } }

    /// - Parameter others: sorted, and not among these.
    func merging(_ others: [String]) -> SortedPaths {
        let places = places(of: others)
        return SortedPaths(count: count + others.count) { place in
            let before = places.prefixCount { $0 < place }
            return before < places.count && places[before] == place ? others[before] : self[place - before]
        }
    }

    private init(count: Int, path: @escaping @Sendable (Int) -> String) { (self.count, self.path) = (count, path) }
}
