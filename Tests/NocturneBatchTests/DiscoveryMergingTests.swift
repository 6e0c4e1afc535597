import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
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
        #expect(merged.items[2].problem == .setAside(.discovered(FaultCode("test", "reason"), "no volume; no picture")))
        #expect(merged.notes == ["a", "b", "c"])
    }

    @Test("goes only to the models whose patterns it fits; what fits none is told once")
    func routes() {
        let found = [
            Discovery(items: ["a/one", "b/two", "c/three"].flatMap { [item($0, "skin"), item($0, "eyes")] }),
            Discovery(items: ["a/one", "b/two", "c/three"].map { item($0, "organs", .unknown("no volume")) }),
        ]
        let merged = Discovery.merged(
            found,
            routes: InputRoutes(only: ["skin=a/*", "skin=two", "eyes=in/b/*"], inputs: ["/in"])
        )
        #expect(merged.items.map(\.name) == ["a/one", "b/two@skin", "b/two@eyes", "c/three"])
        #expect(merged.items.map(\.key) == ["file:a/one", "file:b/two|skin", "file:b/two|eyes", "file:c/three"])
        #expect(merged.items[0].problem == nil && merged.items[0].model == "skin")
        #expect(merged.items[3].problem?.reason.text == "skin takes only a/*, two; eyes takes only in/b/*")
        #expect(merged.items[3].problem?.reason.code == .notForModel)
    }

    @Test(
        "a pattern is held against the name, the path below the input, with its own name, and the whole path",
        arguments: [
            ("*.jpg", true), ("x.jpg", true), ("b/x.jpg", true), ("a/b/*", true), ("/data/a/*", true), ("*b/x*", true),
            ("/data/*.png", false), ("data/*", false), ("x", false), ("B/*", false), ("[ab]/x.jpg", true), ("a", false),
        ]
    )
    func patterns(_ pattern: String, _ fits: Bool) {
        let routes = InputRoutes(only: ["m=" + pattern], inputs: ["/data/a", "/other"])
        #expect((routes.objection(of: "m", to: "/data/a/b/x.jpg") == nil) == fits)
        #expect(routes.objection(of: "n", to: "/data/a/b/x.jpg") == nil)
    }

    @Test("lists files that do not respond as failures, once, also where no recipe listed them")
    func unresponsive() {
        let files = UnresponsiveFiles(
            patience: 3,
            remembered: ["/in/ct", "/in/dir/late"],
            reasons: ["/in/x": "crashes"]
        )
        var discovery = Discovery(items: [item("ct", "organs", .refused("did not respond"))])
        discovery.addFailures(of: files)
        #expect(discovery.items.map(\.path) == ["/in/ct", "/in/dir/late", "/in/x"])
        #expect(discovery.items.map(\.name) == ["ct", "late", "x"])
        #expect(discovery.items.map(\.key) == ["file:ct", "file:/in/dir/late", "file:/in/x"])
        #expect(
            discovery.items[1].problem
                == .refused(.discovered(.unresponsive, "did not respond within 3 s when it was read"))
        )
        #expect(discovery.items[2].problem == .refused(.discovered(.crashesReader, "crashes")))
    }

    @Test("keeps an item with a problem that a recipe can read, beside one that another recipe cannot")
    func damaged() {
        let merged = Discovery.merged([
            Discovery(items: [item("ct", "organs", .refused("is damaged"))]),
            Discovery(items: [item("ct", "books", .unknown("is not a photo"))]),
        ])
        #expect(merged.items.map(\.problem) == [.refused("is damaged")])
    }

    @Test("a file that was named itself is taken as if its folder had been")
    func singleFile() {
        let routes = InputRoutes(only: ["m=lesions/*"], inputs: ["/data/lesions/x.jpg", "/data/lesionsy"])
        #expect(routes.objection(of: "m", to: "/data/lesions/x.jpg") == nil)
        #expect(routes.objection(of: "m", to: "/data/lesionsy/x.jpg") != nil)
    }
}
