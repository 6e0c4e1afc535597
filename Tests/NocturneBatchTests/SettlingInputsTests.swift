import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Inputs of a watch that may still change")
struct SettlingInputsTests {
    private let folder: TemporaryFolder
    private let wallClock = SystemTime().wallClock

    init() throws { folder = try TemporaryFolder("settling") }

    private let minute = SettlingInputs(quiet: .seconds(60), identifiers: .hash)

    private func discovery(_ names: String..., problem: ItemProblem? = nil) -> DiscoveredItem {
        let path = folder(names[0]).path
        var item = DiscoveredItem(
            key: names[0],
            name: names[0],
            model: "m",
            path: path,
            fingerprint: .of(names[0]),
            inputs: names.map { InputStamp(folder($0).path) }
        )
        item.problem = problem
        return item
    }

    /// What a search finds with one item.
    private func settle(
        _ settling: inout SettlingInputs,
        _ item: DiscoveredItem,
        at now: Duration,
        _ clock: WallTime
    ) throws -> FoundList {
        let table = try FoundTable()
        try table.add([item])
        let notes = try settling.settle(table, at: now, clock)
        return FoundList(items: try table.items(), notes: notes)
    }

    @Test("An item is taken once it was seen unchanged for the quiet time, whatever the clock of the files says")
    func quiet() throws {
        try folder.write("1", to: "a")
        var settling = minute
        // An hour behind, and two hours ahead.
        for seconds in [-3600, 7200] {
            let clock = WallTime(seconds: wallClock.seconds + seconds)
            settling = minute
            #expect(try settle(&settling, discovery("a"), at: .seconds(5), clock).items.isEmpty)
            #expect(try settle(&settling, discovery("a"), at: .seconds(64), clock).items.isEmpty)
            #expect(try settle(&settling, discovery("a"), at: .seconds(65), clock).items.count == 1)
        }
    }

    @Test("A change starts the quiet time anew, and so does a file that is added")
    func changes() throws {
        try folder.write("1", to: "a")
        var settling = minute
        func isTaken(_ discovery: DiscoveredItem, at seconds: Int) throws -> Bool {
            try !settle(&settling, discovery, at: .seconds(seconds), wallClock).items.isEmpty
        }
        #expect(try !isTaken(discovery("a"), at: 0))
        try folder.write("12", to: "a")
        #expect(try !isTaken(discovery("a"), at: 60))
        try folder.write("1", to: "b")
        #expect(try !isTaken(discovery("a", "b"), at: 119))
        #expect(try !isTaken(discovery("a", "b"), at: 178))
        #expect(try isTaken(discovery("a", "b"), at: 179))
        #expect(try isTaken(discovery("a", "b"), at: 500))
    }

    @Test("What was not touched for a day is taken at once; what is gone is not")
    func old() throws {
        try folder.write("1", to: "a")
        var settling = minute
        let later = WallTime(seconds: wallClock.seconds + 90_000)
        #expect(try settle(&settling, discovery("a"), at: .zero, later).items.count == 1)
        #expect(try settle(&settling, discovery("none"), at: .zero, later).items.isEmpty)
        var impatient = SettlingInputs(quiet: .zero, identifiers: .hash)
        #expect(try settle(&impatient, discovery("a"), at: .zero, wallClock).items.count == 1)
    }

    @Test("An item that changed after a pause must be unchanged for twice that long")
    func pauses() throws {
        try folder.write("1", to: "a")
        var settling = minute
        func isTaken(at seconds: Int) throws -> Bool {
            try !settle(&settling, discovery("a"), at: .seconds(seconds), wallClock).items.isEmpty
        }
        #expect(try !isTaken(at: 0))
        #expect(try isTaken(at: 60))
        try folder.write("12", to: "a")
        #expect(try !isTaken(at: 90))
        #expect(try !isTaken(at: 269))
        #expect(try isTaken(at: 270))
    }

    @Test("A series with a gap is reported as incomplete once it is quiet, and as refused ten quiet times later")
    func incomplete() throws {
        try folder.write("1", to: "Doe_Jane")
        var settling = minute
        func search(at seconds: Int) throws -> FoundList {
            var found = discovery("Doe_Jane", problem: .refused(ItemReason(.overBudget, "a slice is missing")))
            found.words = ["doe", "jane"]
            return try settle(&settling, found, at: .seconds(seconds), wallClock)
        }
        #expect(try search(at: 0).notes.isEmpty)
        #expect(try search(at: 59).notes.isEmpty)
        let waiting = try search(at: 60)
        #expect(waiting.items.isEmpty && settling.waiting == 1)
        let note = try #require(waiting.notes.first)
        #expect(note.hasSuffix(": seems incomplete, waiting for more files: a slice is missing"))
        #expect(!note.contains("Doe"))
        #expect(try search(at: 599).notes == [note])
        let taken = try search(at: 600)
        #expect(taken.items.count == 1 && taken.notes.isEmpty && settling.waiting == 0)
    }
}
