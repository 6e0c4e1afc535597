import Foundation
public import NocturneOutput
public import NocturneSystem

/// What a run is doing, for commands in other terminals: `.nocturne/progress.json`, which is written every two seconds while items
/// are processed, and removed afterwards.
public struct RunProgress: Codable, Sendable {
    /// An item that is worked on.
    public struct Item: Codable, Sendable {
        /// The name of its folder.
        public let item: String
        /// The stage that it is in, or that it waits for.
        public let stage: Stage
        /// Whether it waits for the stage, or for the end of a pause.
        public let isWaiting: Bool
        /// Of its time, from 0 to 1: by its tiles, and by what the other stages took of the items before it.
        public let share: Double
        /// Since it is in the stage, or waits for it.
        public let stageSeconds: Double
        /// Since it was started, and until it probably ends; null while that is not known.
        public let elapsedSeconds: Double
        @Nullable public var etaSeconds: Double?

        private enum CodingKeys: String, CodingKey {
            case item, stage, share, stageSeconds, elapsedSeconds, etaSeconds
            case isWaiting = "waiting"
        }

        /// The stage, or that it waits.
        public var state: String { isWaiting ? "waiting" : stage.rawValue }

        package init(
            item: String,
            stage: Stage,
            isWaiting: Bool = false,
            share: Double,
            stageSeconds: Double,
            elapsedSeconds: Double,
            etaSeconds: Double? = nil
        ) {
            self.item = item
            self.stage = stage
            self.isWaiting = isWaiting
            self.share = share
            self.stageSeconds = stageSeconds
            self.elapsedSeconds = elapsedSeconds
            self.etaSeconds = etaSeconds
        }
    }

    /// The memory of the run, as measured last.
    public struct Memory: Codable, Sendable {
        /// Of the process.
        @Nullable public var residentBytes: Int?
        /// Reserved for the items that are processed.
        public let leasedBytes: Int
        /// For the whole process.
        public let budgetBytes: Int
        /// normal, warning (nothing more is started) or critical (only the oldest item continues).
        public let pressure: String
    }

    /// The process that works on the batch.
    public let process: Int
    /// When this was written, UTC.
    public let time: String
    /// Since the run began, pauses included.
    public let elapsedSeconds: Double
    /// Until the run probably ends; null while that is not known.
    @Nullable public var etaSeconds: Double?
    /// Items of the batch, and those that have ended.
    public let total: Int
    /// Items that have ended, in any state but interrupted.
    public let done: Int
    /// Those of ``done`` that failed or are quarantined.
    public let failed: Int
    /// Items that wait for their turn.
    public let queued: Int
    /// Items that are worked on, the oldest first.
    public let items: [Item]
    /// Of the engine's process, as measured last.
    public let memory: Memory
    /// In the last half minute; null where no network runs on a device.
    @Nullable public var device: DeviceUse?
}

extension OutputFolder {
    private var progress: String { hidden + "/progress.json" }

    /// Writes what the run does. A disk that refuses it does not matter.
    func show(_ progress: RunProgress?) {
        guard let progress else {
            FileSystem.remove(self.progress)
            return
        }
        guard let bytes = try? StableJSON.encode(progress) else { return }
        try? FileSystem.replace(self.progress, with: bytes, flush: false)
    }

    /// What the process does that works on the batch; nil before it has reported it, and for another process than that of
    /// the lock: a killed run leaves its last report.
    public func runProgress(of holder: BatchLock.Holder?) -> RunProgress? {
        guard let holder, let found = lastProgress, found.process == Int(holder.process.process) else { return nil }
        return found
    }

    private var lastProgress: RunProgress? {
        guard FileSystem.kind(progress) == .file, let bytes = try? FileSystem.read(progress) else { return nil }
        return try? JSONDecoder().decode(RunProgress.self, from: Data(bytes))
    }
}
