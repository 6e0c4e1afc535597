import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneRecipes
import NocturneReview
import NocturneSystem

struct Enrich: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "List the objects found in photos, or take over titles and authors that another tool has read on them.",
        discussion: """
            Without --import, a table of all objects is printed as CSV: item, object, class, state, thumbnail, title, author. \
            Fill in titles and authors and import it. result.json of each item names the crops to read. Texts are kept in the \
            batch's journal: result files stay as they are, and a result that changes later loses its texts.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "Take over the titles and authors in this CSV file: item, object, title, author. May be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var imports: [String] = []

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try ExistingBatch.check(folder)
        try await folder.checkIsWhole()
        guard !imports.isEmpty else {
            let contents = try await ExistingBatch.contents(of: folder)
            for line in ObjectTextTable.lines(contents.items, contents.parts) { Terminal.printResult(line) }
            return
        }
        let tables = try imports.map { try ObjectTextTable.read(absolutePath($0)) }
        let results = RecipeResults()
        let renewal = ReportRenewal(folder, page: ReviewPage { results.reviewParts(of: $0) })
        _ = try await renewal.write { journal, items in
            let taken = ObjectTextImport(tables, items: items, parts: try await journal.parts())
            try await journal.keep(taken.texts)
            Terminal.printResult(taken.summary)
        }
    }
}
