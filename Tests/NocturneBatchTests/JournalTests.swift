import Foundation
import NocturneBatch
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The journal")
struct JournalTests {
    private func entry(_ key: String, _ state: ItemState = .pending) -> JournalEntry {
        JournalEntry(
            item: DiscoveredItem(
                key: key,
                name: key,
                model: "m",
                source: "{}",
                path: "/in/" + key,
                fingerprint: .of(key)
            ),
            name: key,
            state: state,
            reason: nil
        )
    }

    @Test("What was recorded is there when the file is opened again")
    func roundTrip() throws {
        try TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            let product = ItemProduct(
                files: [ItemFile(path: "a", bytes: 3, sha256: "00")],
                statistics: [Statistic(label: "kidney", measure: "volume", value: nil, unit: "ml")],
                notes: ["a \"note\"", "ünïcode"]
            )
            do {
                let journal = try Journal(path: path)
                try journal.record([entry("a"), entry("b"), entry("c", .skipped)])
                let items = try journal.items()
                try journal.markStarted(items.map(\.id))
                try journal.complete([(items[0].id, product)], at: "now")
                try journal.settle([items[1].id], as: .failed, reason: "why", at: "now")
                journal.close()
            }
            let journal = try Journal(path: path)
            defer { journal.close() }
            let items = try journal.items()
            #expect(items.map(\.name) == ["a", "b", "c"])
            #expect(items.map(\.state) == [.completed, .failed, .started])
            #expect(items[0].notes == product.notes && items[1].reason == "why")
            #expect(try journal.files()[items[0].id] == product.files)
            #expect(try journal.statistics()[items[0].id] == product.statistics)
        }
    }

    @Test("A changed item loses what its earlier result left")
    func changed() throws {
        try TemporaryFolder.with { folder in
            let journal = try Journal(path: folder("journal.sqlite").path)
            defer { journal.close() }
            try journal.record([entry("a")])
            let id = try journal.items()[0].id
            let file = ItemFile(path: "a", bytes: 3, sha256: "00")
            try journal.complete([(id, ItemProduct(files: [file], statistics: [], notes: []))], at: "now")
            try journal.record([entry("a")])
            #expect(try journal.items().count == 1)
            #expect(try journal.items()[0].state == .pending)
            #expect(try journal.files().isEmpty)
        }
    }

    @Test("A file that is no journal is told by name")
    func damaged() throws {
        try TemporaryFolder.with { folder in
            let url = try folder.write("this is not a database, whatever its name says", to: "journal.sqlite")
            #expect { try Journal(path: url.path) } throws: {
                ($0 as? BatchError)?.code == .journalUnusable && "\($0)".contains("journal.sqlite")
            }
        }
    }
}
