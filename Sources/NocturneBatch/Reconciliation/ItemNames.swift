package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The names that the items of one search are to have, as folders of the output: the same in any order of the items.
///
/// A name that several items would have gets folders of their paths in front: from the outermost folder below the input in which
/// they differ, in exports that of the patient, as many as distinguish all of them. `sub-001/ct/ct.nii.gz` and
/// `sub-002/ct/ct.nii.gz` become `sub-001_ct` and `sub-002_ct`. Where folders below the inputs do not, it is the shortest run of
/// folders of the whole path that distinguishes them, the innermost one of that length. Items that no folder distinguishes, since
/// they lie in one, keep equal names, as do those whose names are withheld.
package struct ItemNames {
    private let table: FoundTable
    private let identifiers: IdentifierPolicy
    private let inputs: [String]

    /// - Parameters:
    ///   - table: what the search has found.
    ///   - identifiers: how folders are shown that become part of names.
    ///   - inputs: as they were given.
    package init(_ table: FoundTable, _ identifiers: IdentifierPolicy, below inputs: [String]) {
        (self.table, self.identifiers, self.inputs) = (table, identifiers, inputs)
    }

    /// Finds the preferred name of each item.
    /// - Parameter check: called again and again; what it throws is thrown.
    package func find(check: () throws -> Void = {}) throws {
        try table.nameAll { name, suffix in
            let stem = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
            return (WorkPlanner.safeName(name), WorkPlanner.safeName(stem))
        }
        guard identifiers != .none else { return }
        var last = ""
        while let stem = try table.repeatedStem(after: last) {
            try check()
            // The input itself only where folders below it are not enough: names then depend less on what else the batch has.
            let isDone = try qualifyBelowInputs(stem, from: 1) || qualifyBelowInputs(stem, from: 0)
            if !isDone {
                try table.choose(stem: stem) { path, words in folders(of: path, words).joined(separator: "/") }
                try qualify()
            }
            last = stem
        }
    }

    /// Puts folders below the inputs in front of the names with a stem.
    /// - Parameter level: the first one that is used, see `NamePattern.levels`.
    /// - Returns: whether they distinguish the items.
    private func qualifyBelowInputs(_ stem: String, from level: Int) throws -> Bool {
        var (common, most): ([String]?, Int) = (nil, 0)
        try table.choose(stem: stem) { path, words in
            let names = ShownNames(identifiers, words: words)
            let levels = NamePattern.levels(of: path, below: inputs).dropLast().dropFirst(level).filter { !$0.isEmpty }
            let own = levels.map { WorkPlanner.safeName(names.shown($0)) }
            common = common.map { zip($0, own).prefix { $0 == $1 }.map(\.0) } ?? own
            most = max(most, own.count)
            // With the whole folder, since different folders may have equal levels below different inputs.
            return own.joined(separator: "/") + "\n" + path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        }
        let start = common?.count ?? 0
        func run(_ folders: String, _ length: Int) -> ArraySlice<Substring> {
            folders.prefix { $0 != "\n" }.split(separator: "/").dropFirst(start).prefix(length)
        }
        guard try table.depth().count > 1, most > start else { return false }
        // The fewest folders that distinguish all items, so that names stay short.
        for length in 1...(most - start) {
            let isEnough = try table.differ { folders in
                let run = run(folders, length)
                return run.isEmpty ? nil : run.joined(separator: "/")
            }
            guard isEnough else { continue }
            try table.qualify { folders, name in Self.joined(run(folders, length).reversed().map(String.init), name) }
            return true
        }
        return false
    }

    /// Puts folders in front of the names of the chosen items, if any run of them distinguishes the items.
    private func qualify() throws {
        let (count, depth) = try table.depth()
        guard count > 1, depth > 0 else { return }
        for length in 1...depth {
            for offset in 0...(depth - length) {
                func run(_ folders: String) -> ArraySlice<Substring> {
                    folders.split(separator: "/").dropFirst(offset).prefix(length)
                }
                let isEnough = try table.differ { folders in
                    let run = run(folders)
                    return run.isEmpty ? nil : run.joined(separator: "/")
                }
                guard isEnough else { continue }
                // With names that are too long for files, all of them stay as they are.
                return try table.qualify { folders, name in Self.joined(run(folders).map(String.init), name) }
            }
        }
    }

    /// The folders that an item lies in as results show them, the innermost first.
    private func folders(of path: String, _ words: [String]) -> [String] {
        let names = ShownNames(identifiers, words: words)
        return path.split(separator: "/").dropLast().reversed().map { WorkPlanner.safeName(names.shown(String($0))) }
    }

    /// Nil for a name that would be cut off.
    private static func joined(_ folders: some Collection<String>, _ safeName: String) -> String? {
        let name = folders.reversed().joined(separator: "_") + "_" + safeName
        return name.utf8.count <= WorkPlanner.mostNameBytes ? WorkPlanner.safeName(name) : nil
    }

    // MARK: Giving names

    /// The fewest digits of a key's digest at the end of a name.
    private static let leastDigits = 6

    /// Whether an item has a name of ``Alternatives`` with its digest, from which a person cannot guess the file.
    package static func isDigest(_ name: String, of key: String) -> Bool {
        guard let last = name.lastIndex(of: "-") else { return false }
        let digits = name[name.index(after: last)...]
        return digits.count >= leastDigits && ContentDigest.of(key).hex.hasPrefix(digits)
    }

    /// Names of new items that cannot have their preferred ones. Those that the journal has never change.
    package struct Alternatives {
        private let names: ItemNames
        /// Entries of the output folder and names of the batch's own files.
        private let reserved: Set<String>
        /// The last id of the items of earlier runs.
        private let lastKnown: Int64
        /// Names that were given and are not recorded yet.
        private var given: Set<String> = []

        /// - Parameter foreign: names in the output folder that are not results of this batch and stay as they are.
        package init(_ names: ItemNames, foreign: Set<String>) throws {
            self.names = names
            reserved = Set(WorkPlanner.reservedNames.union(foreign).map { $0.lowercased() })
            lastKnown = try names.table.lastRecorded()
        }

        /// Names that were given so far are recorded now.
        package mutating func recorded() { given.removeAll() }

        /// The preferred name; with its folders in front where an item of an earlier run has that name; else with six digits of
        /// the key's digest, which are the same in every run.
        /// - Parameter isFree: whether no other item has a better claim to the preferred name.
        package mutating func name(
            of item: DiscoveredItem,
            preferred: String,
            isFree: Bool
        ) throws -> (name: String, note: String?) {
            if isFree, take(preferred) { return (preferred, nil) }
            let table = names.table
            if try !table.isRepeated(preferred), let id = try table.recordedItem(called: preferred), id <= lastKnown {
                for name in names.qualified(item)
                where try !table.isWanted(name) && table.recordedItem(called: name) == nil && take(name) {
                    return (name, nil)
                }
            }
            // Six digits, and two more as long as the name is taken: in a million items equal beginnings do occur.
            let digest = ContentDigest.of(item.key).hex
            var (digits, name) = (ItemNames.leastDigits, preferred)
            repeat {
                name = "\(preferred)-\(digest.prefix(digits))"
                digits += 2
            } while try isTaken(name) && digits <= 64
            _ = take(name)
            let owner =
                reserved.contains(preferred.lowercased())
                ? "is taken in the output folder" : "is that of another item, too"
            return (name, "\(item.path): the name \(preferred) \(owner); this item is called \(name)")
        }

        private func isTaken(_ name: String) throws -> Bool {
            try given.contains(name.lowercased()) || reserved.contains(name.lowercased()) || names.table.isWanted(name)
                || names.table.recordedItem(called: name) != nil
        }

        private mutating func take(_ name: String) -> Bool {
            let folded = name.lowercased()
            return !reserved.contains(folded) && given.insert(folded).inserted
        }
    }

    /// The names of one item with one, two and more of its folders in front: for one whose name an item of an earlier
    /// search has.
    private func qualified(_ item: DiscoveredItem) -> [String] {
        guard identifiers != .none else { return [] }
        let folders = folders(of: item.path, item.words)
        return folders.indices.compactMap { Self.joined(folders.prefix($0 + 1), WorkPlanner.safeName(item.name)) }
    }
}
