import ArgumentParser
import NocturneBatch
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor

struct Watch: EngineCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Process the inputs, then new files in the input folders, until stopped.",
        discussion: """
            An item is started once none of its files has changed for a while, and repeated when they change later. \
            The output folder holds the same batch and journal as with run: status, cancel and resume work on it.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup(title: ShortHelp.title) var place: PlaceArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: ShortHelp.title) var answer: ConsentArguments
    @OptionGroup(title: ShortHelp.title) var show: OutputArguments
    @OptionGroup var process: ProcessArguments

    /// Where results are written.
    struct PlaceArguments: ParsableArguments {
        @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
        var output: String
    }

    @Option(
        help: "Time without a change after which files count as complete, such as 90s or 2m. Default: 60 seconds.",
        transform: DurationLimit.parse
    )
    var settle = DurationLimit(seconds: 60)

    @Option(
        help: ArgumentHelp(
            """
            Keep this number of the newest results, or those of some days (30d), and remove older ones after each round. \
            Never removed are sources, results that were edited or got files of yours, and, once reviewers have marked any \
            result, those without a mark.
            """,
            valueName: "items|days"
        ),
        transform: Retention.parse
    )
    var keep: Retention?

    @Option(
        help: ArgumentHelp(
            "With --keep: remove only this of older results. Label maps, measures and the crops of photos stay.",
            valueName: "meshes,pictures",
            visibility: .more
        ),
        transform: DisplayFiles.kinds
    )
    var drop: Set<DisplayFiles>?

    @Option(
        help: ArgumentHelp(
            "Stop watching once this file exists. Default: the file stop in the output folder.",
            visibility: .more
        )
    )
    var stopFile: String?

    func validate() throws {
        if output.isEmpty { throw ValidationError("--output is empty: name a folder.") }
        if drop != nil, keep == nil {
            throw ValidationError("--drop needs --keep: how many of the newest results stay whole.")
        }
        // 0 takes files at once.
        guard settle.seconds ?? 0 <= 86_400 else { throw ValidationError("--settle takes at most a day.") }
    }

    /// What the watch does, before anything happens.
    private func beginning(_ models: [String]) -> String {
        let inputs = batch.inputs + (batch.selection.list.map { ["the inputs of \($0)"] } ?? [])
        let names = models.isEmpty ? "" : " (\(models.joined(separator: ", ")))"
        // Nil is the duration 0.
        let pause = EventText.duration(Double(settle.seconds ?? 0))
        return "Watching \(inputs.joined(separator: ", "))\(names); files are taken \(pause) after their last change. "
            + "Ctrl-C stops."
    }

    private var output: String { place.output }
    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var keepsInput: Bool { batch.selection.list == "-" }
    var lacksInput: Bool { batch.lacksInput }
    var consent: ChangeConsent? { answer.consent(list: batch.selection.list) }

    func check() throws { try batch.check() }

    /// A service manager starts a watch again that could not continue, but not one whose end was asked for.
    func exitCode(after code: NocturneExit) -> NocturneExit {
        [.unsuitableMachine, .tripped].contains(code) ? .stoppedEarly : code
    }

    func description() async throws -> BatchDescription { try await batch.description(continuing: folder) }

    func run() async throws {
        try await processBatch { request in
            request.isChangeConfirmed = answer.yes
            request.watch = FolderWatcher(
                quietSeconds: settle.seconds ?? 0,
                // Only the default file is removed by the watch: one that the user names is the user's.
                stopFile: stopFile.map(absolutePath) ?? folder.path + "/stop",
                takesStopFile: stopFile == nil
            )
            // Without --keep everything stays; --drop has an effect only together with it.
            request.watch?.retention = keep
            request.watch?.drops = drop ?? []
            // A restart of the engine continues the same watch.
            if !show.quiet, !show.json, ProcessHandover.toEngine?.previousEnd == nil {
                Terminal.printMessage(beginning(request.description.models.map(\.id)))
            }
        }
    }
}
