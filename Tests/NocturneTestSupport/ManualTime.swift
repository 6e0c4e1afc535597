public import NocturneSystem
import Synchronization

/// A clock that stands still until a test advances it.
///
/// With ``init(advancesItself:wallClock:)`` set to advance itself, a sleep takes no time: the clock jumps to the earliest
/// moment that anybody sleeps until, once no task has begun another sleep for some turns of the scheduler. Code that
/// waits for hours then runs in milliseconds, and in the order in which it would run.
public final class ManualTime: TimeSource {
    private struct Sleeper {
        let id: UInt64
        let until: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var monotonic = Duration.zero
        /// How long the machine slept.
        var asleep = Duration.zero
        var wallClock: WallTime
        var sleepers: [Sleeper] = []
        var nextID: UInt64 = 0
        var cancelled: Set<UInt64> = []
        var isAdvancing = false
        var slept: [Duration] = []
    }

    private let state: Mutex<State>
    private let advancesItself: Bool

    public init(advancesItself: Bool = false, wallClock: WallTime = WallTime(seconds: 1_700_000_000)) {
        self.advancesItself = advancesItself
        state = Mutex(State(wallClock: wallClock))
    }

    public var monotonic: Duration { state.withLock { $0.monotonic } }
    public var sinceBoot: Duration { state.withLock { $0.monotonic + $0.asleep } }
    public var wallClock: WallTime { state.withLock { $0.wallClock } }
    /// How many tasks sleep now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
    /// The durations of all sleeps so far, in the order in which they began.
    public var slept: [Duration] { state.withLock { $0.slept } }

    /// Moves all clocks on and wakes whoever has slept long enough, the earliest first.
    public func advance(by duration: Duration) {
        let awake = state.withLock { state -> [Sleeper] in
            state.monotonic += duration
            let nanoseconds = state.wallClock.nanoseconds + Int(duration.components.attoseconds / 1_000_000_000)
            state.wallClock.seconds += Int(duration.components.seconds) + nanoseconds / 1_000_000_000
            state.wallClock.nanoseconds = nanoseconds % 1_000_000_000
            let now = state.monotonic
            let awake = state.sleepers.filter { $0.until <= now }.sorted { $0.until < $1.until }
            state.sleepers.removeAll { $0.until <= now }
            return awake
        }
        for sleeper in awake { sleeper.continuation.resume() }
    }

    /// The machine sleeps: nothing of it runs, and only those who were awake see the time pass.
    /// - Parameter seconds: by the date.
    public func sleepMachine(seconds: Int) {
        state.withLock { state in
            state.asleep += .seconds(seconds)
            state.wallClock.seconds += seconds
        }
    }

    /// Sets the system clock without any time passing, as an administrator or a time server does.
    public func setWallClock(_ time: WallTime) { state.withLock { $0.wallClock = time } }

    /// Takes no time: the clock jumps to the end.
    public func block(for duration: Duration) {
        state.withLock { $0.slept.append(duration) }
        advance(by: duration)
    }

    public func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state -> UInt64 in
            state.nextID += 1
            state.slept.append(duration)
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state -> Bool in
                    if state.cancelled.remove(id) != nil { return true }
                    state.sleepers.append(
                        Sleeper(id: id, until: state.monotonic + duration, continuation: continuation)
                    )
                    return false
                }
                if isCancelled { return continuation.resume(throwing: CancellationError()) }
                if advancesItself { advanceSoon() }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Jumps to the earliest wake-up after other tasks have had their turns.
    private func advanceSoon() {
        let starts = state.withLock { state -> Bool in
            defer { state.isAdvancing = true }
            return !state.isAdvancing
        }
        guard starts else { return }
        Task {
            for _ in 0..<200 { await Task.yield() }
            let step = state.withLock { state -> Duration? in
                state.isAdvancing = false
                return state.sleepers.map(\.until).min().map { $0 - state.monotonic }
            }
            guard let step else { return }
            advance(by: max(step, .zero))
            if state.withLock({ !$0.sleepers.isEmpty }) { advanceSoon() }
        }
    }
}
