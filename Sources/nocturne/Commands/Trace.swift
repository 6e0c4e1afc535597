import ArgumentParser
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes

struct Trace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Write when each item was in which stage, as a trace for Perfetto or Chrome's trace viewer."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "The file to write: JSON.", completion: .file())
    var file: String

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        try WrittenFile.writeTrace(of: folder, to: absolutePath(file))
    }
}
