import Foundation
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Items that were found")
struct FoundTableTests {
    private func item(_ name: String, rank: Int = 0, order: String = "", model: String = "m") -> DiscoveredItem {
        var item = DiscoveredItem(
            key: "k:" + name,
            name: name,
            model: model,
            path: "/in/" + name,
            fingerprint: .of(name),
            inputs: [
                InputStamp(path: "/in/" + name, state: .init(size: 3, seconds: 5, nanoseconds: 7), touchedSeconds: 9),
                InputStamp(path: "/in/" + name + "/é.dcm", state: nil),
                InputStamp(path: "/elsewhere", state: .init(size: .max, seconds: -1, nanoseconds: 0)),
            ]
        )
        (item.rank, item.order, item.words) = (rank, order, ["doe", "jane"])
        return item
    }

    @Test("A file of /proc, which has the size 0 and content without end, is stamped without its content")
    func endlessFile() {
        let file = FoundFile(path: "/proc/self/pagemap", name: "pagemap.dcm", root: "in")
        #expect(file.stamp.text == "pagemap.dcm \(file.stamp.input.text)")
    }

    @Test("come back as they were, in the order of ranks, orders and finding")
    func order() throws {
        let table = try FoundTable()
        var refused = item("d", rank: 1)
        refused.problem = .refused(ItemReason(FaultCode("test", "reason"), "why", stage: "discover"))
        let items = [item("c", rank: 1), item("b", order: "2"), item("a", order: "10"), refused]
        try table.add(items)
        #expect(try table.items() == [items[2], items[1], items[0], refused])
        #expect(try table.contains(path: "/in/a") && !table.contains(path: "/in/x"))
        try table.removeAll { $0.name != "a" }
        #expect(try table.items() == [items[2]])
        try table.begin()
        #expect(try table.isEmpty())
    }

    @Test(
        "Those to be processed alone are read first, then the others in order, in portions of any size",
        arguments: 1...5
    )
    func pending(limit: Int) async throws {
        let journal = try await Journal.temporary()
        try journal.found.begin()
        let items = ["a", "b", "c", "d", "e"].map { item($0) }
        try journal.found.add(items)
        try journal.found.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
        try journal.found.order()
        let candidates = try journal.found.candidates(after: 0)
        #expect(candidates.map(\.item) == items && candidates.allSatisfy { $0.before == nil })
        let actions = candidates.map { candidate in
            var action = CandidateAction(place: candidate.place)
            action.entry = JournalEntry(candidate.item, name: candidate.item.name, state: .pending)
            action.isProcessed = candidate.item.name != "b"
            action.isAlone = ["c", "e"].contains(candidate.item.name)
            return action
        }
        try await journal.perform(actions, at: "now")
        #expect(try await journal.beginWork() == 4)
        #expect(try await journal.pendingCounts() == ["m": 4])
        var read: [PendingItem] = []
        while true {
            let portion = try await journal.pending(after: read.last, limit: limit)
            read += portion
            if portion.count < limit { break }
        }
        #expect(read.map(\.name) == ["c", "e", "a", "d"] && read.map(\.isAlone) == [true, true, false, false])
        let found = try await journal.discovered(read.map(\.id))
        #expect(found[read[0].id]?.inputs == items[2].inputs)
        #expect(try await journal.pendingNames(among: ["a", "b", "e"]) == ["a", "e"])
        #expect(try await journal.pendingNames(among: ["a", "d", "e"], after: read[2]) == ["d"])
        // The second search finds them with what the journal knows.
        try journal.found.begin()
        try journal.found.add(Array(items.dropFirst()))
        try journal.found.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
        try journal.found.order()
        #expect(try journal.found.candidates(after: 0).compactMap(\.before?.name) == ["b", "c", "d", "e"])
        #expect(try await journal.absentItems().count == 1)
        await journal.close()
    }

    @Test("Source files go with their item, also where it is merged, and their number is given again")
    func removed() throws {
        let table = try FoundTable()
        try table.add([item("a")])
        try table.add([item("a"), item("b")]) { $0.name == "b" ? nil : "not this model" }
        try table.add([item("c"), item("c")]) { _ in "not this model" }
        try table.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
        try table.remove(paths: ["/in/b"])
        try table.add([item("d"), item("e"), item("f")])
        #expect(try table.items().map(\.name).sorted() == ["a", "c", "d", "e", "f"])
        #expect(try table.items().allSatisfy { $0.inputs == item($0.name).inputs })
    }

