import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("What several recipes find")
struct DiscoveryMergingTests {
    private func item(_ name: String, _ model: String, _ problem: ItemProblem? = nil) -> DiscoveredItem {
        var item = DiscoveredItem(
            key: "file:" + name,
            name: name,
            model: model,
            path: "/in/" + name,
            fingerprint: .of(name + model)
        )
        item.problem = problem
        return item
    }

    @Test("of one source gets the models' names, of others not")
    func suffixes() throws {
        let merged = try FoundList.merged([
            FoundList(items: [item("ct", "organs"), item("ct", "bones")]),
            FoundList(items: [item("photo", "books")]),
        ]).list
        #expect(merged.items.map(\.name) == ["ct@organs", "ct", "photo"])
        #expect(merged.items.map(\.key) == ["file:ct|organs", "file:ct", "file:photo"])
        #expect(merged.items.map(\.recipe) == [0, 0, 1])
    }

    /// Makes an item of each file with one of some extensions.
    private struct Extensions: InputClaims {
        let model: String
        let endings: Set<String>
        var companions: Set<String> = []
        /// What folders are named after.
        var sought: SoughtWords?
        /// Of files that it has no use for.
        var refusal: ItemReason?

        func claim(_ file: FoundFile) -> FileClaim {
            let ending = file.fileName.split(separator: ".").last.map(String.init) ?? ""
            if companions.contains(ending) { return .companion }
            if ending == "list" { return .directory(of: [file.neighbour(at: file.folderPath + "/.hidden.ct")]) }
            let reason = ItemReason.discovered(.unknownFormat, "\(model) takes \(endings.sorted().joined())")
            return endings.contains(ending) ? .member(family: nil) : .none(refusal ?? reason)
        }

        func soughtWords() -> [String: SoughtWords] { sought.map { ["": $0] } ?? [:] }

        func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
            for file in families.flatMap(\.self) {
                var item = DiscoveredItem(
                    key: file.path,
                    name: file.fileName,
                    model: model,
                    path: file.path,
                    fingerprint: .of(file.path)
                )
                item.order = file.path
                if file.fileName.hasPrefix("bad") { item.problem = .refused("is damaged") }
                if file.fileName.hasPrefix("none") {
                    item.problem = .setAside("has nothing")
                    try items.add(item, unlessOthersClaim: file)
                } else {
                    try items.add(item)
                }
            }
        }

