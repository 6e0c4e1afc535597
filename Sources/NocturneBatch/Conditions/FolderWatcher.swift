import NocturneConcurrency
public import NocturneOutput
import NocturneSystem

/// How a run waits for inputs that come while it runs: the folders are searched again and again, and an item is taken once
/// none of its files has changed for a while.
public struct FolderWatcher: Sendable, Hashable {
    /// Seconds without a change after which a file counts as whole, 0 or more.
    public var quietSeconds: Int
    /// A file that ends the watch once it is there; nil for none.
    public var stopFile: String?
    /// Whether that file is this watch's own, which removes it, so that the next watch does not end at once.
    public var takesStopFile: Bool
    /// Which results are kept; nil for all.
    public var retention: Retention?
    /// What older results lose; empty where they are removed as a whole.
    public var drops: Set<DisplayFiles> = []

    /// - Parameters:
    ///   - quietSeconds: without a change after which a file counts as whole.
    ///   - stopFile: ends the watch once it is there; nil for none.
    ///   - takesStopFile: whether the watch removes it.
    public init(quietSeconds: Int, stopFile: String? = nil, takesStopFile: Bool = false) {
        self.quietSeconds = quietSeconds
        self.stopFile = stopFile
        self.takesStopFile = takesStopFile
    }

    /// The number of rounds in a row that may fail before the watch is given up: half an hour of them.
    static let mostFailedRounds = 12

    /// How long to wait for the next round: often enough for the quiet time, and so long that searching takes a tenth of the
    /// time, but no longer than the quiet time.
    /// - Parameters:
    ///   - search: how long the last search of the inputs took.
    ///   - failures: rounds in a row that failed, each of which doubles the time.
    package func pause(afterSearch search: Duration, failures: Int) -> Duration {
        let ordinary = max(1, min(quietSeconds / 4, 30), Int(min(search.inSeconds * 10, Double(quietSeconds))))
        // Doubled after each failure, up to five minutes: a share that comes back is noticed soon, and asked rarely.
        return .seconds(max(ordinary, failures > 0 ? min(1 << min(failures, 16), 300) : 0))
    }

    /// Waits until it is time for the next round.
    /// - Returns: false when the watch is to end.
    func waitForNextRound(_ pause: Duration, _ waiting: RunWaiting) async -> Bool {
        let end = waiting.time.monotonic + pause
        // A file that came while items were active has been seen; one that came just now is looked for here.
        await waiting.monitor.checkStopFile()
        while waiting.control.mode == .running, await !waiting.monitor.isStopRequested {
            let generation = waiting.control.changes.generation
            let left = end - waiting.time.monotonic
            guard left > .zero else { return true }
            do {
                try await waiting.control.changes.wait(after: generation, atMost: left, waiting.time)
            } catch {
                return false
            }
        }
        return false
    }

    /// The watch has ended: its own stop file is removed.
    func end(_ waiting: RunWaiting) async {
        guard takesStopFile, let stopFile, await waiting.monitor.isStopRequested else { return }
        // Never a folder: it may be the result of an item of this name.
        await waiting.probes.run { if FileSystem.kind(stopFile) == .file { FileSystem.remove(stopFile) } }
    }
}
