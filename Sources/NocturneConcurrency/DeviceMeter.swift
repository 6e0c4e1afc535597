import Synchronization

/// How busy a device is on which networks run, such as a GPU, and what it waits for: sums of time, which grow during a run.
public final class DeviceMeter: Sendable {
    /// Sums since the meter was made.
    public struct Reading: Sendable, Equatable {
        /// In which a network ran on the device.
        public var running = Duration.zero
        /// In which inference was at work on an item: networks, and what the processor does before and after them.
        public var inference = Duration.zero
    }

    private let sums = Mutex(Reading())

    /// All sums are zero.
    public init() {}

    /// The sums so far, without a run that has not ended.
    public var reading: Reading { sums.withLock { $0 } }

    /// Adds the time of a run of a network.
    public func add(running time: Duration) { sums.withLock { $0.running += time } }

    /// Adds the time of a step of inference.
    public func add(inference time: Duration) { sums.withLock { $0.inference += time } }
}
