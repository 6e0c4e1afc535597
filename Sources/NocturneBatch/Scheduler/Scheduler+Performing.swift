import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// How the actions are performed.
extension Scheduler {
    // MARK: Starting items

    func measure(_ diskBytes: Int?, attempt: Bool, memory: Bool) async -> MachineMeasurement {
        var result = MachineMeasurement()
        if let diskBytes { result = await context.disk.measure(bytes: diskBytes, attempt: attempt) }
        if memory { result.memory = await context.waiting.probes.run { MemoryReading.take() } }
        return result
    }

    /// Reads the next items of the queue.
    func fetch() async {
        do {
            let limit = Self.itemsFetchedTogether
            let next = await withEarlierResults(try await context.journal.pending(after: lastFetched, limit: limit))
            // Items that were left for a later round no longer wait.
            if items.count > 2 * machine.knownCount + limit {
                let known = Set(machine.waiting.map(\.id) + machine.active.keys)
                items = items.filter { known.contains($0.key) }
            }
            for item in next { items[item.id] = item }
            lastFetched = next.last ?? lastFetched
            machine.fetched(next, hasMore: next.count == limit)
        } catch {
            machine.fetched([], hasMore: false)
            await perform([.drain(.journal("\(error)"))])
        }
    }

    /// Items that were to be cancelled and whose turn never came.
    func settleUnfetched(among cancelled: Set<String>) async {
        guard machine.hasMore, !cancelled.isEmpty else { return }
        let names = (try? await context.journal.pendingNames(among: cancelled.sorted(), after: lastFetched)) ?? []
        let waiting = (try? await context.journal.items(named: names)) ?? [:]
        for (name, item) in waiting.sorted(by: { $0.value.id < $1.value.id }) {
            items[item.id] = PendingItem(id: item.id, name: name)
            await perform([.settle(item.id, .cancelled)])
        }
    }

    func plan(_ id: Int64) async {
        do {
            let plan = try await planned(id).plan
            machine.planned(id, AdmissionStateMachine.Needs(plan))
        } catch let error as JournalError {
            await perform([.drain(.journal("\(error)"))])
        } catch {
            await perform(
                machine.planFailed(id, ItemReason(FaultCode(of: error), "\(error)", stage: ItemReason.discovery))
            )
        }
    }

    /// The plan of an item. Makes those of the next items of the queue too, so that journal and pool are asked once for
    /// several: what fails there is made again when its turn comes, and fails then.
    private func planned(_ id: Int64) async throws -> PlannedItem {
        if let plan = plans[id] { return plan }
        // The plan of an item that waits for long is not kept, but made once more when it is started.
        if plans.count > machine.settings.lookahead { plans = [:] }
        let next = machine.queue.filter { $0.needs == nil }.prefix(Scheduler.itemsPlannedTogether).map(\.item.id)
        let ids = [id] + next.filter { $0 != id && plans[$0] == nil }
        let found = try await context.journal.discovered(ids)
        for id in ids { plans[id] = await reusing(id, found[id]) }
        if let plan = plans[id] { return plan }
        let requests = ids.filter { plans[$0] == nil }.compactMap { id in
            items[id].flatMap { item in
                found[id].map { (id: id, pipeline: pipelines[item.recipe], source: $0) }
            }
        }
        let (threads, bytes) = (context.pool.width, budget.total)
        let results = await context.pool.run { [filesInMemory] in
            requests.map { id, pipeline, source in
                let plan = Result {
                    try pipeline.plan(source, threads: threads, within: bytes, filesInMemory: filesInMemory)
                }
                return (id, plan)
            }
        }
        for (other, result) in results where other != id { plans[other] = try? result.get() }
        guard let result = results.first(where: { $0.0 == id })?.1 else {
            let detail = "the journal no longer has the item"
            throw BatchError(.unknownItem, path: items[id]?.name ?? "", detail: detail)
        }
        let plan = try result.get()
        plans[id] = plan
        return plan
    }

