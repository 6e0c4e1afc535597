import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Where a run shows what it does.
public protocol ProgressView: Sendable {
    func show(_ event: BatchEvent, _ status: ProgressStatus)
    /// Called a few times a second at most, while items are in flight.
    func refresh(_ status: ProgressStatus)
    /// Leaves the terminal as it was found.
    func close()
}

/// The state of a run, for a view.
public struct ProgressStatus: Sendable {
    public var total = 0
    public var done = 0
    public var failed = 0
    /// Items in flight by name, with the share of their tiles done.
    public var running: [(name: String, share: Double)] = []
    public var etaSeconds: Double?

    public init() {}
}

/// Events out: one object a line into `events.jsonl`, and to whichever view the terminal has.
public actor ProgressReporter {
    private let view: any ProgressView
    private let path: String?
    private var file: FileHandle?
    /// Whether the last line may not have been written to its end.
    private var isTorn = false
    private var status = ProgressStatus()
    private var running: [Int64: (name: String, share: Double, steps: Int)] = [:]
    private var order: [Int64] = []
    private var stepsTotal = 0
    private var stepsDone = 0.0
    private let started = ContinuousClock.now
    private var lastRefresh = ContinuousClock.now

    public init(path: String?, view: any ProgressView) {
        self.view = view
        self.path = path
    }

    /// Appends a line. Where the disk is full it is lost, and the next one begins on a line of its own.
    private func append(_ line: [UInt8]) {
        if file == nil, let path {
            // Only once the batch's folder is there, and never in the place of one that is gone.
            let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { return }
            var last = UInt8(ascii: "\n")
            if pread(descriptor, &last, 1, lseek(descriptor, 0, SEEK_END) - 1) == 1 {
                isTorn = last != UInt8(ascii: "\n")
            }
            file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
        do {
            try file?.write(contentsOf: Data((isTorn ? [UInt8(ascii: "\n")] : []) + line))
            isTorn = false
        } catch {
            isTorn = true
        }
    }

    func begin(total: Int, alreadyDone: Int, failed: Int, steps: Int) {
        status.total = total
        status.done = alreadyDone
        status.failed = failed
        stepsTotal = steps
    }

    func started(_ id: Int64, name: String, steps: Int) {
        running[id] = (name, 0, steps)
        order.append(id)
        emit(BatchEvent(.itemStarted, item: name))
    }

    func stepped(_ id: Int64, done: Int, of count: Int) {
        guard var entry = running[id] else { return }
        let share = count > 0 ? Double(done) / Double(count) : 1
        stepsDone += (share - entry.share) * Double(entry.steps)
        entry.share = share
        running[id] = entry
        let now = ContinuousClock.now
        if now - lastRefresh > .milliseconds(200) {
            lastRefresh = now
            update()
            view.refresh(status)
        }
    }

    func ended(_ id: Int64, _ event: BatchEvent) {
        if let entry = running.removeValue(forKey: id) {
            order.removeAll { $0 == id }
            stepsDone += (1 - entry.share) * Double(entry.steps)
        }
        if event.event != .itemInterrupted { status.done += 1 }
        if event.event == .itemFailed { status.failed += 1 }
        emit(event)
    }

    /// A retry puts the item's tiles back.
    func putBack(_ id: Int64, _ event: BatchEvent) {
        if let entry = running.removeValue(forKey: id) {
            order.removeAll { $0 == id }
            stepsDone -= entry.share * Double(entry.steps)
        }
        emit(event)
    }

    func emit(_ event: BatchEvent) {
        update()
        var event = event
        if event.event == .heartbeat || event.event == .itemCompleted {
            event.done = status.done
            event.total = status.total
            event.failed = status.failed
            event.etaSeconds = status.etaSeconds.map { $0.rounded() }
        }
        if let line = try? StableJSON.encodeLine(event) { append(line) }
        view.show(event, status)
    }

    /// Something to say that is about no single item.
    public func note(_ text: String) { emit(BatchEvent(.note, reason: text)) }

    public func close() {
        view.close()
        try? file?.close()
        file = nil
    }

    private func update() {
        status.running = order.compactMap { id in running[id].map { ($0.name, $0.share) } }
        let elapsed = (ContinuousClock.now - started).inSeconds
        status.etaSeconds =
            stepsDone > 0 && elapsed > 2 ? elapsed / stepsDone * max(0, Double(stepsTotal) - stepsDone) : nil
    }
}
