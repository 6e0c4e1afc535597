import Foundation
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The journal")
struct JournalTests {
    private func entry(_ key: String, _ state: ItemState = .pending) -> JournalEntry {
        let item = DiscoveredItem(key: key, name: key, model: "", path: "/in/" + key, fingerprint: .of(key))
        return JournalEntry(item, name: key, state: state)
    }

    private func withJournal(_ body: (Journal) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            try await Journal.with(path: folder("journal.sqlite").path) { try await body($0) }
        }
    }

    private let product = ItemProduct(
        files: [ItemFile(path: "a", bytes: 3, sha256: "00")],
        statistics: [Statistic(label: "kidney", measure: "volume", value: nil, unit: "ml")],
        notes: [
            Note("test.words", "a \"note\""),
            Note("test.values", "\(2) of \(own: "three") from \(file: "/in/é.nii"): \("ünïcode")"),
        ],
        parts: [ItemPart(id: 1, kind: "book", state: .ready, thumbnail: "crops/1.png")]
    )

    @Test("What was recorded is still there when the file is opened again")
    func roundTrip() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.with(path: path) { journal in
                try await journal.record([entry("a"), entry("b"), entry("c", .skipped)])
                let items = try await journal.items()
                try await journal.markStarted(items.map(\.id))
                try await journal.complete([(id: items[0].id, product: product)], at: "now")
                try await journal.settle(
                    [items[1].id],
                    as: .failed,
                    reason: ItemReason(FaultCode("nifti", "truncated"), "why", stage: "load"),
                    at: "now"
                )
            }
            try await Journal.with(path: path) { journal in
                let items = try await journal.items()
                #expect(items.map(\.name) == ["a", "b", "c"])
                #expect(items.map(\.state) == [.completed, .failed, .started])
                #expect(items[1].reason == ItemReason(FaultCode("nifti", "truncated"), "why", stage: "load"))
                let written = try await journal.records(after: 0, limit: 9).map(\.written)
                #expect(written == [product, ItemProduct(), ItemProduct()])
                #expect(items.map(\.changed) == ["now", "now", nil])
                #expect(try await journal.filesOfItems() == [items[0].id: product.files])
                #expect(try await journal.statistics() == [items[0].id: product.statistics])
                #expect(try await journal.parts() == [items[0].id: product.parts])
            }
        }
    }

    @Test("Words of patients are kept with the item, and change with it")
    func words() async throws {
        try await withJournal { journal in
            var first = entry("a")
            first.item.words = ["doe", "jane"]
            first.item.inputs = [InputStamp(path: "/in/a", state: .init(size: 3, seconds: 5, nanoseconds: 7))]
            try await journal.record([first, entry("b")])
            #expect(try await journal.items().map(\.words) == [["doe", "jane"], []])
            let (entries, last) = try await journal.entries(after: 0, limit: 10)
            #expect(entries == [first, entry("b")] && last == 2)
            first.item.words = []
            try await journal.record([first])
            #expect(try await journal.items().map(\.words) == [[], []])
        }
    }

    @Test("A changed item loses what was recorded of its earlier result")
    func changed() async throws {
        try await withJournal { journal in
            try await journal.record([entry("a")])
            let id = try await journal.items()[0].id
            try await journal.complete([(id: id, product: product)], at: "now")
            try await journal.record([entry("a")])
            let items = try await journal.items()
            #expect(items.count == 1 && items[0].state == .pending)
            // The files prove whose folder has the item's name.
            let written = try await journal.records(after: 0, limit: 9).map(\.written)
            #expect(written == [ItemProduct(files: product.files)])
            #expect(try await journal.filesOfItems().isEmpty)
            #expect(try await journal.parts().isEmpty)
        }
    }

    @Test(
        "Measures come back as they were, whatever their labels",
        arguments: ["lung, left", "", "[lung]", "left\tlung", "left\nlung", "left\r\nlung", "Lünge \"l\""]
    )
    func measures(label: String) async throws {
        let values: [Double?] = [nil, 0, -0.1, 1e-300, 12_345_678_901_234.5, .leastNonzeroMagnitude, 1 / 3]
        let list = values.map { Statistic(label: label, measure: "volume", value: $0, unit: "mL") }
        for statistics in [list, []] {
            try await withJournal { journal in
                try await journal.record([entry("a")])
                let id = try await journal.items()[0].id
                let product = ItemProduct(files: [], statistics: statistics, notes: [])
                try await journal.complete([(id: id, product: product)], at: "now")
                #expect(try await journal.records(after: 0, limit: 10)[0].product.statistics == statistics)
            }
        }
    }

    @Test("A completed item is not turned back by an interruption or a late failure", arguments: ItemState.allCases)
    func completedStays(state: ItemState) async throws {
        try await withJournal { journal in
            try await journal.record([entry("a"), entry("b")])
            let ids = try await journal.items().map(\.id)
            try await journal.markStarted(ids)
            try await journal.complete([(id: ids[0], product: product)], at: "then")
            try await journal.settle(ids, as: state, reason: "interrupted", at: "now")
            var stuck = try await journal.items()[0]
            stuck.state = .pending
            try await journal.takeBack([stuck], at: "now")
            let items = try await journal.items()
            #expect(items[0].state == .completed && items[0].reason == nil && items[0].changed == "then")
            #expect(items[1].state == state && items[1].reason == "interrupted")
        }
    }

    @Test("Active items are taken back with their reason and number of crashes")
    func takenBack() async throws {
        try await withJournal { journal in
            try await journal.record([entry("a")])
            var item = try await journal.items()[0]
            try await journal.markStarted([item.id])
            (item.state, item.reason, item.crashes) = (.pending, "signal 9", 1)
            try await journal.takeBack([item], at: "now")
            item.changed = "now"
            #expect(Array(try await journal.items()) == [item])
        }
    }

    @Test("Every change of items makes the report old; a mark that an item was started does not")
    func reportAge() async throws {
        try await withJournal { journal in
            #expect(try await journal.value(of: .isReportUpToDate) == nil)
            func isOld(after change: () async throws -> Void) async throws -> Bool {
                try await journal.set(.isReportUpToDate, to: true)
                try await change()
                return try await journal.value(of: .isReportUpToDate) == false
            }
            #expect(try await isOld { try await journal.record([entry("a")]) } == true)
            let item = try await journal.items()[0]
            #expect(try await isOld { try await journal.markStarted([item.id]) } == false)
            #expect(try await isOld { try await journal.settle([item.id], as: .failed, reason: nil, at: "") } == true)
            #expect(try await isOld { try await journal.takeBack([item], at: "") } == true)
            #expect(try await isOld { try await journal.complete([(id: item.id, product: product)], at: "") } == true)
            #expect(try await isOld { try await journal.set(.reportVersion, to: 1) } == false)
        }
    }

    @Test("Settings keep their values; one that was never set, or cannot be decoded, has none")
    func settings() async throws {
        try await withJournal { journal in
            #expect(try await journal.value(of: .pace) == nil)
            var pace = LearnedPace()
            pace.learn(model: "organs", seconds: 10, steps: 5)
            for bytes in [10, 30, 20] { pace.learn(model: "organs", diskBytes: bytes, predicted: 300) }
            try await journal.set(.pace, to: pace)
            let stored = try #require(try await journal.value(of: .pace))
            #expect(stored.seconds(model: "organs", steps: 3) == 6)
            #expect(stored.diskBytes(model: "organs", predicted: 1000) == 200)
            #expect(stored.diskBytes(model: "others", predicted: 1000) == 1000)
            // As version 0.1.0 has stored it.
            let earlier = Data("{\"secondsPerStep\":{\"organs\":2}}".utf8)
            #expect(try JSONDecoder().decode(LearnedPace.self, from: earlier).seconds(model: "organs", steps: 3) == 6)
            var files = CrashingFiles()
            let crashes = [[["a"], ["b"]], [["a"]]].map { files.recordCrash(reading: $0, cause: "signal 4") }
            #expect(crashes == [false, true])
            #expect(files.reasons.keys.sorted() == ["a"] && files.suspects.isEmpty)
            var record = CrashRecord()
            (record.supervisor, record.crashesOutsideItems, record.crashingFiles) = ("s", 2, files)
            record.unresponsiveFiles = ["/a", "/\"b\""]
            try await journal.set(.crashes, to: record)
            #expect(try await journal.value(of: .crashes) == record)
            try await journal.changeCrashes { $0.crashesOutsideItems = 0 }
            record.crashesOutsideItems = 0
            #expect(try await journal.value(of: .crashes) == record)
            try await journal.set(JournalSetting<String>(name: "text"), to: "not json")
            #expect(try await journal.value(of: JournalSetting<LearnedPace>(json: "text")) == nil)
        }
    }

    @Test("A file that is not a database is reported with its name")
    func damaged() async throws {
        try await TemporaryFolder.with { folder in
            let url = try folder.write("this is not a database, whatever its name says", to: "journal.sqlite")
            await #expect { try await Journal(path: url.path) } throws: {
                ($0 as? JournalError)?.code == .unusable && "\($0)".hasPrefix(url.path)
            }
        }
    }

    @Test("A journal from elsewhere cannot have SQLite remove another file")
    func foreignRollback() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.with(path: path) { _ in }
            let victim = try folder.write("precious", to: "precious")
            // A rollback journal without pages: header in the first sector, then the name of the file to remove.
            let mark: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
            func number(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).bigEndian, Array.init) }
            let (name, page) = (Array(victim.path.utf8), 4096)
            let pages = try #require(FileSystem.size(path)) / page
            var rollback = mark + [0, 0, pages, 512, page].flatMap(number)
            rollback += [UInt8](repeating: 0, count: 512 - rollback.count)
            rollback += number((1 << 30) / page + 1) + name
            rollback += number(name.count) + number(name.reduce(0) { $0 + Int($1) }) + mark
            try Data(rollback).write(to: folder("journal.sqlite-journal"))
            await #expect { try await Journal.with(path: path) { _ in } } throws: {
                ($0 as? JournalError)?.code == .damaged
            }
            #expect(FileSystem.kind(victim.path) == .file)
        }
    }

    @Test("A folder or link in place of a file of the journal is named", arguments: ["", "-wal", "-shm", "-journal"])
    func otherKinds(suffix: String) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.with(path: path) { _ in }
            for isLink in [false, true] {
                FileSystem.remove(path + suffix)
                if isLink {
                    try FileManager.default.createSymbolicLink(
                        atPath: path + suffix,
                        withDestinationPath: folder("victim").path
                    )
                } else {
                    try FileSystem.makeFolder(path + suffix)
                }
                await #expect { try await Journal.with(path: path) { _ in } } throws: {
                    ($0 as? JournalError)?.code == .unusable && "\($0)".hasPrefix("\(path)\(suffix): is ")
                }
            }
            #expect(FileSystem.kind(folder("victim").path) == .nothing)
        }
    }

    @Test("A closed journal throws instead of writing")
    func closed() async throws {
        try await withJournal { journal in
            await journal.close()
            await #expect(throws: JournalError.self) { try await journal.record([entry("a")]) }
        }
    }

    @Test("A journal takes over how the items of a shard ended, once, with all that their results hold")
    func merged() async throws {
        try await withJournal { whole in
            try await whole.record([entry("a"), entry("b"), entry("c")])
            try await withJournal { shard in
                try await shard.record([entry("c"), entry("a")])
                let ids = try await shard.items().map(\.id)
                try await shard.complete([(id: ids[1], product: product)], at: "now")
                #expect(try await whole.merge(try await shard.records(after: 0, limit: 9)) == 1)
                #expect(try await whole.merge(try await shard.records(after: 0, limit: 9)) == 0)
                try await shard.settle([ids[0]], as: .failed, reason: "broken", at: "later")
                #expect(try await whole.merge(try await shard.records(after: 0, limit: 9)) == 1)
            }
            let records = try await whole.records(after: 0, limit: 9)
            #expect(records.map(\.item.state) == [.completed, .pending, .failed])
            #expect(records.map(\.written) == [product, ItemProduct(), ItemProduct()])
            #expect(records[2].item.reason == "broken" && records[2].item.changed == "later")
        }
    }

    @Test("What a result holds goes with its item")
    func removed() async throws {
        try await withJournal { journal in
            try await journal.record([entry("a"), entry("b")])
            let items = try await journal.items()
            try await journal.complete(items.map { (id: $0.id, product: product) }, at: "now")
            try await journal.remove([items[0]])
            #expect(try await journal.statistics() == [items[1].id: product.statistics])
            #expect(try await journal.filesOfItems() == [items[1].id: product.files])
            #expect(try await journal.writtenFiles(of: items[0].id).isEmpty)
        }
    }
}
