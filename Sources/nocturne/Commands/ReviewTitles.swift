import ArgumentParser
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport

extension Review {
    struct Titles: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "titles",
            abstract: "List the objects found in photos, or import titles that another tool has read on them.",
            discussion: """
                Without --import, a table of all objects is printed as CSV: item, object, class, state, thumbnail, and the texts to \
                fill in: \(texts.joined(separator: ", ")). result.json of each item names the crops to read. Texts are kept in the \
                batch's journal: result files stay as they are, and a result that changes later loses its texts. An imported row \
                replaces all texts of its object; a row without any leaves them as they are, and a hyphen (-) in place of a text \
                removes it.
                With --catalogue, objects whose text, as a model has read it, is certainly a title of the table get its title and \
                author, with the score of the match: the share of equal letters, at least 0.8, and 0.1 above that of every other title.
                """
        )

        /// The names of the texts that recipes ask for. Help and tables follow when a recipe is added to the registry.
        private static var texts: [String] { RecipeRegistry.all.objectTexts }

        @Argument(help: "The batch's output folder.", completion: .batch)
        var output: String

        @Option(
            name: .customLong("import"),
            help: ArgumentHelp(
                "Take over the texts in this CSV file: item, object, \(texts.joined(separator: ", ")). Repeatable.",
                valueName: "file"
            ),
            completion: .file()
        )
        var imports: [String] = []

        @Option(
            help: ArgumentHelp(
                "Compare what a model has read with the titles in this CSV file: \(texts.joined(separator: ", ")).",
                valueName: "file"
            ),
            completion: .file()
        )
        var catalogue: String?

        func run() async throws {
            let folder = OutputFolder(absolutePath(output))
            try await folder.checkIsWhole()
            // All files are read before the journal is opened for writing: a wrong line in one of them changes nothing.
            let titles = try catalogue.map { try KnownTitles.read(absolutePath($0), fields: Self.texts) }
            guard !imports.isEmpty || titles != nil else {
                let contents = try await ExistingBatch.contents(of: folder)
                // Nothing is given to be kept, so the batch is only read, also while a run is active.
                for line in ObjectTextTable.lines(contents.items, contents.parts, fields: Self.texts) {
                    try Terminal.printResult(line)
                }
                return
            }
            let tables = try imports.map { try ObjectTextTable.read(absolutePath($0), fields: Self.texts) }
            var (summary, matches) = ("", true)
            _ = try await ExistingBatch.renewal(of: folder).write { journal in
                // Read within the renewal, whose lock keeps a run from changing items and parts meanwhile.
                let items = try await journal.items()
                let parts = try await journal.parts()
                let matched = titles.map { [ObjectTextTable($0, items: items, parts: parts)] } ?? []
                // What a table or a person gives counts more than a match: it is kept last.
                let taken = ObjectTextTable.Import(matched + tables, items: items, parts: parts)
                try await journal.keep(taken.texts)
                summary = taken.summary(try await journal.parts())
                matches = !taken.texts.isEmpty || taken.unknown.isEmpty
            }
            try Terminal.printResult(summary)
            if !matches { throw NocturneExit.nothingMatched }
        }
    }
}
