import CPosix
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// Performs what ``AdmissionStateMachine`` decides: starts items, hears how they end, and has the journal record it.
actor Scheduler: ItemEndReceiver {
    let context: RunContext
    let budget: MemoryBudget
    /// When everything is to be finished, in seconds since 1970.
    let deadline: Int?
    /// Whether files in staging are memory.
    let filesInMemory: Bool
    var machine: AdmissionStateMachine
    /// Items that were fetched from the journal and have not ended, by id.
    var items: [Int64: PendingItem] = [:]
    /// The last one that was fetched.
    var lastFetched: PendingItem?
    var pipelines: [any RunnablePipeline] = []
    var reuser: Reuser?
    private var models = ModelsInUse()
    /// Items whose results in other batches turned out to be others than those recorded.
    private(set) var notReusable: Set<Int64> = []
    /// How many items of the queue are planned in one go, and how many are read from the journal.
    static let (itemsPlannedTogether, itemsFetchedTogether) = (8, 64)
    /// Of items that were planned and not started yet.
    var plans: [Int64: PlannedItem] = [:]
    /// Items whose results may be wrong, and why.
    private var doubted: [String: String] = [:]
    /// Whether results were withdrawn, whose items another round processes.
    var hasWithdrawn = false
    /// Has seen all items that ended.
    var breaker: CircuitBreaker
    private let report: CurrentReport
    /// Which the breaker looks at.
    private let ranges: [ReferenceRange]
    private var announcements = WaitAnnouncements()
    /// Of this round, but for the times of the whole.
    var figures = RunFigures()
    var sequence = 0

    /// - Parameter count: how many items the journal has that are to be processed.
    init(
        _ count: Int,
        budget: MemoryBudget,
        _ settings: AdmissionStateMachine.Settings,
        _ breaker: CircuitBreaker,
        _ report: CurrentReport,
        _ context: RunContext
    ) async {
        self.context = context
        self.breaker = breaker
        self.report = report
        let looksAtValues = context.options.rules.stop.outside != nil
        ranges = looksAtValues ? (try? await context.journal.value(of: .referenceRanges)) ?? [] : []
        self.budget = budget
        deadline = context.limits.deadline(context.options.rules.hours, after: context.time.wallClock.seconds)
        filesInMemory = await context.blocking.run { [output = context.output] in FileSystem.isInMemory(output.staging)
        }
        let pace = (try? await context.journal.value(of: .pace)) ?? LearnedPace()
        machine = AdmissionStateMachine([], hasMore: count > 0, settings, pace: pace)
        budget.whenReleased { [changes = context.control.changes] in changes.notify() }
    }

    /// Whether a source changed while its item was active, or results were withdrawn.
    var needsDiscovery: Bool { machine.needsDiscovery || hasWithdrawn }

    // MARK: Admission

    /// Starts the items, as the conditions allow, until none is left or the run is to stop.
    /// - Parameters:
    ///   - pipelines: of the recipes, in their order.
    ///   - reuser: takes the results of other batches.
    ///   - models: which are released once no item of the round needs them.
    func run(_ pipelines: [any RunnablePipeline], _ reuser: Reuser, _ models: ModelsInUse) async {
        self.pipelines = pipelines
        self.reuser = reuser
        self.models = models
        defer {
            for pipeline in pipelines { pipeline.finishRequests() }
            reuser.finishRequests()
            // They hold this actor as the receiver of their ends.
            self.pipelines = []
            self.reuser = nil
        }
        while !Task.isCancelled {
            let generation = context.control.changes.generation
            for request in context.control.takeFirst() { await putFirst(request) }
            await releaseUnusedModels()
            let action = machine.next(conditions)
            switch action {
            case .finished: return await announce(nil)
            case .wait(let reason, let until):
                await announce(reason)
                guard await wait(for: reason, until: until, after: generation) else { return }
            case .start(let id, let memoryWait):
                await announce(machine.shortage)
                await start(id, after: memoryWait)
            case .fetch: await fetch()
            case .plan(let id): await plan(id)
            case .measure(let diskBytes, let attempt, let memory):
                machine.measured(await measure(diskBytes, attempt: attempt, memory: memory))
            default: await perform([action])
            }
        }
    }

    private var conditions: AdmissionStateMachine.Conditions {
        let (control, time) = (context.control, context.time)
        let wallClock = time.wallClock
        var result = AdmissionStateMachine.Conditions(now: time.monotonic)
        result.mode = control.mode
        result.returnsLoaded = control.returnsLoaded
        result.cancelled = control.cancelledItems
        result.isPaused = control.pause != nil
        let memory = budget.snapshot()
        (result.leasedBytes, result.releasedBytes) = (memory.leased, memory.added)
        result.isUnderPressure = !budget.isAdmitting
        result.mostActive = breaker.mostActive
        result.untilOpening = .seconds(context.options.rules.hours.secondsUntilOpen(at: wallClock))
        result.untilDeadline = deadline.map { .seconds($0 - wallClock.seconds) }
        return result
    }

    // MARK: Models

    /// An item has ended, and does not come again in this round.
    func forget(_ id: Int64) {
        if let item = items.removeValue(forKey: id) { models.itemEnded(of: item.model) }
    }

    private func releaseUnusedModels() async {
        while let model = models.takeUnused() {
            await pipelines[model.recipe].freeSessions()
            await context.blocking.run { [recipe = context.recipes[model.recipe]] in
                recipe.release(model: model.id)
                cposix_trim_heap()
            }
            budget.add(bytes: model.bytes)
        }
    }

    // MARK: Waiting

    /// Waits until something has changed.
    /// - Returns: false when the run is to stop instead.
    private func wait(for reason: AdmissionStateMachine.WaitReason, until: Duration?, after generation: UInt64) async
        -> Bool
    {
        let (changes, time) = (context.control.changes, context.time)
        var limit = until.map { max($0 - time.monotonic, .zero) }
        let start = time.monotonic
        defer { if case .disk = reason { figures.diskWaitSeconds += (time.monotonic - start).inSeconds } }
        // Somebody may set the system's clock meanwhile.
        if reason == .opening || reason == .paused { limit = limit.map { min($0, .seconds(60)) } }
        do {
            switch reason {
            case .disk, .memory:
                try await context.waiting.monitor.whileSampling {
                    try await changes.wait(after: generation, atMost: limit, time)
                }
            case .activeItems, .retryTime, .opening, .paused:
                try await changes.wait(after: generation, atMost: limit, time)
            }
        } catch {
            return false
        }
        return true
    }

    private func announce(_ reason: AdmissionStateMachine.WaitReason?) async {
        let pause = context.control.pause
        let isStopping = context.control.mode != .running
        let hours = context.options.rules.hours
        for notice in announcements.change(to: reason, isStopping: isStopping, hours, pause) {
            await context.waiting.show(notice)
        }
    }

    // MARK: Items on their way

    nonisolated var mayPostpone: Bool {
        usesStepTimes || context.options.rules.hours.window != nil || context.control.mode != .running
    }
    nonisolated var usesStepTimes: Bool { deadline != nil }

    func postponement(of id: Int64) -> Postponement? { machine.postponement(of: id, conditions) }

    func stepTimed(_ id: Int64, seconds: Double) { machine.stepTimed(id, seconds: seconds) }

    // MARK: Ends of items

    func itemEnded(_ end: ItemEnd) async {
        let cancelled = context.control.cancelledItems
        let (name, model) = (items[end.id]?.name, items[end.id]?.model)
        var end = end
        if case .interrupted = end.outcome, let name, let postponement = context.control.postponement(of: name) {
            end = ItemEnd(id: end.id, outcome: .postponed(postponement), seconds: end.seconds)
        }
        if case .failed(_, recovery: .process?) = end.outcome { notReusable.insert(end.id) }
        await perform(machine.itemEnded(end, cancelled: cancelled, context.time.monotonic))
        if case .completed(let product) = end.outcome, let name, let model {
            if product.origin == nil { figures.items += 1 }
            figures.loadSeconds += end.seconds[.load] ?? 0
            let isOutside =
                !UnusualValues.Value.outside(ranges, product.statistics, of: model, item: 0).isEmpty
                || product.notes.contains { $0.code == .unusualIntensities }
            await look(at: name, model, .completed(isEmpty: product.isEmpty, isOutside: isOutside))
        }
        if let name { context.control.removeFlag(for: name) }
        if case .completed = end.outcome, let name, let reason = doubted[name] { await withdraw([name], reason) }
        machine.recorded(end.id, context.time.monotonic)
        context.control.changes.notify()
        await report.itemEnded()
    }

    func doubt(_ names: [String], because reason: String) async {
        for name in names { doubted[name] = reason }
        await withdraw(names, reason)
    }

    /// After everything has stopped: what never reported goes back to waiting.
    func settleLeftovers() async {
        // Only a deadline makes it worth a transaction an item.
        try? await context.journal.set(.pace, to: machine.pace)
        let cancelled = context.control.cancelledItems
        await perform(machine.abandon(cancelled: cancelled))
        await settleUnfetched(among: cancelled)
        // Other requests were about nothing that this round could cancel, and are not meant for what may come later.
        context.control.forgetRequests()
    }
}
