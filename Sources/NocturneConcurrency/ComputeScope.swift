public import NocturneSystem

/// What a synchronous algorithm may use: the idle compute threads, and the flag it must look at.
///
/// The algorithm itself runs inside ``ComputePool/run(_:)``. Without a pool (``serial(_:)``) loops run on the caller.
public struct ComputeScope: Sendable {
    private let pool: ComputePool?
    public let flag: CancellationFlag

    public init(pool: ComputePool?, flag: CancellationFlag) {
        self.pool = pool
        self.flag = flag
    }

    /// No helpers, and a flag that is never raised unless given.
    public static func serial(_ flag: CancellationFlag = CancellationFlag()) -> ComputeScope {
        ComputeScope(pool: nil, flag: flag)
    }

    /// The most threads a loop can use.
    public var width: Int { pool?.width ?? 1 }

    /// Throws when the work is to stop.
    public func check() throws(CancelledError) { try flag.check() }

    /// Calls `body` once for every index below `count`, on this thread and on idle ones.
    ///
    /// The flag is looked at before every index, so an index should be less than a second's work. Which thread takes
    /// which index is not fixed: write to disjoint places, merge reductions in index order afterwards, and the result
    /// is bit-identical for any number of threads.
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

    /// ``forEach(_:_:)`` over ranges of at most `stride` that together make `0..<count`. The cut does not depend on threads.
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
