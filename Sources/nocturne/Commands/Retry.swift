import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneSupervisor
import NocturneSystem

struct Retry: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try failed, cancelled and quarantined items again, and finish the rest of the batch."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Option(help: "Instead of failed items, process completed ones with this verdict of a reviewer again.")
    var reviewed: ReviewVerdict?

    @Option(
        help: ArgumentHelp(
            "Only items whose reason has this code, or a code of this kind; can be repeated.",
            discussion: "`nocturne status` shows the codes: dicom.missingSlices, or dicom for all of its kind.",
            valueName: "code"
        )
    )
    var code: [String] = []

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    func check() throws {
        try ExistingBatch.check(folder)
        if reviewed != nil, !code.isEmpty { throw ValidationError("--code and --reviewed cannot be combined.") }
    }

    func run() async throws {
        // A restart of the engine continues what the first one began.
        let isFirst = ProcessHandover.toEngine?.previousEnd == nil
        if isFirst, !code.isEmpty { try await checkCodes() }
        if let reviewed, isFirst {
            let count = try await ReviewedItems(in: folder, marked: reviewed).processAgain(Nocturne.time)
            Terminal.printMessage("\(count) items with the verdict \(reviewed.rawValue) are processed again.")
        }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.continued(folder),
                resources: resources,
                show: show,
                retries: reviewed != nil ? .none : code.isEmpty ? .all : .codes(Set(code))
            )
        )
    }

    /// A code that no item has is probably mistyped.
    private func checkCodes() async throws {
        let ended = try await ExistingBatch.contents(of: folder).items.filter {
            [.failed, .cancelled, .quarantined].contains($0.state)
        }
        for code in code where !ended.contains(where: RetrySelection.codes([code]).contains) {
            let known = Set(ended.compactMap(\.reason?.code.rawValue)).sorted()
            throw BatchError(
                .unknownItem,
                path: folder.path,
                detail: "no item that can be tried again has the code \(code); "
                    + (known.isEmpty ? "there is none at all" : "there are \(known.joined(separator: ", "))")
            )
        }
    }
}
