public import NocturneJournal
public import NocturneSystem
import Synchronization

/// What a recipe may ask about the files of the inputs. Every answer throws if the table of files cannot be read.
public struct InputFiles: Sendable {
    private let table: FoundTable

    /// The files of the search that fills this table.
    package init(_ table: FoundTable) { self.table = table }

    /// Whether the inputs have a file at this path.
    public func contains(_ path: String) throws -> Bool { try table.containsFile(path) }

    /// How many files there are; those that other files list are added later.
    public func count() throws -> Int { try table.fileCount() }

    /// Whether the inputs have a file whose path begins so and fulfils a condition.
    public func contains(beginning prefix: String, where isMeant: (_ path: String) -> Bool) throws -> Bool {
        try table.containsFile(beginning: prefix, where: isMeant)
    }

    /// Whether the inputs have this file, be it under another name.
    public func containsFile(at path: String) throws -> Bool {
        guard let identity = FileIdentity(path) else { return false }
        return try table.contains(identity: identity)
    }
}

/// What one search of the inputs is for one recipe: it claims files, and makes items of those that it has claimed.
public protocol InputClaims: Sendable {
    /// What a file is to the recipe. Called once for each file of the inputs, on several threads; reads no pixels.
    /// - Throws: what ends the search, such as a table of files that cannot be read; a damaged file is a claim.
    func claim(_ file: FoundFile) throws -> FileClaim

    /// What headers state of patients, by the folders of their files: called when all files were offered.
    func soughtWords() -> [String: SoughtWords]

    /// Makes the items of some whole families.
    /// - Parameters:
    ///   - families: the files of each, sorted by path.
    ///   - patients: what identifies patients in paths.
    ///   - items: takes the items in any order; their ranks and orders put them into the order of discovery.
    func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws

    /// Called after the last family.
    /// - Returns: remarks that are not about a single item.
    func finish(_ items: FoundItems) throws -> [String]
}

extension InputClaims {
    /// None.
    public func soughtWords() -> [String: SoughtWords] { [:] }

    /// Nothing.
    public func finish(_ items: FoundItems) throws -> [String] { [] }
}

/// Takes the items that a recipe finds, one after the other, and hands them over some at a time: whatever their number, a recipe
/// keeps none.
public final class FoundItems: Sendable {
    private struct Portion {
        private var items: [DiscoveredItem] = []
        private var bytes = 0

        /// - Returns: the items, once they are a whole portion.
        mutating func add(_ item: DiscoveredItem) -> [DiscoveredItem]? {
            items.append(item)
            bytes += item.bytes
            return items.count == FoundTable.itemsAtOnce || bytes > FoundTable.bytesAtOnce ? remove() : nil
        }

        mutating func remove() -> [DiscoveredItem] {
            defer { self = Portion() }
            return items
        }
    }

    private let isClaimed: @Sendable (String) throws -> Bool
    private let take: @Sendable ([DiscoveredItem]) throws -> Void
    private let portion = Mutex(Portion())
    /// A whole portion, which is handed over while the recipe finds the next items.
    private let waiting = Mutex<[DiscoveredItem]>([])

    /// - Parameters:
    ///   - isClaimed: whether another recipe has claimed the file at a path.
    ///   - take: called with the items of each portion, in the order in which they were added.
    package init(
        isClaimed: @escaping @Sendable (String) throws -> Bool = { _ in false },
        take: @escaping @Sendable ([DiscoveredItem]) throws -> Void
    ) {
        (self.isClaimed, self.take) = (isClaimed, take)
    }

    /// - Throws: what the receiver throws, such as a full disk.
    public func add(_ item: DiscoveredItem) throws {
        let whole = portion.withLock { $0.add(item) }
        // The one before may still wait if the recipe finds more than one portion in some families.
        if let whole { try handOver(thenKeeping: whole) }
    }

    /// As ``add(_:)`` of each, in this order.
    public func add(contentsOf items: some Sequence<DiscoveredItem>) throws {
        for item in items { try add(item) }
    }

    /// Adds an item for a file that the recipe has claimed and has no use for, unless another recipe has claimed it too.
    public func add(_ item: DiscoveredItem, unlessOthersClaim file: FoundFile) throws {
        if try !isClaimed(file.path) { try add(item) }
    }

    /// Hands over the portion that waits. May be called while items are added.
    package func handOver() throws { try handOver(thenKeeping: []) }

    /// Hands over all items that are left.
    package func finish() throws {
        try handOver(thenKeeping: portion.withLock { $0.remove() })
        try handOver()
    }

    private func handOver(thenKeeping next: [DiscoveredItem]) throws {
        try waiting.withLock { waiting in
            if !waiting.isEmpty { try take(waiting) }
            waiting = next
        }
    }
}
