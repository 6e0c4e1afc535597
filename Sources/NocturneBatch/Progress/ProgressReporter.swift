import Foundation
public import NocturneOutput
public import NocturneSystem
import Synchronization

/// Where a run shows what it does.
public protocol ProgressView: Sendable {
    func show(_ event: BatchEvent, _ status: ProgressStatus)
    /// Called a few times a second at most, while items are active.
    func refresh(_ status: ProgressStatus)
    /// Leaves the terminal as it was found.
    func close()
    /// Returns once what was shown is written, or is not going to be.
    func flush() async
}

extension ProgressView {
    /// Nothing is shown while items are active.
    public func refresh(_ status: ProgressStatus) {}
    /// Nothing was changed in the terminal.
    public func close() {}
    /// Nothing is buffered.
    public func flush() async {}
}

/// Events out: one object a line into `events.jsonl`, and to whichever view the terminal has. Nothing here waits for the file
/// or for whoever reads the terminal.
///
/// Stages report where their items are through ``moves``, without a change of threads; the actor takes them from there.
public actor ProgressReporter {
    private let view: any ProgressView
    private let observe: @Sendable (BatchEvent) -> Void
    private let beforeClosing: @Sendable () async -> Void
    private let file: EventLog?
    private var status = ProgressStatus()
    /// Whether events can still be written.
    public private(set) var isOpen = true
    fileprivate struct RunningItem {
        let name: String
        let steps: Int
        let start: Duration
        /// The stage that it is in, or that it waits for.
        var stage = Stage.load
        var isWaiting = true
        /// Since when it is in the stage, or waits for it.
        var since: Duration
        /// Of its tiles.
        var share = 0.0
        /// When its stages were begun and ended, in seconds since it was started.
        var stages: [String: [Double]] = [:]
    }
    private var running: [Int64: RunningItem] = [:]
    private var weights = StageWeights()
    private var order: [Int64] = []
    /// How many items were started in this run and not put back, and their steps: items are planned when they are started.
    private var begun = (items: 0, steps: 0)
    private var stepsDone = 0.0
    private let time: any TimeSource
    private let started: Duration
    /// When the present pause began, and how long those before it took.
    private var pausedSince: Duration?
    private var pausedTime = Duration.zero
    private nonisolated let moves: Mutex<ItemMoves>

    /// - Parameters:
    ///   - path: of `events.jsonl`; nil for no file.
    ///   - view: must not wait in ``ProgressView/show(_:_:)``.
    ///   - beforeClosing: may still send notes.
    ///   - observe: gets every event that is shown; must not wait either.
    public init(
        path: String?,
        view: any ProgressView,
        time: any TimeSource = SystemTime(),
        beforeClosing: @escaping @Sendable () async -> Void = {},
        observe: @escaping @Sendable (BatchEvent) -> Void = { _ in }
    ) {
        self.view = view
        self.observe = observe
        self.beforeClosing = beforeClosing
        self.time = time
        started = time.monotonic
        moves = Mutex(ItemMoves(since: started))
        file = path.map(EventLog.init)
    }

    /// From now on an event is only written to the file when `mayWrite` allows it, which is called on the file's own thread.
    func writeEvents(while mayWrite: @escaping @Sendable () -> Bool) { file?.write(while: mayWrite) }

    func begin(total: Int, alreadyDone: Int, failed: Int) {
        status.total = total
        status.done = alreadyDone
        status.failed = failed
    }

    func started(_ id: Int64, name: String, steps: Int) {
        running[id] = RunningItem(name: name, steps: steps, start: time.monotonic, since: time.monotonic)
        order.append(id)
        begun = (begun.items + 1, begun.steps + steps)
        emit(BatchEvent(.itemStarted, item: name))
    }

    /// An item has come to a stage.
    nonisolated(nonsending) func entered(_ id: Int64, _ stage: Stage) async { await note(.entered(stage), of: id) }

    /// An item has ended a stage.
    nonisolated(nonsending) func left(_ id: Int64, _ stage: Stage) async { await note(.left(stage), of: id) }

    nonisolated(nonsending) func stepped(_ id: Int64, done: Int, of count: Int) async {
        await note(.stepped(share: count > 0 ? Double(done) / Double(count) : 1), of: id)
    }

    private nonisolated(nonsending) func note(_ change: ItemMoves.Change, of id: Int64) async {
        let now = time.monotonic
        if moves.withLock({ $0.add(ItemMoves.Move(id: id, change: change, time: now)) }) { await refresh() }
    }

    private func refresh() {
        update()
        view.refresh(status)
    }

    /// Takes what the stages have reported.
    private func takeMoves() {
        for move in moves.withLock({ $0.take() }) {
            guard var entry = running[move.id] else { continue }
            switch move.change {
            case .entered(let stage):
                (entry.stage, entry.isWaiting, entry.since) = (stage, false, move.time)
                entry.mark(stage, at: move.time)
            case .left(let stage):
                (entry.stage, entry.isWaiting, entry.since) = (stage.next ?? stage, stage.next != nil, move.time)
                entry.mark(stage, at: move.time)
            case .stepped(let share):
                stepsDone += (share - entry.share) * Double(entry.steps)
                entry.share = share
            }
            running[move.id] = entry
        }
    }

    func ended(_ id: Int64, _ event: BatchEvent) {
        takeMoves()
        var event = event
        if let entry = running.removeValue(forKey: id) {
            order.removeAll { $0 == id }
            stepsDone += (1 - entry.share) * Double(entry.steps)
            event.stages = entry.finishedStages
            if event.event == .itemCompleted { weights.add(entry.seconds) }
        }
        if event.event != .itemInterrupted {
            status.done += 1
            status.ended += 1
        }
        if event.event == .itemFailed { status.failed += 1 }
        emit(event)
    }

    /// A retry puts the item's tiles back.
    func putBack(_ id: Int64, _ event: BatchEvent) {
        takeMoves()
        var event = event
        if let entry = running.removeValue(forKey: id) {
            order.removeAll { $0 == id }
            stepsDone -= entry.share * Double(entry.steps)
            begun = (begun.items - 1, begun.steps - entry.steps)
            event.stages = entry.finishedStages
        }
        emit(event)
    }

    func emit(_ event: BatchEvent) {
        update()
        var event = event
        event.time = time.wallClock.timestamp
        let ends: [BatchEvent.Kind] = [.itemCompleted, .itemFailed, .itemSkipped, .itemQuarantined, .itemCancelled]
        if event.event == .heartbeat || ends.contains(event.event) {
            (event.done, event.total, event.failed) = (status.done, status.total, status.failed)
            event.etaSeconds = status.etaSeconds.map { $0.rounded() }
        }
        if event.event == .paused || event.event == .continued { notePause(event) }
        if let line = try? StableJSON.encodeLine(event) { file?.append(line) }
        view.show(event, status)
        observe(event)
    }

    private func notePause(_ event: BatchEvent) {
        let now = time.monotonic
        if let since = pausedSince { pausedTime += now - since }
        let isPaused = event.event == .paused
        pausedSince = isPaused ? now : nil
        status.pause = isPaused ? event.reason : nil
    }

    /// The run waits for something, or no longer does.
    func noteWait(_ isWaiting: Bool) { status.isWaiting = isWaiting }

    /// A message that is about no single item.
    public func note(_ text: String) { emit(BatchEvent(.note, reason: text)) }

    /// Why the run stops before its end, which --quiet shows as well.
    package func noteStop(_ text: String) {
        var event = BatchEvent(.note, reason: text)
        event.isUrgent = true
        emit(event)
    }

    /// Returns once everything is written.
    public func close() async {
        await beforeClosing()
        isOpen = false
        view.close()
        await file?.close()
        await view.flush()
    }

    /// What the run does now.
    func runProgress(_ memory: RunProgress.Memory, _ device: DeviceUse?) -> RunProgress {
        status.memory = memory
        update()
        let items = status.running
        return RunProgress(
            process: Int(ProcessInfo.processInfo.processIdentifier),
            time: time.wallClock.timestamp,
            elapsedSeconds: status.elapsedSeconds ?? 0,
            etaSeconds: status.etaSeconds,
            total: status.total,
            done: status.done,
            failed: status.failed,
            queued: max(status.total - status.done - items.count, 0),
            items: items,
            memory: memory,
            device: device
        )
    }

    private func update() {
        takeMoves()
        let now = time.monotonic
        status.running = order.compactMap { id in running[id].map { $0.progress(at: now, weights) } }
        let elapsed = (now - started).inSeconds
        status.elapsedSeconds = elapsed
        let worked = ((pausedSince ?? now) - started - pausedTime).inSeconds
        status.etaSeconds = stepsDone > 0 && worked > 2 ? worked / stepsDone * stepsLeft : nil
    }

    /// Items that wait count as many steps as those that were started had on average.
    private var stepsLeft: Double {
        let waiting = max(0, status.total - status.done - running.count)
        let mean = Double(begun.steps) / Double(max(1, begun.items))
        return max(0, Double(begun.steps) + Double(waiting) * mean - stepsDone)
    }
}