    func start(_ id: Int64, after wait: AdmissionStateMachine.MemoryWait?) async {
        guard let item = items[id] else { return }
        if let wait { await context.progress.note(wait.text(of: item.name)) }
        var isRecorded = false
        do {
            let planned = try await planned(id)
            plans[id] = nil
            try FaultPoint.lease.pass()
            let isAlone = item.isAlone || planned.plan.isLean
            if planned.plan.isLean { await noteLean(item, planned.source) }
            // What is leased was counted before, so that this waits for nothing but a lease that is just being returned.
            let lease = try await budget.lease(bytes: planned.plan.peak(), exclusive: isAlone)
            try await context.journal.markStarted([id])
            isRecorded = true
            await context.progress.started(id, name: item.name, steps: planned.plan.steps)
            sequence += 1
            let spare = planned.plan.isLean ? budget.total - planned.plan.peak() : 0
            try await planned.start(ActiveItem(item, planned, lease, spare, sequence: sequence, context))
        } catch let error as JournalError {
            let failure: AdmissionStateMachine.StartFailure = error.isOutOfRoom ? .diskFull : .journal("\(error)")
            await perform(machine.startFailed(id, failure, context.time.monotonic))
        } catch {
            let isStopped = error is CancellationError || error is CancelledError
            let failure: AdmissionStateMachine.StartFailure =
                isStopped
                ? .cancelled(isRecorded: isRecorded) : .failed(ItemReason(FaultCode(of: error), "\(error)"))
            await perform(machine.startFailed(id, failure, context.time.monotonic))
        }
    }

    /// Notes how much memory an item would have needed not to be processed alone.
    private func noteLean(_ item: PendingItem, _ source: DiscoveredSource) async {
        let (pipeline, threads) = (pipelines[item.recipe], context.pool.width)
        let ordinary = await context.pool.run { [filesInMemory] in
            try? pipeline.plan(source, threads: threads, within: .max, filesInMemory: filesInMemory)
        }
        figures.leanItems += 1
        let other = context.limits.memoryBytes - budget.total
        figures.sufficientBytes = max(figures.sufficientBytes, other + (ordinary?.plan.peak() ?? 0))
    }

    // MARK: Ends

    func perform(_ actions: [AdmissionStateMachine.Action]) async {
        for action in actions { await perform(action) }
    }

    private func perform(_ action: AdmissionStateMachine.Action) async {
        let (control, progress) = (context.control, context.progress)
        switch action {
        case .complete(let id, let seconds, let product): await complete(id, seconds, product)
        case .putBack(let id, let reason):
            await record(id, as: .pending, reason)
            let event: BatchEvent.Kind = reason.code == .interrupted ? .itemInterrupted : .itemRetried
            await progress.putBack(id, BatchEvent(event, item: items[id]?.name, because: reason))
        case .settle(let id, let settlement): await settle(id, settlement)
        case .discardStaging(let id):
            guard let name = items[id]?.name else { return }
            await context.blocking.run { [staging = context.output.staging(name)] in _ = FileSystem.remove(staging) }
        case .drain(let reason):
            control.finishActive()
            await progress.emit(reason.event(context.options.rules.hours))
        case .giveUp(let reason):
            let isFirst = control.givenUp == nil
            control.giveUp(reason)
            if isFirst { await progress.noteStop("Stopping: \(reason).") }
        case .fetch, .plan, .measure, .start, .wait, .finished: break
        }
    }

    private func complete(_ id: Int64, _ seconds: Double, _ product: ItemProduct) async {
        // Without a deadline once at the end is enough.
        if deadline != nil { try? await context.journal.set(.pace, to: machine.pace) }
        var event = BatchEvent(.itemCompleted, item: items[id]?.name, because: product.origin)
        event.seconds = (seconds * 1000).rounded() / 1000
        event.objects = product.objects
        await context.progress.ended(id, event)
        forget(id)
    }

