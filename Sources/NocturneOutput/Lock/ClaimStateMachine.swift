package import NocturneSystem

/// Decides whether a run may replace the claim of another one.
///
/// A process that this machine can see is asked for directly. Of all others only their signs of life are known: the clocks of
/// two machines are not compared, but the file is observed for a while, by this machine's clock.
package struct ClaimStateMachine: Sendable {
    /// What to do about the folder.
    package enum Step: Sendable, Hashable {
        /// Put a claim in place, as the successor of this generation.
        case take(after: Int)
        /// The claim is this run's own, made by an engine before this one: continue it.
        case proceed(generation: Int)
        /// It is not known yet: look again in a moment.
        case lookAgain
        /// Another run works on the folder; nil when the file does not name it.
        case refuse(BatchLock.Holder?)
    }

    /// Between two signs of life of a run.
    package static let beat = Duration.seconds(10)
    /// After so long without one a run on another machine has ended: four beats, and the time for which shares may show an
    /// old file.
    package static let patience = Duration.seconds(100)
    /// The same for a claim that does not name its run, on a local file system, which shows no old files: a power cut leaves
    /// it empty, and a run that is alive would have written it again.
    package static let patienceWithUnreadable = beat * 2
    /// Between two looks at a claim, the most that counts as observing it. After a longer gap this process was frozen, or its machine
    /// asleep, perhaps with that of the other run, which needs a moment for its next sign of life.
    package static let longestGap = beat * 3

    private let process: ProcessIdentity
    private let run: String?
    private let locksExcludeAll: Bool
    private let isRunningHere: @Sendable (ProcessIdentity) -> Bool
    private var first: (claim: FolderClaim.Found, at: Duration)?
    private var lastLook: Duration?

    /// - Parameters:
    ///   - process: that wants the folder, on this machine; it may have held it before.
    ///   - run: that it belongs to; nil without a supervisor.
    ///   - locksExcludeAll: whether a lock of this file system excludes everybody who can see the folder: false for shares.
    ///   - isRunningHere: whether a process runs on this machine and in this namespace; false where that is not known.
    package init(
        process: ProcessIdentity,
        run: String?,
        locksExcludeAll: Bool,
        isRunningHere: @escaping @Sendable (ProcessIdentity) -> Bool = { $0.isRunningHere }
    ) {
        self.process = process
        self.run = run
        self.locksExcludeAll = locksExcludeAll
        self.isRunningHere = isRunningHere
    }

    /// - Parameters:
    ///   - claim: the newest one; nil when there is none.
    ///   - now: by a monotonic clock.
    package mutating func observe(_ claim: FolderClaim.Found?, at now: Duration) -> Step {
        guard let claim else { return .take(after: 0) }
        if let record = claim.record, let step = known(record, claim.generation) { return step }
        if let lastLook, now - lastLook > ClaimStateMachine.longestGap, first?.claim.text == claim.text { first = nil }
        lastLook = now
        guard let first, first.claim.generation == claim.generation else {
            first = (claim, now)
            return .lookAgain
        }
        if first.claim.text != claim.text {
            // A claim that was being written when it was first read does not show that its run is alive.
            guard first.claim.record != nil else {
                self.first = (claim, now)
                return .lookAgain
            }
            return .refuse(claim.record?.holder)
        }
        let isUnreadable = claim.record == nil && locksExcludeAll
        let patience = isUnreadable ? ClaimStateMachine.patienceWithUnreadable : ClaimStateMachine.patience
        return now - first.at >= patience ? .take(after: claim.generation) : .lookAgain
    }

    /// Whether the run of a claim that is being replaced may still be there: only its silence shows that it has ended.
    package func mayReturn(_ claim: FolderClaim.Found?) -> Bool {
        guard let claim, !locksExcludeAll else { return false }
        return claim.record.map { known($0, claim.generation) == nil } ?? true
    }

    /// What is certain without observing the claim.
    private func known(_ record: FolderClaim.Record, _ generation: Int) -> Step? {
        if record.isReleased { return .take(after: generation) }
        if let run, record.holder.run == run { return .proceed(generation: generation) }
        let (own, other) = (process, record.holder.process)
        let isSameBoot = own.bootID != nil && own.bootID == other.bootID
        let isSameHost = isSameBoot || own.host != nil && own.host == other.host
        // Its lock is free, so the process is about to end if it is still there.
        if locksExcludeAll, isSameHost { return .take(after: generation) }
        if isRunningHere(other) { return .refuse(record.holder) }
        if isSameBoot, own.pidNamespace != nil, own.pidNamespace == other.pidNamespace {
            return .take(after: generation)
        }
        return nil
    }
}
