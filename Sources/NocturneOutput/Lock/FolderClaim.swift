import Foundation
import Glibc
import NocturneSystem

/// Which run works on an output folder, for machines that do not share locks.
///
/// `flock` excludes the processes of one machine. On a share it may not exclude those of another machine, or of another mount of
/// the same share. So a run also puts a file `claim.<generation>` into the hidden folder, which only one can make
/// (`O_EXCL`), and rewrites it every ten seconds. ``ClaimStateMachine`` decides when another run may put the next generation in
/// place; whoever was the holder finds that file at its next sign of life, and ends. A claim is left in place as released, so
/// that a generation is never used twice.
package struct FolderClaim: Sendable {
    private let output: OutputFolder
    private let holder: BatchLock.Holder
    /// Counts the runs that have claimed the folder, from 1.
    package let generation: Int

    private static let prefix = "claim."
    /// Older files are kept for machines that still see an old list of the folder.
    private static let keptGenerations = 3
    /// Far more than a claim has.
    private static let sizeLimit = 1 << 14

    /// Whether a run of another machine has the folder, or has not released it.
    package static func isHeldByAnotherMachine(_ output: OutputFolder) -> Bool {
        guard let record = newest(in: output)?.record, !record.isReleased else { return false }
        let (own, other) = (ProcessIdentity.current(), record.holder.process)
        return own.bootID == nil || own.bootID != other.bootID
    }

    private static func path(_ output: OutputFolder, _ generation: Int) -> String {
        output.hidden + "/" + prefix + "\(generation)"
    }

    /// The newest claim in the folder; nil when there is none.
    package static func newest(in output: OutputFolder) -> Found? {
        let generations = generations(in: output)
        guard let generation = generations.max() else { return nil }
        let text = (try? FileSystem.read(path(output, generation), limit: sizeLimit)) ?? []
        // Whatever follows the line is of an earlier, longer text.
        let line = text.prefix { $0 != UInt8(ascii: "\n") }
        let record = try? JSONDecoder().decode(Record.self, from: Data(line))
        return Found(generation: generation, text: text, record: record)
    }

    /// Whether the newest claim was written within the last minutes, by the clocks of the share and of this machine.
    package static func isRecent(in output: OutputFolder) -> Bool {
        var status = stat()
        guard let newest = generations(in: output).max(), stat(path(output, newest), &status) == 0 else { return false }
        return abs(time(nil) - status.st_mtim.tv_sec) < 300
    }

    private static func generations(in output: OutputFolder) -> [Int] {
        FileSystem.entries(output.hidden).compactMap { name in
            name.hasPrefix(prefix) ? Int(name.dropFirst(prefix.count)).flatMap { $0 > 0 ? $0 : nil } : nil
        }
    }

    /// Makes the claim that follows a generation.
    /// - Returns: nil when another run was faster.
    /// - Throws: ``BatchError`` with `outputUnwritable`.
    package static func take(
        _ output: OutputFolder,
        after generation: Int,
        for holder: BatchLock.Holder
    ) throws(BatchError) -> FolderClaim? {
        let claim = FolderClaim(output: output, holder: holder, generation: generation + 1)
        // O_EXCL makes the choice: of several runs, one alone can create the file of a generation.
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = open(path(output, claim.generation), flags, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { return nil }
            throw output.unwritable(errno)
        }
        close(descriptor)
        let code = claim.write(isReleased: false)
        guard code == 0 else {
            // An empty file would be waited for.
            FileSystem.remove(path(output, claim.generation))
            throw output.unwritable(code)
        }
        // A run that saw an older list may have made a later generation meanwhile.
        let others = generations(in: output)
        guard others.max() ?? 0 <= claim.generation else { return nil }
        for old in others where old <= claim.generation - keptGenerations { FileSystem.remove(path(output, old)) }
        return claim
    }

    /// Continues the claim of an engine of the same run.
    package static func continued(_ output: OutputFolder, _ generation: Int, for holder: BatchLock.Holder)
        -> FolderClaim
    {
        let claim = FolderClaim(output: output, holder: holder, generation: generation)
        _ = claim.write(isReleased: false)
        return claim
    }

    /// Whether no other run has taken the folder. A share that does not answer counts as not taken.
    package var isNewest: Bool {
        var status = stat()
        return stat(FolderClaim.path(output, generation + 1), &status) != 0
    }

    /// A sign of life.
    /// - Returns: false when another run has taken the folder.
    package func beat() -> Bool {
        guard isNewest else { return false }
        // A folder that was moved away or deleted as a whole was not taken: whoever writes next finds that out.
        if write(isReleased: false) == ENOENT { return !FileSystem.exists(output.hidden) }
        // Writing may take long: another run may have come meanwhile.
        return isNewest
    }

    /// Leaves the folder to others.
    package func release() { _ = write(isReleased: true) }

    /// Writes the record in place, which needs no free space.
    private func write(isReleased: Bool) -> Int32 {
        let record = Record(holder: holder, isReleased: isReleased, beat: .random(in: 0 ... .max))
        guard let text = try? StableJSON.encodeLine(record) else { return EINVAL }
        let descriptor = open(FolderClaim.path(output, generation), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        let count = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard count == text.count else { return count < 0 ? errno : ENOSPC }
        return ftruncate(descriptor, off_t(text.count)) == 0 ? 0 : errno
    }
}

extension FolderClaim {
    /// The content of one file of a ``FolderClaim``.
    package struct Record: Codable, Sendable, Hashable {
        /// Who wrote the file.
        package var holder: BatchLock.Holder
        /// The run has ended and left the folder to others.
        package var isReleased: Bool
        /// A random number, which is another one with every sign of life.
        package var beat: UInt64

        /// - Parameters:
        ///   - holder: who writes the file.
        ///   - isReleased: whether the run has left the folder to others.
        ///   - beat: another number with every sign of life.
        package init(holder: BatchLock.Holder, isReleased: Bool = false, beat: UInt64 = 0) {
            self.holder = holder
            self.isReleased = isReleased
            self.beat = beat
        }
    }

    /// The newest claim that was found in a folder.
    package struct Found: Sendable, Hashable {
        /// Counts the runs that have claimed the folder.
        package var generation: Int
        /// The file as it was read. It changes with every sign of life.
        package var text: [UInt8]
        /// Nil for a file that cannot be read, such as one that is being written.
        package var record: Record?

        /// - Parameters:
        ///   - generation: counts the runs that have claimed the folder.
        ///   - text: the file as it was read.
        ///   - record: nil for a file that cannot be read.
        package init(generation: Int, text: [UInt8], record: Record?) {
            self.generation = generation
            self.text = text
            self.record = record
        }
    }
}
