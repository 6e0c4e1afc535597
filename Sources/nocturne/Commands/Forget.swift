import ArgumentParser
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem

struct Forget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove items with every trace of them: results, journal, tables, events, page and logs.",
        discussion: """
            Sources stay as they are, and later runs leave them out. What is deleted is shown first, and has to be confirmed: \
            it cannot be restored. Afterwards every file of the output folder is searched for \
            the names, paths and fingerprints of the items; files in which they still stand are listed, and the exit code is 3.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "Items, by the names of their folders.")
    var items: [String] = []

    @Option(
        parsing: .singleValue,
        help: "All items whose source is this file or folder, or in it, such as a subject's folder. Repeatable."
    )
    var source: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "All items of this subject or lesion in the table of --subjects. Repeatable.",
            valueName: "name"
        )
    )
    var subject: [String] = []

    @Option(
        help: ArgumentHelp("Take subjects from this CSV file, as for history: item, subject.", valueName: "file"),
        completion: .file()
    )
    var subjects: String?

    @Flag(help: "Show what would be deleted, without deleting anything.")
    var dryRun = false

    @Flag(help: "Delete without asking.")
    var yes = false

    func validate() throws {
        if items.isEmpty, source.isEmpty, subject.isEmpty {
            throw ValidationError("Name items, a --source or a --subject.")
        }
        guard subject.isEmpty || subjects != nil else {
            throw ValidationError("--subject needs the table of --subjects, which assigns items to subjects.")
        }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        let description = try await ExistingBatch.description(of: folder)
        try await folder.checkIsWhole()
        // Names are checked before anything is removed, so that a mistake removes nothing.
        let known = try await ExistingBatch.contents(of: folder).items
        let removal = ItemRemoval(try ExistingBatch.renewal(of: folder, description))
        // Items whose removal was interrupted are no longer in the journal, and their files may be left.
        let unfinished = try await removal.unfinished()
        for item in items where !unfinished.contains(item) && !known.contains(where: { $0.name == item }) {
            throw BatchError(noItem: item, in: folder.path, among: known.map(\.name))
        }
        let table = try subjectTable(of: known, in: folder)
        let (names, sources, subjects) = (Set(items), source.map(absolutePath), subject)
        // An item is removed for its name, for a source below a path, or for its subject.
        let isWanted: @Sendable (JournalItem) -> Bool = { item in
            names.contains(item.name) || sources.contains { FileSystem.isWithin(item.path, $0) }
                || table?.entry(item: item.name, path: item.path).map { subjects.contains(where: $0.isOf) } ?? false
        }
        // The same condition selects what is shown and what is removed.
        guard try confirm(await removal.extent(of: isWanted)) else { return }
        let outcome = try await removal.remove(isWanted)
        // Before the result, which may not be possible to print: the items are gone, and the command cannot be repeated.
        if !outcome.remaining.isEmpty {
            Terminal.printMessage(
                "These files in the output folder still name them; this batch did not write them:\n"
                    + outcome.remaining.map { "  " + $0 }.joined(separator: "\n")
            )
        }
        try Terminal.printResult("Removed from the batch: \(outcome.items.joined(separator: ", "))")
        // The user has to remove these files, so the exit code is not 0.
        if !outcome.remaining.isEmpty { throw NocturneExit.someFailed }
    }

    /// The table of `--subjects`: it is read again for every removal, since the batch does not keep it.
    /// - Throws: `BatchError` where it does not name items of each `--subject`, and where a name may be that of somebody else.
    private func subjectTable(of items: [JournalItem], in folder: OutputFolder) throws -> SubjectTable? {
        guard let path = subjects.map(absolutePath) else { return nil }
        let table = try SubjectTable.read(path)
        try table.checkMatches(items, path: path)
        let entries = items.map { (item: $0, entry: table.entry(item: $0.name, path: $0.path)) }
        for subject in subject {
            try table.checkSubject(subject, path: path)
            let own = entries.filter { $0.entry?.isOf(subject) == true }.map(\.item)
            guard !own.isEmpty else {
                throw BatchError(
                    .unknownItem,
                    path: folder.path,
                    detail: "the table of --subjects has no item of the subject \(subject). Nothing was removed"
                )
            }
            if let text = table.ambiguousText(own) {
                throw BatchError(.inputMissing, path: path, detail: text + " Nothing was removed")
            }
        }
        return table
    }

    /// Shows what is deleted, and asks.
    /// - Returns: whether to continue.
    /// - Throws: `ValidationError` where nobody can be asked.
    private func confirm(_ extent: ItemRemoval.Extent) throws -> Bool {
        // Nothing is left but to complete a removal that was interrupted, and that was confirmed then.
        guard !extent.items.isEmpty else { return true }
        // The number of all items is in the sentence; a list of thousands would move it off the screen.
        Terminal.printMessage(
            "\(dryRun ? "Would be deleted" : "To be deleted"): \(counted(extent.files, "file")) "
                + "(\(ByteCount(extent.bytes))) of \(counted(extent.items.count, "item")): "
                + listed(extent.items, most: Self.mostShown) + "."
        )
        if !extent.foreign.isEmpty {
            Terminal.printMessage(
                "Of these files, \(extent.foreign.count) were not written by Nocturne: "
                    + listed(extent.foreign, most: Self.mostShown) + "."
            )
        }
        // --dry-run wins over --yes: the option that deletes nothing is the safe reading of both together.
        if dryRun || yes { return !dryRun }
        guard Terminal.canAsk else {
            throw ValidationError("Give --yes to delete these items, or --dry-run to see them.")
        }
        if Terminal.ask("Delete them?") { return true }
        Terminal.printMessage("Nothing was deleted.")
        return false
    }

    /// How many items are named before they are only counted.
    private static var mostShown: Int { 20 }
}
