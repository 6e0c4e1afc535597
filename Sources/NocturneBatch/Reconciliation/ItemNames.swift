package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The names that the items of one search are to have, as folders of the output: the same in any order of the items.
///
/// A name that several items would have gets all folders between the input and the item in front: `sub-001/ct.nii.gz` and
/// `sub-002/ct.nii.gz` become `sub-001_ct` and `sub-002_ct`. Names that are then still equal, as of files that are each an input, get
/// all folders below the one that all inputs lie in. What these folders do not distinguish keeps equal names, as do items whose names
/// are withheld, and those whose names would be cut off.
package struct ItemNames {
    private let table: FoundTable
    private let identifiers: IdentifierPolicy
    /// Below which folders become part of names: the inputs, and then the folder that all of them lie in.
    private let roots: [Set<String>]

    /// - Parameters:
    ///   - table: what the search has found.
    ///   - identifiers: how folders are shown that become part of names.
    ///   - inputs: as they were given.
    package init(_ table: FoundTable, _ identifiers: IdentifierPolicy, below inputs: [String]) {
        (self.table, self.identifiers) = (table, identifiers)
        let paths = inputs.map { $0.split(separator: "/") }
        let common = paths.dropFirst().reduce(paths.first ?? []) { zip($0, $1).prefix { $0 == $1 }.map(\.0) }
        roots = [Set(inputs), ["/" + common.joined(separator: "/")]]
    }

    /// Finds the preferred name of each item.
    /// - Parameter check: called again and again; what it throws is thrown.
    package func find(check: () throws -> Void = {}) throws {
        try table.nameAll { name, suffix in
            let stem = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
            return (WorkPlanner.safeName(name), WorkPlanner.safeName(stem))
        }
        for root in roots {
            try table.renameRepeated { name, path, words in
                try check()
                return qualified(name, at: path, words, below: root)
            }
        }
    }

    /// The name with the folders between a root and the item in front; nil without any, where names are withheld, and for a name that
    /// would be cut off.
    private func qualified(_ name: String, at path: String, _ words: [String], below root: Set<String>) -> String? {
        let folders = NamePattern.levels(of: path, below: root).dropFirst().dropLast()
        guard identifiers != .none, !folders.isEmpty else { return nil }
        let names = ShownNames(identifiers, words: words)
        let parts = folders.map { WorkPlanner.safeName(names.shown($0)) } + [WorkPlanner.safeName(name)]
        let qualified = parts.joined(separator: "_")
        return qualified.utf8.count <= WorkPlanner.mostNameBytes ? WorkPlanner.safeName(qualified) : nil
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
        /// Names that were given and are not recorded yet.
        private var given: Set<String> = []

        /// - Parameter foreign: names in the output folder that are not results of this batch and stay as they are.
        package init(_ names: ItemNames, foreign: Set<String>) {
            self.names = names
            reserved = Set(WorkPlanner.reservedNames.union(foreign).map { $0.lowercased() })
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
            // Where several found items are to have the name, all but one have a digest, also after an interruption.
            if try !names.table.isRepeated(preferred), try names.table.isRecorded(preferred) {
                for root in names.roots {
                    let name = names.qualified(item.name, at: item.path, item.words, below: root)
                    if let name, try !isTaken(name), take(name) { return (name, nil) }
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
                || names.table.isRecorded(name)
        }

        private mutating func take(_ name: String) -> Bool {
            let folded = name.lowercased()
            return !reserved.contains(folded) && given.insert(folded).inserted
        }
    }
}
