internal import GRDB
import NocturneSystem

/// The files of the inputs, and what recipes claim of them.
extension FoundTable {
    /// A file by the path under which the walk has found it, and its device and inode, which all names of it share.
    package typealias WalkedFile = (file: FoundFile, identity: FileIdentity)

    /// Adds files, each once.
    ///
    /// Equal strings can be different names on disk, since a letter can be encoded as one Unicode scalar or as two. Paths
    /// identify files, so only the first of such names is used.
    /// - Returns: those whose path is equal to another one that differs in its bytes.
    package func add(_ files: [WalkedFile]) throws(JournalError) -> [FoundFile] {
        try change { db in
            let insert = try db.cachedStatement(sql: Self.fileInsertion)
            var equivalent: [FoundFile] = []
            for walked in files {
                let (file, sort) = (walked.file, JournalSchema.canonical(walked.file.path))
                // SQLite's integers are signed: the bits are kept, and the values are only compared for equality.
                let identity = (Int64(bitPattern: walked.identity.device), Int64(bitPattern: walked.identity.inode))
                try insert.execute(arguments: [file.path, file.name, file.root, sort, identity.0, identity.1])
                guard db.changesCount == 0 else { continue }
                let known = try String.fetchOne(
                    db.cachedStatement(sql: "SELECT path FROM file WHERE sort = ?"),
                    arguments: [sort]
                )
                if let known, !known.utf8.elementsEqual(file.path.utf8) { equivalent.append(file) }
            }
            return equivalent
        }
    }

    /// Adds files that other files list. They are not among those of ``containsFile(_:)`` and ``contains(identity:)``.
    package func addListed(_ files: [FoundFile]) throws(JournalError) {
        try change { db in
            let insert = try db.cachedStatement(sql: Self.fileInsertion)
            for file in files {
                let sort = JournalSchema.canonical(file.path)
                try insert.execute(arguments: [file.path, file.name, file.root, sort, nil, nil])
            }
        }
    }

    private static let fileInsertion = """
        INSERT OR IGNORE INTO file (path, name, root, sort, device, inode) VALUES (?, ?, ?, ?, ?, ?)
        """

    /// Some files after a number, in the order in which they were added.
    package func files(after last: Int64) throws(JournalError) -> [(number: Int64, file: FoundFile)] {
        try use { db in
            let sql = "SELECT number, path, name, root FROM file WHERE number > ? ORDER BY number LIMIT ?"
            return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
                .map { (number: $0[0] as Int64, file: FoundFile(path: $0[1], name: $0[2], root: $0[3])) }
        }
    }

    /// Calls `body` with the files in the order in which they were added, some at a time; also with those that it adds.
    package func forEachFile(_ body: ([(number: Int64, file: FoundFile)]) throws -> Void) throws {
        try forEachPortion(number: \.number, body) { last in try files(after: last) }
    }

