import ArgumentParser
import NocturneRecipeSupport
import NocturneRecipes

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check that this machine can run a batch: libraries, processor, memory, disk, engines, clock.",
        discussion: "Exits with 1 if a fault would make a run fail. Warnings do not count."
    )

    @Option(
        name: [.short, .long],
        help: "The output folder to check. Default: the current folder.",
        completion: .directory
    )
    var output = "."

    @Option(name: [.customShort("m"), .long], help: "A model package to run on one patch.", completion: .model)
    var model: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = await HealthReport(
            version: Program.version,
            folder: absolutePath(output),
            model: model,
            time: Program.time
        )
        // Printed with a fault too: the exit code does not show which finding it is.
        if json { try Terminal.printJSON(report) } else { try Terminal.printResult(report.text) }
        if report.hasFault { throw NocturneExit.internalError }
    }
}
