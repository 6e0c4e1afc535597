import ArgumentParser
import Foundation
import NocturnePipeline

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read every result again and compare it with the journal."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Flag(help: "As JSON.")
    var json = false

    func run() throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try ExistingBatch.description(of: folder)
        if let process = BatchLock.holder(of: folder) {
            throw BatchError(.outputInUse, path: folder.path, detail: "process \(process) is working on this batch")
        }
        let report = try BatchVerification(folder).run()
        if json {
            try Terminal.printJSON(report)
        } else {
            for fault in report.faults { print("\(fault.path): \(fault.detail)") }
            print(
                "\(report.itemsChecked) items, \(report.filesChecked) files, \(report.bytesChecked) bytes read; "
                    + (report.faults.isEmpty ? "all as recorded." : "\(report.faults.count) faults.")
            )
        }
        if !report.faults.isEmpty { throw NocturneExit.someFailed }
    }
}
