public import NocturneSystem
import Synchronization

/// The resources of a synchronous algorithm: the idle compute threads, the cancellation flag that it must check, and the clock.
///
/// The algorithm itself runs inside ``ComputePool/run(_:)``. Without a pool (``serial(_:)``) loops run on the caller.
public struct ComputeScope: Sendable {
    private let pool: ComputePool?
    /// Raised when the work is no longer wanted. Loops check it before every index; long bodies must check it
    /// themselves.
    public let flag: CancellationFlag
    /// The clock, so that tests decide what time it is.
    public let time: any TimeSource
    /// Measures the runs of networks on a device; nil where nobody asks for it.
    public let device: DeviceMeter?

    /// - Parameter pool: Its idle threads help with loops; nil runs them on the caller.
    public init(
        pool: ComputePool?,
        flag: CancellationFlag,
        time: any TimeSource = SystemTime(),
        device: DeviceMeter? = nil
    ) {
        self.pool = pool
        self.flag = flag
        self.time = time
        self.device = device
    }

    /// Uses no helper threads; the flag is never raised unless one is passed.
    public static func serial(_ flag: CancellationFlag = CancellationFlag()) -> ComputeScope {
        ComputeScope(pool: nil, flag: flag)
    }

    /// The same without helper threads.
    public var serial: ComputeScope { ComputeScope(pool: nil, flag: flag, time: time, device: device) }

    /// The maximum number of threads a loop can use.
    public var width: Int { pool?.width ?? 1 }

    /// Throws when the work should stop.
    public func check() throws(CancelledError) { try flag.check() }

    /// Calls `body` once for every index below `count`, on this thread and on idle ones.
    ///
    /// The flag is checked before every index, so one index should take less than a second. Which thread processes
    /// which index is not fixed. Write to disjoint locations and merge reductions in index order afterwards; the result
    /// is then bit-identical for any number of threads.
    /// - Throws: ``CancelledError`` once the flag is raised; some indices were then not visited.
    public func forEach(_ count: Int, _ body: @Sendable (Int) -> Void) throws(CancelledError) {
        try flag.check()
        if let pool {
            pool.forEach(count) { index in
                if !flag.isCancelled { body(index) }
            }
        } else {
            for index in 0..<max(count, 0) where !flag.isCancelled { body(index) }
        }
        try flag.check()
    }

    /// ``forEach(_:_:)`` over ranges of at most `stride` that together cover `0..<count`. The ranges do not depend on
    /// threads.
    public func forEachRange(
        of count: Int,
        by stride: Int,
        _ body: @Sendable (Range<Int>) -> Void
    ) throws(CancelledError) {
        let step = max(stride, 1)
        try forEach((max(count, 0) + step - 1) / step) { index in
            body(index * step..<min(count, (index + 1) * step))
        }
    }
}

extension ComputeScope {
    /// Works on portions one after the other. Meanwhile another thread stores the product of the portion before, and reads the
    /// next portion.
    ///
    /// `read` and `store` are never called at the same time, and products are stored in the order of their portions. On one
    /// thread everything is done in turn.
    /// - Parameters:
    ///   - read: the portion after the given one, or the first; nil when there is none. Called again once all products are
    ///     stored, since these may have led to more portions.
    ///   - work: makes the product of a portion.
    ///   - store: takes a product.
    /// - Throws: the first error; ``CancelledError`` once the flag is raised.
    package func forEachPortion<Portion: Sendable, Product: Sendable>(
        read: @Sendable (_ last: Portion?) throws -> Portion?,
        work: @Sendable (Portion) throws -> Product,
        store: @Sendable (Product) throws -> Void
    ) throws {
        var portion = try read(nil)
        var product: Product?
        while let current = portion {
            let before = product
            let next = Mutex(Result<Portion?, any Error>.success(nil))
            let made = Mutex(Result<Product, any Error>?.none)
            try forEach(2) { index in
                // The work first: this thread takes it, and a helper that has stored and read may help with its loops.
                if index == 0 {
                    let result = Result { try work(current) }
                    made.withLock { $0 = result }
                } else {
                    let result = Result {
                        if let before { try store(before) }
                        return try read(current)
                    }
                    next.withLock { $0 = result }
                }
            }
            (portion, product) = (try next.withLock { try $0.get() }, try made.withLock { try $0?.get() })
            if portion == nil, let last = product {
                try store(last)
                product = nil
                portion = try read(current)
            }
        }
    }

    /// Runs a computation with a new pool of threads, which is shut down afterwards.
    /// - Throws: ``ThreadStartError``, and what `body` throws.
    package static func withPool<Result: Sendable>(
        of threads: Int,
        _ body: @escaping @Sendable (ComputeScope) throws -> Result
    ) async throws -> Result {
        let pool = try ComputePool(width: threads)
        defer { pool.shutdown() }
        return try await pool.run { try body(ComputeScope(pool: pool, flag: CancellationFlag())) }
    }
}
