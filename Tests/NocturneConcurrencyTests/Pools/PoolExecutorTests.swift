import Foundation
import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// An actor on the threads of a pool.
private actor Recorder {
    private let executor: PoolSerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private(set) var seen: [Int] = []
    private(set) var threads: Set<String> = []
    private(set) var overlaps = 0
    private let inside = Atomic<Int>(0)

    init(_ executor: PoolSerialExecutor) { self.executor = executor }

    func record(_ value: Int) {
        if inside.add(1, ordering: .relaxed).oldValue != 0 { overlaps += 1 }
        seen.append(value)
        threads.insert(threadName())
        _ = inside.subtract(1, ordering: .relaxed)
    }

    /// Tasks that begin in this order.
    func startTasks(_ count: Int) -> [Task<Void, Never>] {
        (0..<count).map { index in Task { self.record(index) } }
    }

    func sum(of count: Int, _ pool: ComputePool) throws -> Int {
        let parts = Mutex(Array(repeating: 0, count: count))
        try ComputeScope(pool: pool, flag: CancellationFlag()).forEach(count) { index in
            parts.withLock { $0[index] = index }
        }
        return parts.withLock { $0.reduce(0, +) }
    }
}

private func threadName() -> String {
    (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
}

@Suite("Pools as executors")
struct PoolExecutorTests {
    @Test("an actor's jobs run one at a time, in order, on threads of the pool", arguments: [1, 2, 5])
    func order(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let recorder = Recorder(pool.serialExecutor())
            for task in await recorder.startTasks(500) { await task.value }
            #expect(await recorder.seen == Array(0..<500))
            #expect(await recorder.overlaps == 0)
            let threads = await recorder.threads
            #expect(threads.allSatisfy { $0.hasPrefix("compute-") }, "\(threads)")
        }
    }

    @Test("callers from everywhere never meet inside", arguments: [1, 2, 5])
    func exclusivity(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let recorder = Recorder(pool.serialExecutor())
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<1000 { group.addTask { await recorder.record(index) } }
            }
            #expect(await recorder.seen.sorted() == Array(0..<1000))
            #expect(await recorder.overlaps == 0)
        }
    }

    @Test("several actors and plain jobs share the threads, and actors may run loops", arguments: [1, 2, 5])
    func sharing(width: Int) async throws {
        try await withPools(widths: [width]) { pool in
            let recorders = (0..<4).map { _ in Recorder(pool.serialExecutor()) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for recorder in recorders {
                    for _ in 0..<25 { group.addTask { try await recorder.sum(of: 100, pool) } }
                }
                for _ in 0..<25 { group.addTask { await pool.run { 4950 } } }
                for try await sum in group { #expect(sum == 4950) }
            }
        }
    }

    @Test("after shutdown jobs run where they are enqueued, one at a time", arguments: [1, 2, 5])
    func shutdown(width: Int) async throws {
        let pool = try ComputePool(width: width)
        let recorder = Recorder(pool.serialExecutor())
        pool.shutdown()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<200 { group.addTask { await recorder.record(index) } }
        }
        #expect(await recorder.seen.sorted() == Array(0..<200))
        #expect(await recorder.overlaps == 0)
        #expect(await pool.run { 7 } == 7)
    }

    @Test("a blocking pool is a task executor, before shutdown and after it", arguments: [1, 2, 5])
    func taskExecutor(width: Int) async throws {
        let pool = try BlockingPool(width: width)
        let name = await Task(executorPreference: pool) { threadName() }.value
        #expect(name.hasPrefix("blocking-"))
        pool.shutdown()
        #expect(await Task(executorPreference: pool) { 3 }.value == 3)
    }

    @Test("the blocking pool vends executors too")
    func blocking() async throws {
        let pool = try BlockingPool(width: 2)
        let recorder = Recorder(pool.serialExecutor())
        for task in await recorder.startTasks(50) { await task.value }
        #expect(await recorder.seen == Array(0..<50))
        #expect(await recorder.threads.allSatisfy { $0.hasPrefix("blocking-") })
        pool.shutdown()
    }

    @Test("threads that the system refuses are an error that says how many there are")
    func refusedThreads() async {
        await #expect(processExitsWith: .success) {
            // Stacks take 64 MiB of address space each.
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            limit.rlim_cur = rlim_t(8 << 30)
            setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            do throws(ThreadStartError) {
                let pool = try ComputePool(width: 1024)
                pool.shutdown()
                exit(1)
            } catch {
                #expect(error.wanted == 1024 && error.started < 1024)
                #expect("\(error)".contains("of 1024 threads could be started"))
            }
        }
    }
}
