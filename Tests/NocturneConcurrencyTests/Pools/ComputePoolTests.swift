import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

/// How often each index was visited.
private final class Visits: Sendable {
    private let counts: Mutex<[Int]>
    init(_ count: Int) { counts = Mutex(Array(repeating: 0, count: count)) }
    func visit(_ index: Int) { counts.withLock { $0[index] += 1 } }
    var all: [Int] { counts.withLock { $0 } }
    var total: Int { all.reduce(0, +) }
}

private struct Fault: Error, Equatable {
    let code: Int
}

@Suite("ComputePool and ComputeScope")
struct ComputePoolTests {
    @Test("every index is visited once", arguments: [1, 2, 5], [0, 1, 2, 3, 7, 64, 1000])
    func visitsOnce(width: Int, count: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let visits = Visits(count)
            try await pool.run {
                try ComputeScope(pool: pool, flag: CancellationFlag()).forEach(count) { visits.visit($0) }
            }
            #expect(visits.all == Array(repeating: 1, count: count))
        }
    }

    @Test("a loop on the caller's thread visits every index in order")
    func serial() throws {
        let seen = Mutex<[Int]>([])
        try ComputeScope.serial().forEach(5) { index in seen.withLock { $0.append(index) } }
        #expect(seen.withLock { $0 } == [0, 1, 2, 3, 4])
        #expect(ComputeScope.serial().width == 1)
    }

    @Test("ranges cover everything once, in pieces that do not depend on the width", arguments: [1, 2, 5])
    func ranges(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            for (count, stride) in [(0, 3), (1, 3), (3, 3), (10, 3), (10, 0), (7, 100)] {
                let pieces = Mutex<[Range<Int>]>([])
                try await pool.run {
                    try ComputeScope(pool: pool, flag: CancellationFlag()).forEachRange(of: count, by: stride) {
                        piece in
                        pieces.withLock { $0.append(piece) }
                    }
                }
                let sorted = pieces.withLock { $0 }.sorted { $0.lowerBound < $1.lowerBound }
                #expect(sorted.flatMap { Array($0) } == Array(0..<count))
                #expect(sorted.dropLast().allSatisfy { $0.count == max(stride, 1) })
            }
        }
    }

    @Test("loops inside loops inside loops end, whatever the width", arguments: [1, 2, 5])
    func nested(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let visits = Visits(6 * 7 * 8)
            try await pool.run {
                let scope = ComputeScope(pool: pool, flag: CancellationFlag())
                try scope.forEach(6) { a in
                    try? scope.forEach(7) { b in
                        try? scope.forEach(8) { c in visits.visit((a * 7 + b) * 8 + c) }
                    }
                }
            }
            #expect(visits.all.allSatisfy { $0 == 1 })
        }
    }

    @Test("many jobs with loops share the pool", arguments: [1, 2, 5])
    func concurrentRuns(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let sums = try await withThrowingTaskGroup(of: Int.self) { group in
                for job in 0..<64 {
                    group.addTask {
                        try await pool.run {
                            let parts = Mutex(Array(repeating: 0, count: 50))
                            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
                            try scope.forEach(50) { index in parts.withLock { $0[index] = index * job } }
                            return parts.withLock { $0.reduce(0, +) }
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(sums.sorted() == (0..<64).map { $0 * 1225 })
        }
    }

    @Test("very short loops end cleanly however helpers come and go")
    func shortLoops() async throws {
        try await withPools(widths: [5]) { pool in
            let visits = Visits(3)
            try await pool.run {
                let scope = ComputeScope(pool: pool, flag: CancellationFlag())
                for _ in 0..<20_000 { try scope.forEach(3) { visits.visit($0) } }
            }
            #expect(visits.all == [20_000, 20_000, 20_000])
        }
    }

    @Test("what the loop wrote is seen after it, in memory of its own for every index")
    func writesAreSeen() async throws {
        let results = try await resultsForWidths { scope -> [Int] in
            var values = Array(repeating: 0, count: 10_000)
            try values.withUnsafeMutableBufferPointer { buffer throws in
                nonisolated(unsafe) let buffer = buffer
                try scope.forEachRange(of: 10_000, by: 37) { range in
                    for index in range { buffer[index] = index * index }
                }
            }
            return values
        }
        for values in results { #expect(values == (0..<10_000).map { $0 * $0 }) }
    }

    @Test("a raised flag stops a loop early, and the loop says so", arguments: [1, 2, 5])
    func cancellation(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let flag = CancellationFlag()
            let visits = Visits(100_000)
            await #expect(throws: CancelledError.self) {
                try await pool.run {
                    try ComputeScope(pool: pool, flag: flag).forEach(100_000) { index in
                        visits.visit(index)
                        if index == 10 { flag.cancel() }
                    }
                }
            }
            // Each thread may be inside one index more when the flag goes up, and start none after it.
            #expect(visits.all.prefix(11).filter { $0 == 1 }.count >= 11 - width)
            #expect(visits.total < 100_000)
            await #expect(throws: CancelledError.self) {
                try await pool.run {
                    try ComputeScope(pool: pool, flag: flag).forEach(1) { _ in Issue.record("raised before it began") }
                }
            }
        }
    }

    @Test("an empty loop looks at the flag too")
    func emptyLoopLooksAtFlag() {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try ComputeScope.serial(flag).forEach(0) { _ in } }
        #expect(throws: CancelledError.self) { try ComputeScope.serial(flag).check() }
    }

    @Test("a typed error comes through run")
    func errors() async throws {
        try await withPools(widths: [2]) { pool in
            await #expect(throws: Fault(code: 7)) {
                try await pool.run { () throws(Fault) -> Int in throw Fault(code: 7) }
            }
            let value = await pool.run { 5 }
            #expect(value == 5)
        }
    }

    @Test("shutdown lets waiting jobs end, joins, and may be called twice", arguments: [1, 2, 5])
    func shutdown(width: Int) async throws {
        let pool = try ComputePool(width: width)
        let done = Visits(1)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await pool.run { done.visit(0) } } }
        }
        pool.shutdown()
        #expect(done.total == 100)
        pool.shutdown()
    }

    @Test("a job that is still running at shutdown may start loops", arguments: [2, 5])
    func loopDuringShutdown(width: Int) async throws {
        let pool = try ComputePool(width: width)
        let started = Gate()
        let goOn = Gate()
        let visits = Visits(1000)
        async let job: Void = pool.run {
            started.open()
            goOn.wait()
            try? ComputeScope(pool: pool, flag: CancellationFlag()).forEach(1000) { visits.visit($0) }
        }
        let blocking = try BlockingPool(width: 2)
        await blocking.run { started.wait() }
        async let closed: Void = blocking.run { pool.shutdown() }
        // Whether the loop starts before or after the closing, it has to end.
        await blocking.run { goOn.open() }
        await job
        await closed
        blocking.shutdown()
        #expect(visits.all.allSatisfy { $0 == 1 })
    }
}

@Suite("BlockingPool")
struct BlockingPoolTests {
    @Test("as many jobs run at a time as there are threads")
    func width() async throws {
        let pool = try BlockingPool(width: 3)
        // Each waits for the other two: with fewer threads this would never end.
        let gates = (0..<3).map { _ in Gate() }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<3 {
                group.addTask {
                    await pool.run {
                        for (other, gate) in gates.enumerated() where other != index { gate.open() }
                        gates[index].wait()
                        gates[index].wait()
                    }
                }
            }
        }
        pool.shutdown()
    }

    @Test("errors and values come through")
    func results() async throws {
        let pool = try BlockingPool()
        await #expect(throws: Fault(code: 3)) { try await pool.run { () throws(Fault) in throw Fault(code: 3) } }
        let value = await pool.run { "text" }
        #expect(value == "text")
        pool.shutdown()
    }

    @Test("one thread takes jobs in the order in which they came")
    func order() async throws {
        let pool = try BlockingPool(width: 1)
        let seen = Mutex<[Int]>([])
        for index in 0..<100 { await pool.run { seen.withLock { $0.append(index) } } }
        pool.shutdown()
        #expect(seen.withLock { $0 } == Array(0..<100))
    }
}
