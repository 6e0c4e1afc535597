import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneReview
import NocturneSystem

struct Enrich: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrich",
        abstract: "List the objects found in photos, or import titles that another tool has read on them.",
        discussion: """
            Without --import, a table of all objects is printed as CSV: item, object, class, state, thumbnail, and the texts to \
            fill in: \(texts.joined(separator: ", ")). result.json of each item names the crops to read. Texts are kept in the \
            batch's journal: result files stay as they are, and a result that changes later loses its texts.
            """
    )

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

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        try await folder.checkIsWhole()
        guard !imports.isEmpty else {
            let contents = try await ExistingBatch.contents(of: folder)
            for line in ObjectTextTable.lines(contents.items, contents.parts, fields: Self.texts) {
                Terminal.printResult(line)
            }
            return
        }
        let tables = try imports.map { try ObjectTextTable.read(absolutePath($0), fields: Self.texts) }
        _ = try await ExistingBatch.renewal(of: folder).write { journal in
            let items = try await journal.items()
            let taken = ObjectTextTable.Import(tables, items: items, parts: try await journal.parts())
            try await journal.keep(taken.texts)
            Terminal.printResult(taken.summary)
        }
    }
}