    /// Whether the walk has found a file at this path.
    package func containsFile(_ path: String) throws(JournalError) -> Bool {
        try use { db in
            let sql = "SELECT EXISTS (SELECT 1 FROM file WHERE sort = ? AND inode IS NOT NULL)"
            let path = JournalSchema.canonical(path)
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [path]) ?? false
        }
    }

    /// Whether the walk has found a file whose path begins so and fulfils a condition.
    package func containsFile(
        beginning prefix: String,
        where isMeant: (_ path: String) -> Bool
    ) throws(JournalError) -> Bool {
        try use { db in
            let prefix = JournalSchema.canonical(prefix)
            let rows = try Row.fetchCursor(
                // The unique index on `sort` gives the rows in order: the first one with another beginning ends the
                // search.
                db.cachedStatement(sql: "SELECT path, sort, inode IS NOT NULL FROM file WHERE sort >= ? ORDER BY sort"),
                arguments: [prefix]
            )
            while let row = try rows.next(), (row[1] as String).utf8.starts(with: prefix.utf8) {
                let isWalked: Bool = row[2]
                if isWalked, isMeant(row[0]) { return true }
            }
            return false
        }
    }

    /// How many files were found.
    package func fileCount() throws(JournalError) -> Int {
        try use { db in try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM file") ?? 0 }
    }

    /// Whether the walk has found a file under any of its names.
    package func contains(identity: FileIdentity) throws(JournalError) -> Bool {
        try use { db in
            // Only a few recipes ask for identities: the index is made by the first of them.
            try db.execute(sql: "CREATE INDEX IF NOT EXISTS temp.fileIdentity ON file (inode, device)")
            let sql = "SELECT EXISTS (SELECT 1 FROM file WHERE inode = ? AND device = ?)"
            let identity = [Int64(bitPattern: identity.inode), Int64(bitPattern: identity.device)]
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: StatementArguments(identity)) ?? false
        }
    }

    // MARK: Claims

    /// A file that a recipe has claimed.
    package struct Claimed: Sendable {
        /// The file's number in the table.
        package let file: Int64
        /// The index of the recipe.
        package let recipe: Int
        /// Nil for a file that belongs to another one.
        package let family: String?
        /// Whether reading it timed out: the recipe then reports it without opening it again.
        package let isUnresponsive: Bool

        /// - Parameters:
        ///   - file: its number in the table.
        ///   - recipe: the index of the recipe that claims it.
        ///   - family: what all files of one family have in common; nil for a file that belongs to another one.
        ///   - isUnresponsive: whether reading it timed out.
        package init(file: Int64, recipe: Int, family: String?, isUnresponsive: Bool) {
            (self.file, self.recipe, self.family, self.isUnresponsive) = (file, recipe, family, isUnresponsive)
        }
    }

    /// Records claims, and why no recipe has claimed the other files.
    package func add(
        _ claims: [Claimed],
        unclaimed: [(file: Int64, reason: ItemReason)]
    ) throws(JournalError) {
        try change { db in
            let claim = try db.cachedStatement(
                sql: "INSERT INTO claim (recipe, family, file, isUnresponsive) VALUES (?, ?, ?, ?)"
            )
            for own in claims {
                let family = own.family.map(JournalSchema.canonical)
                try claim.execute(arguments: [own.recipe, family, own.file, own.isUnresponsive])
            }
            let none = try db.cachedStatement(
                sql: "INSERT INTO unclaimed (file, code, reason) VALUES (?, ?, ?)"
            )
            for (file, reason) in unclaimed {
                try none.execute(arguments: [file, reason.code.rawValue, reason.sentence.column])
            }
        }
    }

    /// Prepares ``families(of:after:)`` and ``isClaimed(_:besides:)``.
    package func endClaims() throws(JournalError) {
        // After all rows are in: one sort is cheaper than keeping the index in order with each of them.
        try execute("CREATE INDEX temp.claimFamily ON claim (recipe, family) WHERE family IS NOT NULL")
    }

    /// Whole families of a recipe after one, each sorted by path.
    /// - Returns: about 1,000 files, or about 4,000 where these are fewer than eight families, or one larger family; and the name
    ///   of the last family. Nil when there are no more.
    package func families(
        of recipe: Int,
        after last: String?
    ) throws(JournalError) -> (families: [[FoundFile]], last: String)? {
        try use { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT c.family, f.path, f.name, f.root, c.isUnresponsive
                        FROM claim c JOIN file f ON f.number = c.file
                        WHERE c.recipe = ? AND c.family IS NOT NULL AND c.family > ? ORDER BY c.family
                        """
                ),
                arguments: [recipe, last ?? ""]
            )
            var (families, count): ([[FoundFile]], Int) = ([], 0)
            var last: String?
            while let row = try rows.next() {
                let family: String = row[0]
                var file = FoundFile(path: row[1], name: row[2], root: row[3])
                file.isUnresponsive = row[4]
                if family == last {
                    families[families.count - 1].append(file)
                } else {
                    // Families are worked on in parallel: those of hundreds of files should be several.
                    if count >= (families.count < 8 ? 4 : 1) * Self.itemsAtOnce { break }
                    families.append([file])
                    last = family
                }
                count += 1
            }
            // Sorted here and not in SQL, whose order of texts is by bytes: paths are compared as Swift compares
            // strings.
            for index in families.indices where families[index].count > 1 { families[index].sort() }
            return last.map { (families, $0) }
        }
    }

    /// Whether other recipes have claimed a file, too.
    package func isClaimed(_ path: String, besides recipe: Int) throws(JournalError) -> Bool {
        try use { db in
            try db.execute(sql: "CREATE INDEX IF NOT EXISTS temp.claimFile ON claim (file)")
            let sql = """
                SELECT EXISTS (SELECT 1 FROM claim c JOIN file f ON f.number = c.file WHERE f.sort = ? AND c.recipe <> ?)
                """
            let path = JournalSchema.canonical(path)
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [path, recipe]) ?? false
        }
    }

    /// Calls `body` with the files that nobody has claimed, and why, some at a time.
    package func forEachUnclaimed(_ body: ([(file: FoundFile, reason: ItemReason)]) throws -> Void) throws {
        try forEachPortion(number: { (row: Row) in row[5] }) { (rows: [Row]) in
            try body(
                rows.map { row in
                    let file = FoundFile(path: row[0], name: row[1], root: row[2])
                    return (file, ItemReason.discovered(FaultCode(rawValue: row[3]), Sentence(column: row[4])))
                }
            )
        } read: { last in
            try use { db in
                let sql = """
                    SELECT f.path, f.name, f.root, u.code, u.reason, u.file FROM unclaimed u JOIN file f ON f.number = u.file
                    WHERE u.file > ? ORDER BY u.file LIMIT ?
                    """
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
            }
        }
    }
}
