import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("MemoryBudget")
struct MemoryBudgetTests {
    @Test("a lease counts until it is released, shrunk or dropped")
    func lifetimes() async throws {
        let budget = MemoryBudget(totalBytes: 100)
        let lease = try await budget.lease(bytes: 60)
        #expect(lease.bytes == 60)
        lease.shrink(to: 80)
        #expect(budget.snapshot().leased == 60)
        lease.shrink(to: 25)
        #expect(budget.snapshot().leased == 25)
        do {
            let second = try await budget.lease(bytes: 75)
            #expect(second.bytes == 75)
            #expect(budget.snapshot().leased == 100)
        }
        #expect(budget.snapshot().leased == 25)
        lease.release()
        lease.release()
        lease.shrink(to: 0)
        #expect(lease.bytes == 0)
        let snapshot = budget.snapshot()
        #expect(snapshot.leased == 0 && snapshot.holders == 0 && snapshot.peakLeased == 100 && snapshot.total == 100)
    }

    @Test("more than the whole budget is refused at once, and the error says both figures")
    func tooLarge() async throws {
        let budget = MemoryBudget(totalBytes: 1 << 30)
        await #expect(throws: MemoryBudget.RequestError.tooLarge(needed: 3 << 30, budget: 1 << 30)) {
            try await budget.lease(bytes: 3 << 30)
        }
        let error = MemoryBudget.RequestError.tooLarge(needed: 3 << 30, budget: 1 << 30)
        #expect(error.description == "needs 3 GiB of memory, the budget is 1 GiB")
    }

    @Test("a lease that does not fit waits for a shrink")
    func waits() async throws {
        let budget = MemoryBudget(totalBytes: 10)
        let first = try await budget.lease(bytes: 8)
        let task = Task { try await budget.lease(bytes: 6) }
        #expect(await until { budget.waiting == 1 })
        first.shrink(to: 4)
        let second = try await task.value
        #expect(second.bytes == 6)
        #expect(budget.snapshot().leased == 10)
    }

    @Test("bytes that are added let more leases exist at once, not larger ones, and the peak is what they exceed")
    func added() async throws {
        let budget = MemoryBudget(totalBytes: 10)
        let first = try await budget.lease(bytes: 8)
        let task = Task { try await budget.lease(bytes: 6) }
        #expect(await until { budget.waiting == 1 })
        budget.add(bytes: 5)
        let second = try await task.value
        let snapshot = budget.snapshot()
        #expect(snapshot.leased == 14 && snapshot.added == 5 && snapshot.total == 10 && snapshot.peakLeased == 9)
        await #expect(throws: MemoryBudget.RequestError.tooLarge(needed: 11, budget: 10)) {
            try await budget.lease(bytes: 11)
        }
        #expect(first.bytes + second.bytes == 14)
    }

    @Test("an exclusive lease waits until it is alone, and others wait for it")
    func exclusive() async throws {
        let budget = MemoryBudget(totalBytes: 10)
        let first = try await budget.lease(bytes: 1)
        let alone = Task { try await budget.lease(bytes: 1, exclusive: true) }
        #expect(await until { budget.waiting == 1 })
        first.release()
        let exclusive = try await alone.value
        let after = Task { try await budget.lease(bytes: 1) }
        #expect(await until { budget.waiting == 1 })
        exclusive.release()
        #expect(try await after.value.bytes == 1)
    }

    @Test("a cancelled request throws and holds nothing; the others wait on")
    func cancellation() async throws {
        let budget = MemoryBudget(totalBytes: 10)
        let first = try await budget.lease(bytes: 5)
        let cancelled = Task { try await budget.lease(bytes: 9) }
        let other = Task { try await budget.lease(bytes: 6) }
        #expect(await until { budget.waiting == 2 })
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(budget.waiting == 1 && budget.snapshot().leased == 5)
        first.shrink(to: 4)
        let second = try await other.value
        #expect(budget.snapshot().leased == 10)
        first.release()
        second.release()
        #expect(budget.snapshot().holders == 0)
    }

    @Test("a request of a task that was cancelled before leases nothing, even if it fits")
    func cancelledBefore() async throws {
        let budget = MemoryBudget(totalBytes: 10)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: CancellationError.self) { try await budget.lease(bytes: 1) }
        }
        task.cancel()
        await task.value
        #expect(budget.snapshot().holders == 0)
    }

    @Test("a storm of leases, shrinks and cancellations never goes above and ends at nothing")
    func storm() async throws {
        let budget = MemoryBudget(totalBytes: 100)
        let inUse = Shared(0)
        let tasks = (0..<300).map { index in
            Task {
                var generator = SplitMix64(seed: UInt64(index))
                for _ in 0..<10 {
                    let bytes = generator.int(in: 0...100)
                    let lease = try await budget.lease(bytes: bytes, exclusive: generator.int(in: 0...9) == 0)
                    inUse.withLock {
                        $0 += bytes
                        #expect($0 <= 100)
                    }
                    await Task.yield()
                    inUse.withLock { $0 -= bytes }
                    lease.shrink(to: bytes / 2)
                    if generator.int(in: 0...1) == 0 { lease.release() }
                }
            }
        }
        var generator = SplitMix64(seed: 1)
        for task in tasks where generator.int(in: 0...4) == 0 {
            task.cancel()
            await Task.yield()
        }
        for task in tasks { _ = await task.result }
        let snapshot = budget.snapshot()
        #expect(snapshot.leased == 0 && snapshot.holders == 0 && budget.waiting == 0)
        #expect(snapshot.peakLeased <= 100)
    }

    @Test("the default is 80 % of the smaller of limit and available memory")
    func defaultTotal() {
        let gib = 1 << 30
        let both = MemoryReading(systemAvailableBytes: 10 * gib, cgroupLimitBytes: 5 * gib)
        #expect(MemoryBudget.defaultTotal(both) == 5 * gib / 100 * 80)
        #expect(MemoryBudget.defaultTotal(MemoryReading(systemAvailableBytes: 10 * gib)) == 10 * gib / 100 * 80)
        #expect(MemoryBudget.defaultTotal(MemoryReading()) == 4 * gib)
        #expect(MemoryBudget.defaultTotal(MemoryReading(systemAvailableBytes: 0)) == 64 << 20)
    }
}
