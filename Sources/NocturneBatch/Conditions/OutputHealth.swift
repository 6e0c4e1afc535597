import Glibc
import NocturneConcurrency
import NocturneOutput
import NocturneSystem

/// Whether the output folder is still the one that the run started with, and can be written.
///
/// Asked when an item fails: a share that is gone, a folder that was moved, or a disk that became read-only is a failure of
/// the batch and not of the thousands of items which would fail one after the other.
struct OutputHealth: Sendable {
    let output: OutputFolder
    /// The batch's lock, as the run holds it open.
    let lock: BatchLock
    let time: any TimeSource
    /// For the attempts to write, which may take as long as the disk pleases.
    let probes: BlockingPool

    /// Between two attempts, where the error may pass: a share that does not answer for a moment is not lost.
    static let retryDelays: [Duration] = [.seconds(2), .seconds(4)]

    static let lossReason = "a run on another machine has taken over the output folder"

    /// What is wrong with it; nil when nothing is, or when it is only full.
    func fault() async -> String? {
        for delay in OutputHealth.retryDelays {
            guard let finding = await finding() else { return nil }
            guard finding.mayPass, (try? await time.sleep(for: delay)) != nil else { return finding.text }
        }
        return await finding()?.text
    }

    /// Returns while the folder is this run's: at once, unless the process was silent for long.
    /// - Throws: `CancelledError` when another run has it, and nothing more may be written.
    nonisolated(nonsending) func checkHold() async throws(CancelledError) {
        let isHeld = if let isHeld = lock.holdsFolderForNow { isHeld } else { await probes.run { lock.holdsFolder } }
        if !isHeld { throw CancelledError() }
    }

    private struct Finding {
        let text: String
        let mayPass: Bool

        init(_ text: String, _ code: Int32?) {
            self.text = code.map { "\(text): \(errnoText($0))" } ?? text
            mayPass = code.map { [EIO, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH].contains($0) } ?? false
        }
    }

    private func finding() async -> Finding? {
        await probes.run { [self] in
            switch lock.place(in: output) {
            case .same where !lock.beat(): Finding(Self.lossReason, nil)
            case .same:
                refusal().map { Finding("the output folder can no longer be written", $0) } ?? workFault
            case .another:
                Finding("the output folder is no longer there: it was moved, deleted or unmounted", nil)
            case .unknown(let code): Finding("the output folder no longer answers", code)
            }
        }
    }

    private var workFault: Finding? {
        guard let work = output.work, FileSystem.kind(work) != .folder else { return nil }
        return Finding("the folder for work is no longer there: \(work)", nil)
    }

    /// Writes, flushes and removes a small file.
    private func refusal() -> Int32? {
        let path = output.hidden + "/.written-\(getpid())"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return OutputHealth.grave(errno) }
        defer {
            close(descriptor)
            FileSystem.remove(path)
        }
        let written = "x".withCString { write(descriptor, $0, 1) }
        guard written == 1, fsync(descriptor) == 0 else { return OutputHealth.grave(errno) }
        return nil
    }

    /// A full disk is waited for elsewhere, and too many open files are this process's own.
    private static func grave(_ code: Int32) -> Int32? {
        [ENOSPC, EDQUOT, ENFILE, EMFILE, EINTR, EAGAIN].contains(code) ? nil : code
    }
}
