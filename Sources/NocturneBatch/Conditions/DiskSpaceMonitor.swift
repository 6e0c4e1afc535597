import CPosix
import Glibc
import NocturneConcurrency
import NocturneOutput
import NocturneSystem

/// The space on the disk of the output folder, and on that of the folder for work, where there is one.
struct DiskSpaceMonitor: Sendable {
    /// The output folder first.
    let places: [String]
    let policy: FullDiskPolicy
    let waiting: RunWaiting

    /// This number of attempts in a row is explained by the system's error, even where trying to write then succeeds: quotas move.
    private static let believedRefusals = 5

    /// The free space now.
    /// - Parameters:
    ///   - bytes: what is needed.
    ///   - attempt: whether to try to write them, too.
    func measure(bytes: Int, attempt: Bool) async -> MachineMeasurement {
        await waiting.probes.run { [self] in
            var result = MachineMeasurement()
            let all = places.map { (place: $0, bytes: FileSystem.freeBytes(at: $0) ?? .max) }
            guard let (place, free) = all.min(by: { $0.bytes < $1.bytes }) else { return result }
            result.freeBytes = free
            if places.count > 1 { result.place = place }
            let capacities = places.map { FileSystem.capacityBytes(at: $0) }
            result.capacityBytes = capacities.compactMap(\.self).min()
            result.isCapacityOfWork = result.capacityBytes != capacities[0]
            // Free bytes that do not suffice are an answer without an attempt.
            guard attempt, free >= bytes else { return result }
            if let refused = refusal(of: bytes) {
                result.refusedBytes = bytes
                // Its free space, not that of the fuller disk.
                if places.count > 1 { result.place = refused.place }
                result.freeBytes = all.first { $0.place == refused.place }?.bytes
                result.refusal = DiskProbe(refused.place).meaning(of: refused.code)
            } else {
                result.grantedBytes = bytes
            }
            return result
        }
    }

    /// The first place where this number of bytes cannot be written.
    private func refusal(of bytes: Int) -> (place: String, code: Int32)? {
        for place in places {
            if let code = DiskProbe(place).refusal(of: bytes) { return (place, code) }
        }
        return nil
    }

    /// Does what writes to the disk. Where it fails and the disk is full, it waits for space, and does it again.
    /// - Throws: what `body` threw when the disk is not full; ``BatchError`` with `outputFull` when the run is to stop.
    func retryingWhenFull<Result>(_ body: () async throws -> Result) async throws -> Result {
        var refusals = 0
        while true {
            do {
                return try await body()
            } catch {
                let code = (error as? any SystemCallError)?.systemCode.flatMap(DiskProbe.outOfSpace)
                let said = refusals < DiskSpaceMonitor.believedRefusals ? code : nil
                // A run that is to end does not wait for space.
                guard waiting.control.mode == .running else { throw error }
                let refused = await waiting.probes.run { refusal(of: DiskShortage.spareBytes) }
                guard let code = refused?.code ?? said else { throw error }
                refusals += 1
                guard await waitForSpace(afterRefusals: refusals) else {
                    throw BatchError(
                        .outputFull,
                        path: refused?.place ?? places[0],
                        detail: "the disk is full: \(errnoText(code))"
                    )
                }
            }
        }
    }

    /// Waits until an attempt to write succeeds, and at least for the pause that follows the refusals.
    /// - Returns: false when the run is to stop instead.
    private func waitForSpace(afterRefusals refusals: Int) async -> Bool {
        let start = waiting.time.monotonic
        var hasSaid = false
        while waiting.control.mode == .running {
            // Read before measuring: a change that comes meanwhile ends the wait below at once.
            let generation = waiting.control.changes.generation
            let measured = await measure(bytes: DiskShortage.spareBytes, attempt: true)
            let waited = waiting.time.monotonic - start
            if measured.grantedBytes != nil, waited >= DiskShortage.pause(afterRefusals: refusals) {
                if hasSaid { await waiting.show(.spaceAgain) }
                return true
            }
            if !hasSaid {
                hasSaid = true
                let shortage = DiskShortage(
                    neededBytes: DiskShortage.spareBytes,
                    freeBytes: measured.freeBytes ?? .max,
                    refusal: measured.refusal,
                    place: measured.place
                )
                if policy == .stop {
                    await waiting.progress.emit(.stopsForSpace(shortage))
                } else {
                    await waiting.show(.waitsForSpace(shortage))
                }
            }
            guard policy == .pause, waited < DiskShortage.patience else {
                waiting.control.finishActive()
                break
            }
            do { try await waiting.sample(after: generation) } catch { break }
        }
        if hasSaid { await waiting.publish(nil) }
        return false
    }
}

/// Tries to write to the disk of a folder.
struct DiskProbe {
    private let path: String
    /// Files that an attempt makes: an item has a few.
    private static let fileCount = 8

    init(_ path: String) { self.path = path }

    /// Tries to make files with this number of bytes in all, and removes them again.
    /// - Returns: the system's code when there is no space for them; nil also where it cannot be tried.
    func refusal(of bytes: Int) -> Int32? {
        // In the output's hidden folder where there is one.
        let folder = FileSystem.nearest(to: OutputFolder(path).hidden) + "/.nocturne-space-\(getpid())"
        // What an earlier process of this number has left.
        FileSystem.remove(folder)
        guard mkdir(folder, 0o700) == 0 else { return DiskProbe.outOfSpace(errno) }
        defer { FileSystem.remove(folder) }
        for index in 0..<DiskProbe.fileCount {
            let descriptor = open("\(folder)/\(index)", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return DiskProbe.outOfSpace(errno) }
            defer { close(descriptor) }
            // Not posix_fallocate, which writes all the bytes where the file system cannot set them apart.
            if index == 0, let code = DiskProbe.outOfSpace(cposix_fallocate(descriptor, Int64(bytes))) { return code }
        }
        return nil
    }

    /// What a refusal with this code is for.
    func meaning(of code: Int32) -> DiskRefusal {
        if code == EDQUOT { return .quota }
        if let files = FileSystem.freeFiles(at: path), files < DiskProbe.fileCount { return .files(files) }
        return .full
    }

    static func outOfSpace(_ code: Int32) -> Int32? { code == ENOSPC || code == EDQUOT ? code : nil }
}