    @Test("Items are copied to another journal with all that was found of them, in the order of the places")
    func copies() async throws {
        try await TemporaryFolder.with { folder in
            let journal = try await Journal.temporary()
            try journal.found.begin()
            try journal.found.add(["a", "b", "c", "d"].map { item($0) })
            try journal.found.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
            try journal.found.order()
            let why = ItemReason(FaultCode("test", "reason"), "why", stage: "load")
            let actions = try journal.found.candidates(after: 0).map { candidate in
                var action = CandidateAction(place: candidate.place)
                let state: ItemState = candidate.item.name == "c" ? .failed : .pending
                action.entry = JournalEntry(candidate.item, name: "of " + candidate.item.name, state: state)
                if state == .failed { action.entry?.reason = why }
                return action
            }
            try await journal.perform(actions, at: "now")
            // The longest item is the first one; b and c, which take the same time, come in the order of discovery.
            let seconds = [1: 9.0, 2: 2, 3: 2, 4: 1]
            try journal.found.add(
                seconds.map { DivisibleItem(at: Int64($0.key), seconds: $0.value, bytes: $0.key) }
            )
            var (asked, shards) = ([Double](), [2, 1, 2, 2])
            try journal.found.divide {
                asked.append($0)
                return shards.removeFirst()
            }
            #expect(asked == [9, 2, 2, 1])
            let total = try journal.found.divisionTotal(of: 2)
            #expect(total.items == 3 && total.seconds == 12 && total.bytes == 4)
            let all = try await journal.dividedEntries(after: 0, limit: 9).entries
            #expect(all.map(\.name) == ["of a", "of b", "of c", "of d"])
            #expect(try await journal.dividedEntries(after: 2, limit: 1).entries == [all[2]])
            for (shard, expected) in [(1, [all[1]]), (2, [all[0], all[2], all[3]]), (nil, all)] {
                let path = folder("\(shard ?? 0).sqlite").path
                try await Journal.with(path: path) { try await $0.set(.reportVersion, to: 3) }
                try await journal.copyItems(of: shard, to: path)
                // Nothing belongs to the file any longer: it can be moved.
                #expect(!FileSystem.exists(path + "-wal") && !FileSystem.exists(path + "-shm"))
                try await Journal.with(path: path) { copy in
                    let copied = try await copy.entries(after: 0, limit: 9).entries
                    let kept = try await copy.value(of: .reportVersion)
                    #expect(copied == expected && kept == 3)
                }
                #expect(expected.allSatisfy { $0.item.inputs.count == ($0.state == .failed ? 0 : 3) })
            }
            // Nothing of it is left in the first journal, which is as it was.
            #expect(try await journal.items().count == 4)
            let missing = folder("none/journal.sqlite").path
            await #expect(throws: JournalError.self) { try await journal.copyItems(to: missing) }
            await journal.close()
        }
    }

    @Test("An item that is found before known ones gets its place in the order, and every result stays with its item")
    func numbering() async throws {
        let journal = try await Journal.temporary()
        func find(_ names: [String]) async throws {
            try journal.found.begin()
            try journal.found.add(names.map { item($0) })
            try journal.found.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
            try journal.found.order()
            let actions = try journal.found.candidates(after: 0).map { candidate in
                var action = CandidateAction(place: candidate.place)
                action.isProcessed = candidate.before == nil
                guard action.isProcessed else { return action }
                action.entry = JournalEntry(candidate.item, name: candidate.item.name, state: .pending)
                return action
            }
            try await journal.perform(actions, at: "now")
            try await journal.numberAsFound()
            _ = try await journal.beginWork()
        }
        try await find(["b", "gone", "d"])
        for item in try await journal.items() {
            let files = [ItemFile(path: item.name, bytes: 1, sha256: "00")]
            try await journal.complete([(id: item.id, product: ItemProduct(files: files))], at: "now")
        }
        try await find(["a", "b", "c", "d"])
        #expect(try await journal.items().map(\.name) == ["a", "b", "c", "d", "gone"])
        let records = try await journal.records(after: 0, limit: 9)
        #expect(records.map { $0.written.files.map(\.path) } == [[], ["b"], [], ["d"], ["gone"]])
        let pending = try await journal.pending(after: nil, limit: 9)
        #expect(pending.map(\.name) == ["a", "c"] && pending.map(\.id) == [1, 3])
        await journal.close()
    }

