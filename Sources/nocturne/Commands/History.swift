import ArgumentParser
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem

struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract:
            "List the items of several batches in the order of time, and how each subject's measures have changed.",
        discussion: """
            The table of --subjects has the subject and the date of each item: columns item (or image, image_id, \
            isic_id, file), subject (or patient, patient_id), lesion (or lesion_id) and date (2026-03-01). The table of \
            --metadata may be used, if it has these columns. Without a date, the time at which the item was completed counts. \
            Values are compared with those of the same subject, lesion and model before. Nothing is written but the table of --table.
            """
    )

    @Argument(help: "The output folders of the batches.", completion: .batch)
    var outputs: [String]

    @Option(
        help: ArgumentHelp("Take subjects and dates from this CSV file: item, subject, date.", valueName: "file"),
        completion: .file()
    )
    var subjects: String?

    @Option(help: ArgumentHelp("List only the items of this subject or lesion.", valueName: "name"))
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
            throw ValidationError("--subject needs the table of --subjects, which assigns items to subjects.")
        }
    }

    func run() async throws {
        var batches: [BatchHistory.Batch] = []
        var seen: Set<FileIdentity> = []
        // A batch that is named twice, also by a link, counts once.
        // The path as the user has written it is kept: it distinguishes the batches in the table.
        for output in outputs where FileIdentity(absolutePath(output)).map({ seen.insert($0).inserted }) ?? true {
            batches.append((output, try await BatchContents.read(OutputFolder(absolutePath(output)))))
        }
        let known = try subjects.map { try SubjectTable.read(absolutePath($0)) }
        let items = batches.flatMap(\.contents.items)
        let path = absolutePath(subjects ?? "")
        try known?.checkMatches(items, path: path)
        if let subject { try known?.checkSubject(subject, path: path) }
        let remarks = [known?.note, known?.unmatchedText(items), known?.ambiguousText(items)]
        for text in remarks.compactMap(\.self) { Terminal.printMessage(text) }
        let history = BatchHistory(batches, subjects: known, only: subject)
        // Before the report, so that a table that cannot be written is an error without a report.
        if let table { try WrittenFile.write(table: history.table, to: absolutePath(table)) }
        if json { try Terminal.printJSON(history) } else { try Terminal.printResult(history.text) }
        if history.entries.isEmpty { throw NocturneExit.nothingMatched }
    }
}

/// What `history` prints for a person.
extension BatchHistory {
    var text: String {
        guard !entries.isEmpty else {
            return "No item was found. Check the folders, and with --subject the name in the table of --subjects."
        }
        let head = ["date", "subject", "batch", "item", "state", "result"]
        let rows = entries.map { entry in
            [
                // The day, of a timestamp that begins with the date. JSON and --table have the whole text.
                entry.date.map { String($0.prefix(10)) } ?? "-", entry.subject ?? "-", entry.batch, entry.item,
                entry.state, entry.result,
            ]
        }
        var lines = [Terminal.table([head] + rows)]
        let changed = courses.filter { !$0.isConstant }
        if !changed.isEmpty {
            let hasModels = Set(changed.map(\.measure.model)).count > 1
            let head = ["subject"] + (hasModels ? ["model"] : []) + ["label", "measure", "values", "change"]
            let rows = changed.map { course in
                [course.subject] + (hasModels ? [course.measure.model] : []) + [
                    course.measure.label,
                    MeasureText.title(course.measure.measure, course.measure.unit),
                    course.values.map(MeasureText.number).joined(separator: " → "),
                    // Numbers have a minus already; the plus shows that this is a difference, not a value.
                    (course.change > 0 ? "+" : "") + MeasureText.number(course.change),
                ]
            }
            lines += ["", "Over time, first to last:", Terminal.table([head] + rows)]
        }
        let constant = courses.count - changed.count
        if constant > 0 {
            // For instance of labels that no item has: a row for each would hide those that changed.
            lines += ["", "\(counted(constant, "measure")) did not change over time; --table FILE has every value."]
        }
        if hasSimultaneousItems {
            lines += ["", "Items of one subject and day, or without dates of one batch, are listed and not compared."]
        }
        return (lines + ["", Disclaimer.text]).joined(separator: "\n")
    }
}
