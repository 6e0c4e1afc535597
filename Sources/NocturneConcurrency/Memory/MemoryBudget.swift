public import NocturneSystem
import Synchronization

extension MemoryBudget {
    /// Why memory cannot be leased at all.
    public enum RequestError: CodedError, Hashable, Sendable, CustomStringConvertible {
        /// The request is larger than the whole budget; waiting would not help.
        case tooLarge(needed: Int, budget: Int)

        /// Always `overBudget`: waiting does not help, a smaller item or a larger budget does.
        public var faultCode: FaultCode { .overBudget }

        /// Both figures in binary units: for the reason of an item that is refused.
        public var description: String {
            switch self {
            case .tooLarge(let needed, let budget):
                "needs \(ByteCount(needed)) of memory, the budget is \(ByteCount(budget))"
            }
        }
    }
}

/// The memory, in bytes, that a batch may use. Code that is about to allocate takes a lease first, and waits
/// until it fits.
///
/// The budget only counts; it does not allocate. To avoid deadlock, take one lease per item and do not request a second
/// one while holding it. Several requests that wait are granted in no particular order; in a batch there is one at most.
///
/// ```swift
/// let budget = MemoryBudget(totalBytes: 8 << 30)
/// let lease = try await budget.lease(bytes: predictedPeak)
/// defer { lease.release() }
/// let volume = try load(path)
/// // What is only needed while loading goes back early.
/// lease.shrink(to: volume.voxels.byteCount)
/// ```
public final class MemoryBudget: Sendable {
    /// Figures at one moment.
    public struct Snapshot: Hashable, Sendable {
        /// The budget in bytes.
        public let total: Int
        /// Bytes currently leased.
        public let leased: Int
        /// Bytes that were added to the budget.
        public let added: Int
        /// The largest number of bytes ever leased at the same time, beyond those that had been added by then.
        public let peakLeased: Int
        /// Number of leases currently held.
        public let holders: Int
    }

    private struct State {
        var machine: MemoryBudgetStateMachine
        var onRelease: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>
    private let changes = ChangeSignal()

    /// - Parameter totalBytes: above 0; see ``defaultTotal(_:)``.
    public init(totalBytes: Int) { state = Mutex(State(machine: MemoryBudgetStateMachine(total: totalBytes))) }

    /// The default budget when the user specifies none: 80 % of the smallest of the cgroup's limit, the available memory, and
    /// what is left of the address space, but at least 64 MiB, because a budget of 0 would refuse every request.
    public static func defaultTotal(_ reading: MemoryReading) -> Int {
        let bounds = [reading.cgroupLimitBytes, reading.systemAvailableBytes, reading.addressSpaceAvailableBytes]
        let bound = bounds.compactMap(\.self).min() ?? .max
        // None of the values is available: use half the memory of a modest laptop.
        guard bound < .max else { return 4 << 30 }
        return max(bound / 100 * 80, 64 << 20)
    }

    /// The budget in bytes; it never changes.
    public var total: Int { state.withLock { $0.machine.total } }

    /// Whether new requests are admitted, as last set by ``setAdmitting(_:)``.
    public var isAdmitting: Bool { state.withLock { $0.machine.admitting } }

    /// Sets an action that is called whenever bytes are returned, on the thread that returned them.
    package func whenReleased(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onRelease = action } }

    /// The number of requests that wait now; for tests.
    package var waiting: Int { changes.waiterCount }

    /// All figures at one moment, consistent with each other.
    public func snapshot() -> Snapshot {
        state.withLock { state in
            let machine = state.machine
            return Snapshot(
                total: machine.total,
                leased: machine.leased,
                added: machine.added,
                peakLeased: machine.peakLeased,
                holders: machine.holders
            )
        }
    }

    /// Waits until `bytes` fit, then leases them.
    ///
    /// - Parameters:
    ///   - bytes: 0 or more.
    ///   - exclusive: Waits until nothing is leased, and nothing else is leased while this lease exists.
    /// - Throws: ``MemoryBudget/RequestError/tooLarge(needed:budget:)`` at once when `bytes` exceeds the whole budget;
    ///   `CancellationError` when the task was cancelled before the lease was granted; nothing is leased then.
    public func lease(bytes: Int, exclusive: Bool = false) async throws -> Lease {
        while true {
            let generation = changes.generation
            try Task.checkCancellation()
            if try state.withLock({ try $0.machine.take(bytes, exclusive: exclusive) }) {
                return Lease(budget: self, bytes: bytes)
            }
            try await changes.wait(after: generation)
        }
    }

    /// Stops or resumes the admission of requests under memory pressure: with false, requests wait even if they would
    /// fit.
    ///
    /// While nothing is leased, a request is granted anyway: no lease could end and ease the pressure, so the batch would
    /// otherwise wait indefinitely.
    public func setAdmitting(_ admitting: Bool) {
        state.withLock { $0.machine.admitting = admitting }
        changes.notify()
    }

    /// Lets leases together have `bytes` more: memory that was set apart from the budget is free. A single one is still
    /// limited by ``total``.
    package func add(bytes: Int) {
        state.withLock { $0.machine.add(bytes: bytes) }
        changes.notify()
    }

    fileprivate func returnMemory(bytes: Int, endsLease: Bool) {
        let action = state.withLock { state in
            state.machine.give(bytes, endsLease: endsLease)
            return state.onRelease
        }
        changes.notify()
        // Outside the lock: the action may ask the budget again.
        action?()
    }
}

extension MemoryBudget {
    /// Bytes leased from a ``MemoryBudget``. They are returned by ``release()`` or when the last reference is released.
    public final class Lease: Sendable {
        private let budget: MemoryBudget
        private let held: Mutex<Int?>

        fileprivate init(budget: MemoryBudget, bytes: Int) {
            self.budget = budget
            held = Mutex(bytes)
        }

        deinit { release() }

        /// The bytes still held: 0 after ``release()``.
        public var bytes: Int { held.withLock { $0 ?? 0 } }

        /// Returns all but `bytes` to the budget. A lease cannot grow: the call does nothing when `bytes` is more than the
        /// lease holds, or after ``release()``.
        public func shrink(to bytes: Int) {
            let returned = held.withLock { held -> Int in
                guard let current = held, bytes < current else { return 0 }
                held = max(bytes, 0)
                return current - max(bytes, 0)
            }
            if returned > 0 { budget.returnMemory(bytes: returned, endsLease: false) }
        }

        /// Returns all bytes to the budget. A second call does nothing.
        public func release() {
            let returned = held.withLock { held -> Int? in
                defer { held = nil }
                return held
            }
            if let returned { budget.returnMemory(bytes: returned, endsLease: true) }
        }
    }
}
