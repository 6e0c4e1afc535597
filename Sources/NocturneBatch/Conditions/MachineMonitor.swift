import CPosix
package import NocturneConcurrency
import NocturneOutput
package import NocturneSystem

/// Looks at the machine once a second, as long as anything depends on it: sets the pressure level from the memory, notices
/// the file that stops a watch, and wakes whoever waits for free space or memory. The only place that does so.
package actor MachineMonitor {
    /// What follows the machine's memory.
    package struct PressureFollowers: Sendable {
        let budget: MemoryBudget
        let gate: PressureGate
        /// For the whole process, in bytes.
        let processBudget: Int
        let device: DeviceMeter
        /// Shows what the run does; called on a thread that may wait.
        let show: @Sendable (RunProgress) -> Void

        /// - Parameters:
        ///   - budget: admits nothing above the level normal.
        ///   - gate: gets the level.
        ///   - processBudget: for the whole process, in bytes; the budget of the leases is smaller.
        ///   - device: how busy it is shown, too.
        ///   - show: records what the run does.
        package init(
            budget: MemoryBudget,
            gate: PressureGate,
            processBudget: Int,
            device: DeviceMeter = DeviceMeter(),
            show: @escaping @Sendable (RunProgress) -> Void = { _ in }
        ) {
            self.budget = budget
            self.gate = gate
            self.processBudget = processBudget
            self.device = device
            self.show = show
        }
    }

    private let time: any TimeSource
    private let control: RunControl
    private let progress: ProgressReporter
    private let probes: BlockingPool
    private let watch: FolderWatcher?
    private let readMemory: @Sendable () async -> MemoryReading

    private var followers: PressureFollowers?
    private var pressure: PressureStateMachine?
    private var lastReading: MemoryReading?
    /// Of the device, one each second, for half a minute.
    private var deviceReadings: [(time: Duration, sums: DeviceMeter.Reading)] = []
    /// Seconds since somebody follows the pressure.
    private var seconds = 0
    private var waiterCount = 0
    private var isCheckingStopFile = false
    private var isShowing = false
    /// The file that ends the watch is there.
    package private(set) var isStopRequested = false
    private let demand = ChangeSignal()

    static let interval = Duration.seconds(1)
    /// Between two records of what the run does, in seconds.
    private static let showSeconds = 2
    /// Between two signs of life, in seconds.
    private static let heartbeatSeconds = 30

    /// - Parameters:
    ///   - control: notified of samples and of the file that ends the watch.
    ///   - progress: gets changes of the level, and signs of life.
    ///   - time: by which samples are apart.
    ///   - probes: threads that may hang at a share.
    ///   - watch: nil for a run that does not wait for new inputs.
    ///   - readMemory: replaced by tests.
    package init(
        control: RunControl,
        progress: ProgressReporter,
        time: any TimeSource,
        probes: BlockingPool,
        watch: FolderWatcher?,
        readMemory: @escaping @Sendable () async -> MemoryReading
    ) {
        self.control = control
        self.progress = progress
        self.time = time
        self.probes = probes
        self.watch = watch
        self.readMemory = readMemory
    }

    /// Takes samples until the task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let generation = demand.generation
                do {
                    guard followers != nil || waiterCount > 0 || watch?.stopFile != nil else {
                        try await demand.wait(after: generation)
                        continue
                    }
                    try await time.sleep(for: MachineMonitor.interval)
                } catch {
                    break
                }
                await sampleMemory()
                if followers != nil, seconds % Self.showSeconds == 1, !isShowing {
                    isShowing = true
                    group.addTask { await self.showProgress() }
                }
                if waiterCount > 0 { control.changes.notify() }
                if watch?.stopFile != nil, !isCheckingStopFile, !isStopRequested {
                    isCheckingStopFile = true
                    // Not awaited here: a share that hangs must not keep the pressure from being noticed.
                    group.addTask { await self.checkStopFile() }
                }
            }
            group.cancelAll()
        }
    }

    /// From now on these follow the pressure.
    package func follow(_ followers: PressureFollowers) async {
        self.followers = followers
        pressure = PressureStateMachine(budgetBytes: followers.processBudget)
        seconds = 0
        deviceReadings = [(time.monotonic, followers.device.reading)]
        demand.notify()
        if isStopRequested { await drain() }
    }

    /// Nobody follows the pressure any longer; the gate and the budget keep their last state.
    package func stopFollowing() {
        followers = nil
        pressure = nil
    }

    /// While `body` runs, every sample notifies ``RunControl/changes``.
    package nonisolated func whileSampling(_ body: () async throws -> Void) async throws {
        await changeWaiters(by: 1)
        do {
            try await body()
        } catch {
            await changeWaiters(by: -1)
            throw error
        }
        await changeWaiters(by: -1)
    }

    private func changeWaiters(by count: Int) {
        waiterCount += count
        demand.notify()
    }

    // MARK: Samples

    private func sampleMemory() async {
        guard followers != nil else { return }
        let reading = await readMemory()
        lastReading = reading
        guard let followers, var machine = pressure else { return }
        let change = machine.observe(reading)
        pressure = machine
        seconds += 1
        deviceReadings = deviceReadings.suffix(Self.heartbeatSeconds) + [(time.monotonic, followers.device.reading)]
        if let change {
            followers.gate.setLevel(change.to)
            followers.budget.setAdmitting(change.to == .normal)
            control.changes.notify()
            // The C library keeps what was freed: it is given back to the system when that matters.
            if change.to != .normal { cposix_trim_heap() }
            let reason = "\(change.from) to \(change.to): \(change.reason); \(Self.consequence(of: change.to))"
            await emit(BatchEvent(.pressure, reason: reason), reading, followers)
        }
        if seconds % MachineMonitor.heartbeatSeconds == 0 {
            var event = BatchEvent(.heartbeat)
            event.device = deviceUse
            await emit(event, reading, followers)
        }
    }

    private var deviceUse: DeviceUse? {
        guard let first = deviceReadings.first, let last = deviceReadings.last else { return nil }
        return DeviceUse(from: first.sums, to: last.sums, in: last.time - first.time)
    }

    /// Shows an event with what the process takes then.
    private func emit(_ event: BatchEvent, _ reading: MemoryReading, _ followers: PressureFollowers) async {
        var event = event
        (event.residentBytes, event.leasedBytes) = (reading.residentBytes, followers.budget.snapshot().leased)
        await progress.emit(event)
    }

    private func showProgress() async {
        defer { isShowing = false }
        guard let followers else { return }
        let memory = RunProgress.Memory(
            residentBytes: lastReading?.residentBytes,
            leasedBytes: followers.budget.snapshot().leased,
            budgetBytes: followers.processBudget,
            pressure: "\(followers.gate.level)"
        )
        let progress = await progress.runProgress(memory, deviceUse)
        await probes.run { followers.show(progress) }
    }

    private static func consequence(of level: PressureLevel) -> String {
        switch level {
        case .normal: "starting new items again"
        case .warning: "nothing is started in addition to the active items"
        case .critical: "of the active items only the oldest continues"
        }
    }

    /// Whether the file that ends the watch is there.
    func checkStopFile() async {
        defer { isCheckingStopFile = false }
        guard !isStopRequested, let path = watch?.stopFile else { return }
        guard await probes.run({ FileSystem.exists(path) }) else { return }
        isStopRequested = true
        control.changes.notify()
        if followers != nil { await drain() }
    }

    private func drain() async {
        guard control.mode == .running else { return }
        control.drain()
        await progress.note("Stop requested: active items are finished, nothing more is started.")
    }
}
