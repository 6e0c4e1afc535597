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

    @Test("An item that changed after a pause while it arrived must be unchanged for twice that long")
    func pauses() throws {
        try folder.write("1", to: "a")
        var settling = minute
        func isTaken(at seconds: Int, _ problem: ItemProblem? = nil) throws -> Bool {
            try !settle(&settling, discovery("a", problem: problem), at: .seconds(seconds), wallClock).items.isEmpty
        }
        let gap = ItemProblem.refused(ItemReason(.overBudget, "a slice is missing"))
        #expect(try !isTaken(at: 0, gap))
        #expect(try !isTaken(at: 60, gap))
        try folder.write("12", to: "a")
        #expect(try !isTaken(at: 90))
        #expect(try !isTaken(at: 269))
        #expect(try isTaken(at: 270))
    }

    @Test(
        "Files that are added soon after an item was taken are part of its arrival",
        arguments: [(600, 1800), (601, 661)]
    )
    func added(seconds: Int, taken: Int) throws {
        try folder.write("1", to: "a")
        var settling = minute
        func isTaken(_ item: DiscoveredItem, at seconds: Int) throws -> Bool {
            try !settle(&settling, item, at: .seconds(seconds), wallClock).items.isEmpty
        }
        #expect(try !isTaken(discovery("a"), at: 0))
        #expect(try isTaken(discovery("a"), at: 60))
        try folder.write("2", to: "b")
        #expect(try !isTaken(discovery("a", "b"), at: seconds))
        #expect(try !isTaken(discovery("a", "b"), at: taken - 1))
        #expect(try isTaken(discovery("a", "b"), at: taken))
    }

    @Test("A change of an item that was taken begins anew, however long ago that was, and is noted")
    func replaced() throws {
        try folder.write("1", to: "a")
        var settling = minute
        func search(at seconds: Int) throws -> FoundList {
            try settle(&settling, discovery("a"), at: .seconds(seconds), wallClock)
        }
        #expect(try search(at: 0).items.isEmpty)
        #expect(try search(at: 60).items.count == 1)
        #expect(try search(at: 9000).items.count == 1)
        try folder.write("12", to: "a")
        let waiting = try search(at: 9015)
        #expect(waiting.items.isEmpty && settling.waiting == 1)
        let note = try #require(waiting.notes.first)
        #expect(note.hasSuffix(": has changed since it was taken, waiting until it stops changing"))
        #expect(try search(at: 9074).items.isEmpty)
        let taken = try search(at: 9075)
        #expect(taken.items.count == 1 && taken.notes.isEmpty)
        // Nor does a pause from before that count.
        try folder.write("123", to: "a")
        #expect(try search(at: 20_000).items.isEmpty)
        try folder.write("1234", to: "a")
        #expect(try search(at: 20_050).items.isEmpty)
        #expect(try search(at: 20_110).items.count == 1)
        // Without a quiet time nothing waits.
        settling = SettlingInputs(quiet: .zero, identifiers: .hash)
        #expect(try search(at: 0).items.count == 1)
        try folder.write("12345", to: "a")
        let immediate = try search(at: 5)
        #expect(immediate.items.count == 1 && immediate.notes.isEmpty)
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