        func finish(_ items: FoundItems) throws -> [String] { ["both", model] }
    }

    private func search(
        _ claims: [any InputClaims],
        _ routes: InputRoutes = InputRoutes(),
        files: [String]
    ) throws -> FoundList {
        try TemporaryFolder.with("claims") { folder in
            for file in files { _ = try folder.write("x", to: file) }
            let table = try FoundTable()
            let search = InputSearch(routes) { _, _, _ in claims }
            let request = DiscoveryRequest(inputs: [folder("").path])
            let found = try search.run(request, scope: .serial(), into: table)
            return FoundList(items: try table.items(), notes: found.notes)
        }
    }

    @Test("leaves out a file that one of them takes; what nobody claims is noted once, with all reasons")
    func unclaimed() throws {
        let volumes = Extensions(model: "organs", endings: ["ct", "both"])
        let photos = Extensions(model: "books", endings: ["jpg", "both"], companions: ["side"])
        let files = ["1.ct", "2.jpg", "3.txt", "4.both", "5.side", "bad.ct"]
        let found = try search([volumes, photos], files: files)
        #expect(found.items.map(\.name) == ["1.ct", "3.txt", "4.both@organs", "bad.ct", "2.jpg", "4.both"])
        #expect(found.items[1].problem?.reason.text == "organs takes bothct; books takes bothjpg")
        #expect(found.items[1].problem?.reason.stage == ItemReason.discovery && found.items[1].model.isEmpty)
        #expect(found.items[3].problem == .refused("is damaged"))
        #expect(found.notes == ["both", "organs", "books"])
    }

    @Test("A reason that several have is stated once, whichever values are marked in it")
    func sameReason() throws {
        let photos = ItemReason.discovered(FaultCode("photo", "notAPicture"), text: "the file is empty")
        let volumes = ItemReason.discovered(.emptyFile, "the file is empty")
        let claims = [photos, volumes].map { Extensions(model: "m", endings: [], refusal: $0) }
        let reason = try search(claims, files: ["a.txt"]).items.first?.problem?.reason
        #expect(reason?.text == "the file is empty" && reason?.code == .emptyFile)
    }

    @Test("offers files that a file lists to all, and lists what a claimant has no use for unless another one takes it")
    func listed() throws {
        let volumes = Extensions(model: "organs", endings: ["ct"])
        let labels = Extensions(model: "labels", endings: ["ct", "seg"])
        let files = ["a.list", ".hidden.ct", "none.seg", "none.ct"]
        #expect(
            try search([volumes], files: files).items.map(\.name) == [".hidden.ct", "a.list", "none.ct", "none.seg"]
        )
        let both = try search([volumes, labels], files: files).items
        #expect(both.filter { $0.model == "labels" }.map(\.name) == [".hidden.ct", "a.list", "none.seg"])
    }

    @Test("goes only to the models whose patterns it fits; what fits none is told once")
    func routes() throws {
        let found = [
            FoundList(items: ["a/one", "b/two", "c/three"].flatMap { [item($0, "skin"), item($0, "eyes")] })
        ]
        let merged = try FoundList.merged(
            found,
            routes: InputRoutes(only: ["skin=a/*", "skin=two", "eyes=in/b/*"], inputs: ["/in"])
        ).list
        #expect(merged.items.map(\.name) == ["a/one", "b/two@skin", "b/two", "c/three"])
        #expect(merged.items.map(\.key) == ["file:a/one", "file:b/two|skin", "file:b/two", "file:c/three"])
        #expect(merged.items[0].problem == nil && merged.items[0].model == "skin")
        #expect(
            merged.items[3].problem?.reason.text
                == "does not match --only skin=a/*, two; does not match --only eyes=in/b/*"
        )
        #expect(merged.items[3].problem?.reason.code == .notSelected)
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
        #expect(routes.matching("m", "/data/a/b/x.jpg") == (fits ? ["m=" + pattern] : []))
        #expect(routes.matching("n", "/data/a/b/x.jpg").isEmpty && routes.objection(of: "n") == nil)
    }

    @Test("A pattern that no input of its model matches is named")
    func unmatchedPatterns() throws {
        let volumes = Extensions(model: "organs", endings: ["ct"])
        let routes = InputRoutes(only: ["organs=a*", "organs=*.ct", "organs=c*", "skin=*.ct"])
        let found = try search([volumes], routes, files: ["a.ct", "b.ct", "c.jpg"])
        #expect(found.items.map { $0.problem == nil } == [true, true, false])
        let notes = found.notes.filter { $0.contains("--only") }
        #expect(notes == ["organs=c*", "skin=*.ct"].map { "No input that the model reads matches --only \($0)" })
    }

    @Test("A pattern that only items match which are set aside counts as unmatched")
    func setAsidePatterns() throws {
        let search = InputSearch([TextRecipe()], InputRoutes(only: ["organs=a", "organs=b"]))
        let items = [item("a", "organs"), item("b", "organs", .setAside("is a label map")), item("c", "organs")]
        #expect(try search.add(items, of: 0, to: FoundTable()) == ["organs=a"])
    }

    @Test("lists files that do not respond as failures, once, also where no recipe listed them")
    func unresponsive() throws {
        let files = UnresponsiveFiles(
            patience: 3,
            remembered: ["/in/ct", "/in/dir/late"],
            reasons: ["/in/x": "crashes"]
        )
        let (table, _) = try FoundList.merged([FoundList(items: [item("ct", "organs", .refused("did not respond"))])])
        try table.addFailures(of: files)
        let discovery = FoundList(items: try table.items())
        #expect(discovery.items.map(\.path) == ["/in/ct", "/in/dir/late", "/in/x"])
        #expect(discovery.items.map(\.name) == ["ct", "late", "x"])
        #expect(discovery.items.map(\.key) == ["file:ct", "file:/in/dir/late", "file:/in/x"])
        #expect(
            discovery.items[1].problem
                == .refused(
                    .discovered(.unresponsive, "did not respond when it was \(own: "read")")
                )
        )
        #expect(discovery.items[2].problem == .refused(.discovered(.crashesReader, text: "crashes")))
    }

    @Test("a file that was named itself is taken as if its folder had been")
    func singleFile() {
        let routes = InputRoutes(only: ["m=lesions/*"], inputs: ["/data/lesions/x.jpg", "/data/lesionsy"])
        #expect(!routes.matching("m", "/data/lesions/x.jpg").isEmpty)
        #expect(routes.matching("m", "/data/lesionsy/x.jpg").isEmpty)
    }
}
