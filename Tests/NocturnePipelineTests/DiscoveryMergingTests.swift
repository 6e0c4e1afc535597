import NocturneCore
import NocturnePipeline
import Testing

@Suite("What several recipes find")
struct DiscoveryMergingTests {
    private func item(_ name: String, _ model: String, _ problem: ItemProblem? = nil) -> DiscoveredItem {
        DiscoveredItem(
            key: "file:" + name,
            name: name,
            model: model,
            source: "{}",
            path: "/in/" + name,
            fingerprint: .of(name + model),
            problem: problem
        )
    }

    @Test("of one source gets the models' names, of others not")
    func suffixes() {
        let merged = Discovery.merged([
            Discovery(items: [item("ct", "organs"), item("ct", "bones")]),
            Discovery(items: [item("photo", "books")]),
        ])
        #expect(merged.items.map(\.name) == ["ct@organs", "ct@bones", "photo"])
        #expect(merged.items.map(\.key) == ["file:ct|organs", "file:ct|bones", "file:photo"])
        #expect(merged.items.map(\.recipe) == [0, 0, 1])
    }

    @Test("is told once where none knows it, and not at all where another one does")
    func strangers() {
        let merged = Discovery.merged([
            Discovery(
                items: [
                    item("ct", "organs"), item("ct", "bones"), item("photo", "organs", .unknown("no volume")),
                    item("photo", "bones", .unknown("no volume")), item("text", "organs", .unknown("no volume")),
                    item("text", "bones", .unknown("no volume")),
                ],
                notes: ["a", "b"]
            ),
            Discovery(
                items: [
                    item("ct", "books", .unknown("no picture")), item("photo", "books"),
                    item("text", "books", .unknown("no picture")),
                ],
                notes: ["b", "c"]
            ),
        ])
        #expect(merged.items.map(\.name) == ["ct@organs", "ct@bones", "text", "photo"])
        #expect(merged.items[2].problem == .setAside("no volume; no picture"))
        #expect(merged.notes == ["a", "b", "c"])
    }
}