    private func settle(_ id: Int64, _ settlement: AdmissionStateMachine.Settlement) async {
        let (state, reason, event): (ItemState, ItemReason, BatchEvent.Kind) =
            switch settlement {
            case .failed(let reason): (.failed, reason, .itemFailed)
            case .setAside(let reason): (.skipped, reason, .itemSkipped)
            case .cancelled: (.cancelled, ItemReason(.cancelled, "cancelled on request"), .itemCancelled)
            case .interrupted: (.pending, ItemReason(.interrupted, "interrupted"), .itemInterrupted)
            }
        await record(id, as: state, reason)
        if state == .failed, let item = items[id] { await look(at: item.name, item.model, .failed(reason.code)) }
        if state == .cancelled, let name = items[id]?.name { context.control.forgetRequest(name) }
        var shown = BatchEvent(event, item: items[id]?.name, because: reason)
        if state == .failed, let name = shown.item, let item = try? await context.journal.items(named: [name])[name],
            ItemNames.isDigest(name, of: item.key)
        {
            shown.path = item.path
        }
        await context.progress.ended(id, shown)
        forget(id)
    }

    /// Ends the run if this item and those before it show that the batch is wrong.
    func look(at name: String, _ model: String, _ end: CircuitBreaker.End) async {
        guard let trip = breaker.ended(name, model: model, end), context.control.givenUp == nil else { return }
        context.control.trip(trip.text)
        let items = (try? await context.journal.items(named: trip.names)) ?? [:]
        let folder = CircuitBreaker.Trip.folder(of: items.values.map(\.path))
        let place = folder.map { " All are below \($0)." } ?? ""
        await context.progress.noteStop(
            "Stopping: \(trip.text) (\(listed(trip.names, most: 3))).\(place) Look at them: are these the right inputs for the model? If they are, "
                + "continue with: \(context.output.continuation) --stop-when never"
        )
    }

    /// Lets completed items wait again, and takes the proof from their results, which no later run may take for whole.
    func withdraw(_ names: [String], _ cause: String) async {
        do {
            let items = try await context.journal.items(named: names).values.filter { $0.state == .completed }
            guard !items.isEmpty else { return }
            hasWithdrawn = true
            let folders = items.map { context.output.item($0.name) }
            await context.blocking.run {
                for folder in folders {
                    for file in ["result.json", "run.json"] { _ = FileSystem.remove(folder + "/" + file) }
                }
            }
            let reason = ItemReason(.unproved, "the result is not proved: \(cause)")
            let time = context.time.wallClock.timestamp
            try await context.journal.processAgain(items.map(\.id), reason: reason, at: time)
            let list = items.map(\.name).sorted().joined(separator: ", ")
            await context.progress.note("\(cause). The results of these items are not proved, and made again: \(list)")
        } catch {
            await context.progress.note("\(error)")
        }
    }

    /// What cannot be recorded is shown: the next run finds the item as it was, and processes it again.
    private func record(_ id: Int64, as state: ItemState, _ reason: ItemReason) async {
        do {
            let time = context.time.wallClock.timestamp
            try await context.journal.settle([id], as: state, reason: reason, at: time)
        } catch {
            if context.control.givenUp == nil { await context.progress.note("\(error)") }
        }
    }
}

extension AdmissionStateMachine.Needs {
    init(_ plan: ItemPlan) {
        self.init(memoryBytes: plan.peak(), diskBytes: plan.diskBytes, steps: plan.steps, isLean: plan.isLean)
    }
}

extension ActiveItem {
    init(
        _ item: PendingItem,
        _ planned: PlannedItem,
        _ lease: MemoryBudget.Lease,
        _ spareBytes: Int,
        sequence: Int,
        _ context: RunContext
    ) {
        let (source, plan) = (planned.source, planned.plan)
        let flag = context.control.flag(for: item.name)
        var recipeItem = RecipeItem(
            name: item.name,
            path: source.path,
            fingerprint: source.fingerprint,
            edit: item.edit.map { ItemEdit($0, in: context.output) }
        )
        recipeItem.version = context.options.description.version
        recipeItem.earlierResult = item.earlierResult
        self.init(
            id: item.id,
            item: recipeItem,
            plan: plan,
            lease: lease,
            flag: flag,
            sequence: sequence,
            context: StageContext(
                scope: ComputeScope(pool: context.pool, flag: flag, time: context.time, device: context.device),
                staging: context.output.staging(item.name),
                isLean: plan.isLean,
                spareBytes: spareBytes
            ),
            inputs: source.inputs
        )
    }
}
