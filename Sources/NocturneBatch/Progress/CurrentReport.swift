package import NocturneSystem

/// Keeps report and page current while items are processed: after a power cut they are at most half a minute old, or twenty times
/// what it takes to write them.
///
/// Nothing is written while no item ends.
package actor CurrentReport {
    private let time: any TimeSource
    private let write: @Sendable () async -> Void
    private var next: Duration
    private var writing: Task<Void, Never>?

    /// Between two reports, however fast one is written.
    package static let leastPause = Duration.seconds(30)
    /// Of the time that writing takes: at most a twentieth of the run is spent on it.
    package static let pauseFactor = 20

    /// - Parameter write: writes the report as it is then.
    package init(time: any TimeSource, write: @escaping @Sendable () async -> Void) {
        self.time = time
        self.write = write
        next = time.monotonic + Self.leastPause
    }

    /// An item has ended and is recorded. Returns at once.
    package func itemEnded() {
        guard writing == nil, time.monotonic >= next else { return }
        writing = Task {
            let start = time.monotonic
            await write()
            let end = time.monotonic
            next = end + max(Self.leastPause, (end - start) * Self.pauseFactor)
            writing = nil
        }
    }

    /// Returns once nothing is being written.
    package func idle() async { await writing?.value }
}
