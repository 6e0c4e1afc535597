public import NocturneConcurrency
public import NocturneSystem

/// The widths with which results are compared: alone, as many as a small machine has, more than there are tiles.
public let poolWidths = [1, 2, 5]

/// Calls `body` with a compute pool of each width and shuts it down afterwards.
public func withPools(widths: [Int] = poolWidths, _ body: (ComputePool) async throws -> Void) async throws {
    for width in widths {
        let pool = try ComputePool(width: width)
        defer { pool.shutdown() }
        try await body(pool)
    }
}

/// Runs the synchronous `body` inside a pool of each width; the results in the order of `widths`.
public func resultsForWidths<R: Sendable>(
    _ widths: [Int] = poolWidths,
    flag: CancellationFlag = CancellationFlag(),
    _ body: @escaping @Sendable (ComputeScope) throws -> R
) async throws -> [R] {
    var results: [R] = []
    try await withPools(widths: widths) { pool in
        results.append(try await pool.run { try body(ComputeScope(pool: pool, flag: flag)) })
    }
    return results
}
