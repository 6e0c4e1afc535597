package import NocturneSystem

/// The names that the items of one discovery are to have, as folders of the output: pure, and the same in any order of the
/// items.
///
/// A name that several items would have gets folders of their paths in front: the shortest run of folders that tells all of
/// them apart, the innermost one of that length. `sub-001/ct/ct.nii.gz` and `sub-002/ct/ct.nii.gz` become `sub-001_ct` and
/// `sub-002_ct`. Items that no folder tells apart, since they lie in one, keep equal names, as do those whose names are
/// withheld.
package struct ItemNames: Sendable {
    /// Of each item, in their order.
    package private(set) var names: FileBackedList<String>
    /// Places of items with folders in front.
    private var qualified: Set<Int> = []
    private var all = NameSet()
    /// Of the names that several items have, in lower case, the place of the item that is to keep it.
    private var keepers: [String: Int] = [:]

    private let identifiers: IdentifierPolicy

    package init(_ items: FileBackedList<DiscoveredItem>, _ identifiers: IdentifierPolicy) {
        self.identifiers = identifiers
        names = FileBackedList(items.lazy.map { WorkPlanner.safeName($0.name) })
        let repeated = collect()
        guard !repeated.isEmpty else { return }
        if identifiers != .none {
            for group in Self.groups(items, names, of: repeated) { qualify(group, items) }
        }
        chooseKeepers(items)
    }

    /// Whether the item has its name: it alone is called so, or of several it comes first by its key.
    package func keepsName(at place: Int) -> Bool { keeper(at: place).map { $0 == place } ?? true }

    /// Whether no other item of the discovery is to be called so.
    package func isAlone(at place: Int) -> Bool { keeper(at: place) == nil }

    /// The place of the item that keeps the name of this one; nil if no other item has the name.
    private func keeper(at place: Int) -> Int? { keepers.isEmpty ? nil : keepers[names[place].lowercased()] }

    /// Whether an item of the discovery is to be called so.
    package func contains(_ name: String) -> Bool { all.contains(name) }

    /// The names of one item with one, two and more of its folders in front: for one whose name an item of an earlier
    /// discovery has.
    package func qualified(_ item: DiscoveredItem) -> [String] {
        guard identifiers != .none else { return [] }
        let folders = Self.folders(of: item, identifiers)
        return folders.indices.compactMap { Self.joined(folders.prefix($0 + 1), item) }
    }

    // MARK: Equal names

    /// Fills ``all``.
    /// - Returns: the names that occur more than once, in lower case.
    private mutating func collect() -> Set<String> {
        all.removeAll()
        var repeated: Set<String> = []
        for name in names where !all.insert(name) { repeated.insert(name.lowercased()) }
        return repeated
    }

    /// Those that have their name without folders come first, then keys decide.
    private mutating func chooseKeepers(_ items: FileBackedList<DiscoveredItem>) {
        let repeated = collect()
        guard !repeated.isEmpty else { return }
        func rank(_ place: Int) -> (Int, String) { (qualified.contains(place) ? 1 : 0, items[place].key) }
        for (place, name) in names.lazy.map({ $0.lowercased() }).enumerated() {
            guard repeated.contains(name) else { continue }
            if let other = keepers[name], rank(other) <= rank(place) { continue }
            keepers[name] = place
        }
    }

    /// The places of items whose names, without their suffixes, several items have.
    private static func groups(
        _ items: FileBackedList<DiscoveredItem>,
        _ names: FileBackedList<String>,
        of repeated: Set<String>
    ) -> [[Int]] {
        let repeating = zip(names, items).lazy.filter { repeated.contains($0.0.lowercased()) }
        let stems = Set(repeating.map(\.1.stem))
        var groups: [String: [Int]] = [:]
        for (place, item) in items.enumerated() where stems.contains(item.stem) {
            groups[item.stem, default: []].append(place)
        }
        return Array(groups.values)
    }

    // MARK: Folders

    /// Puts folders in front of the names of a group, if any run of them tells the items apart.
    private mutating func qualify(_ group: [Int], _ items: FileBackedList<DiscoveredItem>) {
        let folders = { [identifiers] (place: Int) in Self.folders(of: items[place], identifiers) }
        var seen: Set<UInt64> = []
        let distinct = group.filter { seen.insert(TextHash.of(folders($0).joined(separator: "/"))).inserted }
        guard distinct.count > 1, let run = Self.shortestRun(distinct, folders) else { return }
        func name(_ place: Int) -> String? {
            Self.joined(folders(place).dropFirst(run.offset).prefix(run.length), items[place])
        }
        // With names that are too long for files, all of them stay as they are.
        guard group.allSatisfy({ name($0) != nil }) else { return }
        for place in group {
            guard let name = name(place) else { continue }
            names[place] = name
            qualified.insert(place)
        }
    }

    /// The shortest run of folders that differs for all places. The folders are made again and again: there may be a million
    /// lists.
    private static func shortestRun(
        _ places: [Int],
        _ folders: (Int) -> [String]
    ) -> (offset: Int, length: Int)? {
        let depth = places.map { folders($0).count }.max() ?? 0
        guard depth > 0 else { return nil }
        for length in 1...depth {
            for offset in 0...(depth - length) {
                var seen = NameSet()
                let isEnough = places.allSatisfy { place in
                    let run = folders(place).dropFirst(offset).prefix(length)
                    return !run.isEmpty && seen.insert(run.joined(separator: "/"))
                }
                if isEnough { return (offset, length) }
            }
        }
        return nil
    }

    /// The folders that an item lies in as results show them, the innermost first.
    private static func folders(of item: DiscoveredItem, _ identifiers: IdentifierPolicy) -> [String] {
        let names = ShownNames(identifiers, words: item.words)
        return item.path.split(separator: "/").dropLast().reversed()
            .map { WorkPlanner.safeName(names.shown(String($0))) }
    }

    /// Nil for a name that would be cut off.
    private static func joined(_ folders: some Collection<String>, _ item: DiscoveredItem) -> String? {
        let name = folders.reversed().joined(separator: "_") + "_" + WorkPlanner.safeName(item.name)
        return name.utf8.count <= WorkPlanner.mostNameBytes ? WorkPlanner.safeName(name) : nil
    }
}

extension DiscoveredItem {
    /// The name without what discovery has appended, as names are compared.
    fileprivate var stem: String {
        let name = self.name.hasSuffix(self.suffix) ? String(self.name.dropLast(self.suffix.count)) : self.name
        return WorkPlanner.safeName(name).lowercased()
    }
}
