import ArgumentParser
import NocturneBatch
import NocturneRecipes
import NocturneSystem

struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "List the items of several batches in the order of time, and how each subject's measures have changed.",
        discussion: """
            The table of --subjects says which subject an item shows and when it was made: columns item (or image, image_id, \
            isic_id, file), subject (or patient, patient_id, lesion_id) and date (2026-03-01). The table of --metadata may be \
            used, if it has these columns. Without a date, the time at which the item was completed counts. Values are compared \
            with those of the same subject and model before. Nothing is written but the table of --table.
            """
    )

    @Argument(help: "The output folders of the batches.", completion: .batch)
    var outputs: [String]

    @Option(
        help: ArgumentHelp("Take subjects and dates from this CSV file: item, subject, date.", valueName: "file"),
        completion: .file()
    )
    var subjects: String?

    @Option(help: ArgumentHelp("List only the items of this subject.", valueName: "name"))
    var subject: String?

    @Option(
        help: ArgumentHelp("Write every value to this file as comma-separated values.", valueName: "file"),
        completion: .file()
    )
    var table: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard subject == nil || subjects != nil else {
            throw ValidationError("--subject needs the table of --subjects, which says whose items are whose.")
        }
    }

    func run() async throws {
        var batches: [BatchHistory.Batch] = []
        for output in outputs {
            batches.append((output, try await BatchContents.read(OutputFolder(absolutePath(output)))))
        }
        let known = try subjects.map { try SubjectTable.read(absolutePath($0)) }
        let history = BatchHistory(batches, subjects: known, only: subject)
        if let table { try FileSystem.replace(absolutePath(table), with: Array(history.table.utf8)) }
        if json { try Terminal.printJSON(history) } else { Terminal.printResult(HistoryText.text(history)) }
    }
}
