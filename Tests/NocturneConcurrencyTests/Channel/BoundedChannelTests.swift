import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("BoundedChannel")
struct BoundedChannelTests {
    @Test("elements come out in order, then nil for ever")
    func order() async throws {
        let channel = BoundedChannel<Int>(items: 10)
        for value in 0..<5 { try await channel.send(value) }
        #expect(channel.occupancy == 5)
        channel.finish()
        for value in 0..<5 { #expect(try await channel.receive() == value) }
        #expect(try await channel.receive() == nil)
        #expect(try await channel.receive() == nil)
        await #expect(throws: ChannelFinished.self) { try await channel.send(9) }
    }

    @Test("a send that waits at finish is still delivered")
    func finishDrainsWaitingSends() async throws {
        let channel = BoundedChannel<Int>(items: 1)
        try await channel.send(1)
        let task = Task { try await channel.send(2) }
        #expect(await until { channel.waiting.senders == 1 })
        channel.finish()
        var received: [Int] = []
        while let value = try await channel.receive() { received.append(value) }
        try await task.value
        #expect(received == [1, 2])
    }

    @Test("a cancelled send throws and its element never comes out")
    func cancelledSend() async throws {
        let channel = BoundedChannel<Int>(items: 1)
        try await channel.send(1)
        let task = Task { try await channel.send(2) }
        #expect(await until { channel.waiting.senders == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        channel.finish()
        #expect(try await channel.receive() == 1)
        #expect(try await channel.receive() == nil)
    }

    @Test("a cancelled receive throws and takes nothing")
    func cancelledReceive() async throws {
        let channel = BoundedChannel<Int>(items: 1)
        let task = Task { try await channel.receive() }
        #expect(await until { channel.waiting.receivers == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await channel.send(7)
        #expect(try await channel.receive() == 7)
    }

    @Test("a task that was cancelled before neither sends nor receives")
    func cancelledBefore() async throws {
        let channel = BoundedChannel<Int>(items: 5)
        try await channel.send(1)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: CancellationError.self) { try await channel.send(2) }
            await #expect(throws: CancellationError.self) { try await channel.receive() }
        }
        task.cancel()
        await task.value
        #expect(channel.occupancy == 1)
    }

    @Test("many producers and consumers lose and double nothing", arguments: [1, 3], [1, 4])
    func storm(items: Int, consumers: Int) async throws {
        let channel = BoundedChannel<Int>(items: items)
        let (producers, each) = (8, 400)
        let received = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<consumers {
                group.addTask {
                    var mine: [Int] = []
                    while let value = try await channel.receive() {
                        mine.append(value)
                        #expect(channel.occupancy <= items)
                    }
                    return mine
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { senders in
                for producer in 0..<producers {
                    senders.addTask {
                        for index in 0..<each { try await channel.send(producer * each + index) }
                    }
                }
                try await senders.waitForAll()
            }
            channel.finish()
            return try await group.reduce(into: [[Int]]()) { $0.append($1) }
        }
        #expect(received.flatMap { $0 }.sorted() == Array(0..<producers * each))
        for mine in received {
            // One consumer sees each producer's elements in order.
            for producer in 0..<producers {
                let part = mine.filter { $0 / each == producer }
                #expect(part == part.sorted())
            }
        }
    }

    @Test("under a hail of cancellations, what was sent is what was received or left")
    func cancellationStorm() async throws {
        for seed in 0..<40 as Range<UInt64> {
            let channel = BoundedChannel<Int>(items: 2)
            let sent = Shared<Set<Int>>([])
            let received = Shared<[Int]>([])
            let senders = (0..<30).map { value in
                Task {
                    try await channel.send(value)
                    sent.withLock { _ = $0.insert(value) }
                }
            }
            let receivers = (0..<20).map { _ in
                Task {
                    if let value = try await channel.receive() { received.withLock { $0.append(value) } }
                }
            }
            var generator = SplitMix64(seed: seed)
            for task in senders + receivers where generator.int(in: 0...2) == 0 {
                task.cancel()
                if generator.int(in: 0...3) == 0 { await Task.yield() }
            }
            for receiver in receivers.shuffled(using: &generator).prefix(5) { receiver.cancel() }
            // Whoever waits to send after that is still served; nobody may be forgotten.
            channel.finish()
            var left: [Int] = []
            while let value = try await channel.receive() { left.append(value) }
            for task in senders + receivers { _ = await task.result }
            let all = received.withLock { $0 } + left
            #expect(Set(all).count == all.count)
            #expect(Set(all) == sent.withLock { $0 })
        }
    }
}