extension ProgressReporter.RunningItem {
    /// The beginning of a stage, or its end.
    mutating func mark(_ stage: Stage, at now: Duration) {
        stages[stage.rawValue, default: []].append(((now - start).inSeconds * 1e4).rounded() / 1e4)
    }

    /// Nil without any.
    var finishedStages: [String: [Double]]? {
        let finished = stages.filter { $0.value.count == 2 }
        return finished.isEmpty ? nil : finished
    }

    /// What each finished stage took.
    var seconds: [Stage: Double] {
        (finishedStages ?? [:]).reduce(into: [:]) { seconds, entry in
            guard let stage = Stage(rawValue: entry.key) else { return }
            seconds[stage] = entry.value[1] - entry.value[0]
        }
    }

    func progress(at now: Duration, _ weights: StageWeights) -> RunProgress.Item {
        let elapsed = (now - since).inSeconds
        // The stages after inference take a small part of the time.
        let isInferred = stage == .infer && !isWaiting && share > 0.02
        return RunProgress.Item(
            item: name,
            stage: stage,
            isWaiting: isWaiting,
            share: weights.share(in: stage, tiles: share, elapsed: isWaiting ? 0 : elapsed),
            stageSeconds: elapsed,
            elapsedSeconds: (now - start).inSeconds,
            etaSeconds: isInferred ? elapsed * (1 - share) / share : nil
        )
    }
}
