import Foundation
import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Inputs of a watch that may still change")
struct SettlingInputsTests {
    private let folder: TemporaryFolder
    private let wallClock = SystemTime().wallClock

    init() throws { folder = try TemporaryFolder("settling") }

    private func discovery(_ names: String...) -> Discovery {
        let path = folder(names[0]).path
        let item = DiscoveredItem(
            key: names[0],
            name: names[0],
            model: "m",
            source: "{}",
            path: path,
            fingerprint: .of(names[0]),
            inputs: names.map { InputStamp(folder($0).path) }
        )
        return Discovery(items: [item])
    }

    @Test("An item is taken once it was seen unchanged for the quiet time, whatever the clock of the files says")
    func quiet() throws {
        try folder.write("1", to: "a")
        var settling = SettlingInputs()
        // An hour behind, and two hours ahead.
        for seconds in [-3600, 7200] {
            let clock = WallTime(seconds: wallClock.seconds + seconds)
            settling = SettlingInputs()
            #expect(settling.settled(discovery("a"), quiet: .seconds(60), at: .seconds(5), clock).items.isEmpty)
            #expect(settling.settled(discovery("a"), quiet: .seconds(60), at: .seconds(64), clock).items.isEmpty)
            #expect(settling.settled(discovery("a"), quiet: .seconds(60), at: .seconds(65), clock).items.count == 1)
        }
    }

    @Test("A change starts the quiet time anew, and so does a file that is added")
    func changes() throws {
        try folder.write("1", to: "a")
        var settling = SettlingInputs()
        func isTaken(_ discovery: Discovery, at seconds: Int) -> Bool {
            !settling.settled(discovery, quiet: .seconds(60), at: .seconds(seconds), wallClock).items.isEmpty
        }
        #expect(!isTaken(discovery("a"), at: 0))
        try folder.write("12", to: "a")
        #expect(!isTaken(discovery("a"), at: 60))
        try folder.write("1", to: "b")
        #expect(!isTaken(discovery("a", "b"), at: 119))
        #expect(!isTaken(discovery("a", "b"), at: 178))
        #expect(isTaken(discovery("a", "b"), at: 179))
        #expect(isTaken(discovery("a", "b"), at: 500))
    }

    @Test("What was not touched for a day is taken at once; what is gone is not")
    func old() throws {
        try folder.write("1", to: "a")
        var settling = SettlingInputs()
        let later = WallTime(seconds: wallClock.seconds + 90_000)
        #expect(settling.settled(discovery("a"), quiet: .seconds(60), at: .zero, later).items.count == 1)
        #expect(settling.settled(discovery("none"), quiet: .seconds(60), at: .zero, later).items.isEmpty)
        #expect(settling.settled(discovery("a"), quiet: .zero, at: .zero, wallClock).items.count == 1)
    }
}
