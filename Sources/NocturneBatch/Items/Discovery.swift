package import NocturneJournal
package import NocturneOutput
import NocturneReport
import NocturneSystem

/// What a search of the inputs has found besides items.
public struct Discovery: Sendable {
    /// Remarks that are not about a single item.
    public var notes: [String]
    /// What identifies patients in the paths of all files.
    public var patients: PatientFolders
    /// How many items were left out, since they were removed from the batch.
    var leftOut = 0

    /// - Parameters:
    ///   - notes: remarks that are not about a single item.
    ///   - patients: what identifies patients in paths.
    public init(notes: [String] = [], patients: PatientFolders = PatientFolders()) {
        (self.notes, self.patients) = (notes, patients)
    }
}

extension PatientFolders {
    /// The item without words of its path by which its patient can be identified.
    fileprivate func withholding(_ item: DiscoveredItem) -> DiscoveredItem {
        var item = item
        item.words = words(of: item.path)
        guard !item.words.isEmpty else { return item }
        item.name = ShownNames(.hash, words: item.words).shown(item.name)
        return item
    }
}

extension FoundTable {
    /// Adds files and folders that do not respond and that no recipe has listed, as failures.
    /// - Parameter recipe: the last one.
    package func addFailures(
        of files: UnresponsiveFiles,
        _ identifiers: IdentifierPolicy = .hash,
        _ patients: PatientFolders = PatientFolders(),
        recipe: Int = 0
    ) throws {
        for path in files.paths where try !contains(path: path) {
            let hides = files.hides(path)
            let key = (hides ? DiscoveredItem.missedKeyPrefix : DiscoveredItem.fileKeyPrefix) + path
            let stamps = hides ? [] : [InputStamp(path)]
            let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
            var item = DiscoveredItem(
                key: key,
                name: ShownNames(identifiers).itemName(name, key: key),
                model: "",
                path: path,
                fingerprint: ContentDigest.of(path + (stamps.first?.text ?? "")),
                inputs: stamps
            )
            item.problem = .refused(files.reason(for: path))
            // After those of all recipes.
            (item.recipe, item.rank, item.order) = (recipe, .max, path)
            try add([patients.withholding(item)])
        }
    }
}

extension Discovery {
    /// Leaves out items that were removed from the batch, with a note without their names.
    package mutating func leaveOut(removed digests: [String], from table: FoundTable) throws {
        guard !digests.isEmpty else { return }
        let removed = Set(digests)
        var count = 0
        try table.removeAll { item in
            let isRemoved = removed.contains(ItemRemoval.digest(item.key))
            if isRemoved { count += 1 }
            return isRemoved
        }
        leftOut = count
        if count > 0 { notes.append("\(counted(count, "item")) left out, as removed by `nocturne forget`") }
    }
}
