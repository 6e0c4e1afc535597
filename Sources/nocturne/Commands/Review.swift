public import ArgumentParser
public import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneReview

struct Review: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "Write the review page and import marks, adopt an edited label map, or import titles of objects.",
        discussion: """
            `nocturne review OUT` is the same as `nocturne review page OUT`. A folder with the name of a subcommand is given \
            as ./NAME.
            """,
        subcommands: [Page.self, Adopt.self, Titles.self],
        defaultSubcommand: Page.self
    )

    /// The default subcommand, so that `nocturne review OUT` needs no further word.
    struct Page: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "page",
            abstract: "Write the review page again, import marks of reviewers, or list them.",
            discussion: """
                Open index.html in the output folder with a browser. Marks are kept in the browser; "Save review.json" writes \
                them to a file for --import. An imported file may be repeated: the newest mark of each person counts.
                """
        )

        @Argument(help: "The batch's output folder.", completion: .batch)
        var output: String

        @Option(
            name: .customLong("import"),
            help: ArgumentHelp(
                "Take over the marks in this file, which the page has saved. May be repeated.",
                valueName: "file"
            ),
            completion: .file()
        )
        var imports: [String] = []

        @Option(
            help: ArgumentHelp(
                "Compare values with the ranges in this CSV file from now on: label, measure, low, high; optionally model.",
                valueName: "file"
            ),
            completion: .file()
        )
        var norms: String?

        @Option(help: "Print the inputs of the items with this verdict, one a line, as run --list reads them.")
        var list: ReviewVerdict?

        func run() async throws {
            let folder = OutputFolder(absolutePath(output))
            // Items of a divided batch are in the journals of its shards until these are merged.
            try await folder.checkIsWhole()
            // Read before anything is kept, so that a file that cannot be used leaves all marks as they were.
            let files = try imports.map { try ReviewFile.read(absolutePath($0)) }
            let ranges = try norms.map { try ReferenceRange.read(absolutePath($0)) }
            // A list alone changes nothing.
            if list == nil || !files.isEmpty || ranges != nil { try await renew(folder, files, ranges) }
            guard let list else { return }
            for line in try await ExistingBatch.inputs(of: folder, marked: list) { try Terminal.printResult(line) }
        }

        /// Keeps marks and ranges, and writes the page again.
        /// - Parameter ranges: nil leaves those that the batch has.
        private func renew(_ folder: OutputFolder, _ files: [ReviewFile], _ ranges: [ReferenceRange]?) async throws {
            // The report is written by one process at a time, and the run writes it anyway.
            if BatchLock.state(of: folder).isHeld {
                // A run changes no marks and ranges, and SQLite lets one process write after the other.
                if !files.isEmpty || ranges != nil {
                    let taken = try await Journal.with(path: folder.journal) {
                        try await Self.keep(files, ranges, in: $0)
                    }
                    if let taken { try show(taken) }
                }
                return try show("The page is \(folder.page). The active run renews it, every half minute at most.")
            }
            var taken: String?
            let outcome = try await ExistingBatch.renewal(of: folder).write {
                taken = try await Self.keep(files, ranges, in: $0)
            }
            if let taken { try show(taken) }
            if let text = outcome.remarks.unusedRangesText { Terminal.printMessage(text) }
            try show("The page is \(folder.page).")
        }

        /// Prints what was done. With a list, standard output has nothing else, since `run --list -` may read it.
        private func show(_ text: String) throws {
            if list == nil { try Terminal.printResult(text) } else { Terminal.printMessage(text) }
        }

        /// Keeps marks and ranges in the journal; the caller writes the page afterwards.
        /// - Parameter ranges: nil leaves those that the batch has.
        /// - Returns: how many marks were taken over; nil without a file of them.
        private static func keep(
            _ files: [ReviewFile],
            _ ranges: [ReferenceRange]?,
            in journal: Journal
        ) async throws -> String? {
            if let ranges { try await journal.expect(ranges) }
            guard !files.isEmpty else { return nil }
            // Compared with the present results, so that stale marks can be counted.
            let taken = ReviewFile.Import(
                files,
                items: try await journal.items(),
                recorded: try await journal.marks()
            )
            try await journal.keep(taken.marks)
            return taken.summary
        }
    }
}

extension ReviewVerdict: ExpressibleByArgument {}