    @Test(
        "Items keep their names while the first model is not given, and with a second version of it",
        arguments: [
            (["b"], ["x@b"]), (["c", "b"], ["x@c", "x@b"]), (["b", "a"], ["x@b", "x"]),
            (["a@1", "a@2"], ["x", "x@a@2"]),
        ]
    )
    func modelNames(models: [String], names: [String]) async throws {
        let journal = try await Journal.temporary()
        func find(_ models: [String]) throws {
            try journal.found.begin()
            try journal.found.add(models.map { item("x", model: $0) })
            try journal.found.merge(
                objectionCode: FaultCode("test", "reason"),
                joined: { $0[0] },
                models: models
            )
            try journal.found.order()
        }
        try find(["a", "b"])
        let actions = try journal.found.candidates(after: 0).map { candidate in
            var action = CandidateAction(place: candidate.place)
            action.entry = JournalEntry(candidate.item, name: candidate.item.name, state: .pending)
            return action
        }
        try await journal.perform(actions, at: "now")
        #expect(try await journal.items().map(\.name) == ["x", "x@b"])
        try find(models)
        #expect(try journal.found.items().map(\.name) == names)
        await journal.close()
    }

    @Test("Work has the order that is asked for, and the first items of a spread order are far apart")
    func orders() async throws {
        let journal = try await Journal.temporary()
        func work(_ order: WorkOrder, _ limit: Int? = nil, of count: Int = 3) async throws -> [String] {
            try journal.found.begin()
            // The later, the older and larger.
            try journal.found.add(
                (0..<count).map { number in
                    var item = item(String("00\(number)".suffix(3)))
                    let state = FileState(size: 10 + number, seconds: 1000 - number, nanoseconds: 0)
                    item.inputs = [InputStamp(path: item.path, state: state)]
                    return item
                }
            )
            try journal.found.merge(objectionCode: FaultCode("test", "reason")) { $0[0] }
            try journal.found.order()
            let actions = try journal.found.candidates(after: 0).map { candidate in
                var action = CandidateAction(place: candidate.place)
                action.entry = JournalEntry(candidate.item, name: candidate.item.name, state: .pending)
                action.isProcessed = true
                return action
            }
            try await journal.perform(actions, at: "now")
            let counted = try await journal.beginWork(order, atMost: limit)
            let names = try await journal.pending(after: nil, limit: 1000).map(\.name)
            #expect(names.count == counted)
            return names
        }
        for (order, expected) in [
            (WorkOrder.path, ["000", "001", "002"]), (.newest, ["000", "001", "002"]),
            (.smallest, ["000", "001", "002"]),
            (.largest, ["002", "001", "000"]),
        ] {
            #expect(try await work(order) == expected, "\(order)")
            #expect(try await work(order, 2) == Array(expected.prefix(2)))
        }
        let all = try await work(.spread, of: 200)
        #expect(Set(all).count == 200)
        for count in [3, 5, 10, 20] {
            let places = [0] + all.prefix(count).compactMap { Int($0) }.sorted() + [200]
            let gaps = zip(places.dropFirst(), places).map { $0 - $1 }
            // Of parts of one length each would be 200 / (count + 1).
            #expect(try #require(gaps.max()) <= 3 * 200 / (count + 1), "\(places)")
        }
        await journal.close()
    }

    @Test("Rows come back in the order of their keys, and of adding")
    func temporaryRows() throws {
        let rows = try TemporaryRows()
        try rows.add((0..<100).map { (key: "\($0 % 10)", bytes: [UInt8($0)]) })
        var all: [UInt8] = []
        try rows.forEach { all += $0 }
        #expect(all == (0..<10).flatMap { key in (0..<10).map { UInt8(10 * $0 + key) } })
        #expect(try rows.rows(of: "3") == (0..<10).map { [UInt8(10 * $0 + 3)] } && rows.rows(of: "x").isEmpty)
    }
}
