import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Waits for inputs that come while the batch runs: the folders are looked through again and again, and an item is taken
/// once none of its files has changed for a while.
public struct FolderWatcher: Sendable, Hashable {
    /// Seconds without a change after which a file counts as whole, 0 or more.
    public var quietSeconds: Int
    /// A file that ends the watch once it is there; nil for none.
    public var stopFile: String?
    /// Whether that file is this watch's own, which takes it away, so that the next watch does not end at once.
    public var takesStopFile: Bool

    public init(quietSeconds: Int, stopFile: String? = nil, takesStopFile: Bool = false) {
        self.quietSeconds = quietSeconds
        self.stopFile = stopFile
        self.takesStopFile = takesStopFile
    }

    /// Whether the watch was asked to end.
    private var isStopped: Bool { stopFile.map(FileSystem.exists) ?? false }

    /// Admits nothing more once the watch was asked to end.
    func drainIfStopped(_ control: RunControl, _ progress: ProgressReporter) async {
        guard isStopped, control.mode == .running else { return }
        control.drain()
        await progress.note("Asked to end: what is in flight is finished, nothing new is begun.")
    }

    /// Looks at the stop file every second, also while whatever else is waited for.
    func lookOut(_ control: RunControl, _ progress: ProgressReporter) async {
        while !Task.isCancelled, control.mode == .running {
            await drainIfStopped(control, progress)
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    /// What has been quiet for long enough. The rest is found again in a later round.
    func quiet(_ discovery: Discovery) -> Discovery {
        let now = time(nil)
        var result = discovery
        result.items.removeAll { item in
            item.inputs.contains { $0.touchedSeconds.map { now &- $0 < quietSeconds } ?? true }
        }
        return result
    }

    /// Seconds between two looks: often enough for the quiet time, and long enough that looking takes a tenth of the time,
    /// but no longer than the quiet time.
    private func interval(after look: Duration) -> Int {
        max(1, min(quietSeconds / 4, 30), Int(min(look.inSeconds * 10, Double(quietSeconds))))
    }

    /// So many rounds in a row may come to nothing before the watch is given up: half an hour of them.
    static let mostFaults = 12

    /// Waits until it is time to look again.
    /// - Parameter faults: rounds in a row that came to nothing, each of which doubles the time to the next.
    /// - Returns: false when the watch is to end.
    func waitForNextRound(after look: Duration, faults: Int, _ control: RunControl) async -> Bool {
        for _ in 0..<max(interval(after: look), faults > 0 ? min(1 << faults, 300) : 0) {
            if isStopped {
                if takesStopFile, let stopFile { FileSystem.remove(stopFile) }
                return false
            }
            guard control.mode == .running else { return false }
            do { try await Task.sleep(for: .seconds(1)) } catch { return false }
        }
        return true
    }
}
