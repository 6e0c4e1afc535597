import Foundation
import Glibc
import NocturneSystem

extension OutputFolder {
    /// Where a new batch is begun: whether that place is likely a mistake, and what there was before.
    package struct Place: Sendable {
        private let output: OutputFolder
        /// Whether no batch is there yet.
        package let isNew: Bool
        private let hadFolder: Bool
        private let hadHiddenFolder: Bool
        /// Names of files about the whole batch, or of this kind, that were there.
        private let earlierReports: Set<String>

        /// Looks at the place.
        package init(_ output: OutputFolder) {
            self.output = output
            isNew = output.shard == nil && !output.holdsBatch
            hadFolder = FileSystem.kind(output.path) != .nothing
            hadHiddenFolder = FileSystem.kind(output.hidden) != .nothing
            earlierReports = Set(
                OutputFolder.reportNames.filter { FileSystem.kind(output.path + "/" + $0) != .nothing }
            )
        }

        /// - Parameter inputs: files and folders to be processed.
        /// - Throws: ``BatchError`` for a place that nobody wants results in. Nothing was written.
        package func check(inputs: [String]) throws(BatchError) {
            guard isNew, let objection = objection(inputs) else { return }
            throw BatchError(
                .outputUnwritable,
                path: "",
                detail:
                    "\(output.path) is \(objection), and results would be mixed with its files. Choose another folder with --output"
            )
        }

        private func objection(_ inputs: [String]) -> String? {
            let path = Self.real(output.path)
            if path == "/" { return "the root of the file system" }
            if path == Self.home.map(Self.real) { return "your home folder" }
            return inputs.contains { Self.real($0) == path } ? "one of the inputs" : nil
        }

        /// The home folder of this user; nil where there is none. The database of users is not asked: that may open a socket.
        private static var home: String? {
            ProcessInfo.processInfo.environment["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        }

        private static func real(_ path: String) -> String {
            guard let real = realpath(path, nil) else { return path }
            defer { free(real) }
            return String(cString: real)
        }

        /// Removes what a run has made that was refused before it had any item: the folder is as it was.
        package func removeWhatWasMade() {
            // A detached run has its messages there.
            guard isNew, !FileSystem.exists(output.log) else { return }
            if !hadHiddenFolder { FileSystem.remove(output.hidden) }
            for name in OutputFolder.reportNames where !earlierReports.contains(name) {
                FileSystem.remove(output.path + "/" + name)
            }
            // Only if nothing is in it.
            if !hadFolder { FileSystem.removeEmptyFolder(output.path) }
        }
    }
}

extension BatchError {
    /// Whether it refuses a batch because of what was asked for, before anything is processed.
    package var refusesBatch: Bool {
        switch code {
        case .nothingMatched, .inputMissing, .modelUnusable, .optionsUnusable, .notABatch: true
        default: false
        }
    }
}
