import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneSystem

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look whether this machine is fit for a night: libraries, processor, memory, disk, engines, clock.",
        discussion: "Leaves with 1 when something would make a run fail. Warnings do not count."
    )

    @Option(name: [.short, .long], help: "The folder that results would go to. Default: the current one.")
    var output = "."

    @Option(name: [.customShort("m"), .long], help: "A model package to run one patch of.")
    var model: String?

    @Flag(help: "As JSON.")
    var json = false

    func run() async throws {
        var report = HealthReport(version: Nocturne.version)
        report.examineProcessor()
        report.examineMemory()
        report.examineClock()
        report.examineLibraries()
        report.examineDisk(absolutePath(output))
        report.examineOpenVINO()
        try await report.examineModels(one: model)
        if json { try Terminal.printJSON(report) } else { print(report.text) }
        if report.hasFault { throw NocturneExit.internalError }
    }
}
