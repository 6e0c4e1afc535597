import ArgumentParser
import NocturneBatch
import NocturneRecipes
import NocturneSystem

struct Trace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write when each item was in which stage, as a trace for Perfetto or Chrome's trace viewer."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "The file to write: JSON.", completion: .file())
    var file: String

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try ExistingBatch.check(folder)
        try Trace.write(folder, to: absolutePath(file))
    }

    /// - Throws: `BatchError` for a file that cannot be written, or events that cannot be read.
    static func write(_ folder: OutputFolder, to path: String) throws {
        do {
            try folder.writeTrace(to: path)
        } catch let error as FileSystemError {
            throw BatchError(.outputUnwritable, path: path, detail: "the trace was not written: \(error)")
        }
    }
}
