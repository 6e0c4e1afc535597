import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneSystem
import Testing

@Suite("Naming and planning items")
struct WorkPlannerTests {
    private func item(_ key: String, name: String) -> DiscoveredItem {
        DiscoveredItem(key: key, name: name, model: "m", source: "{}", path: key, fingerprint: .of(key))
    }

    @Test("Two inputs of one name both get a folder, the same one in every run")
    func sameNames() {
        let planner = WorkPlanner(retries: .none)
        let items = [item("a/ct.nii", name: "ct"), item("b/ct.nii", name: "CT"), item("c/other.nii", name: "other")]
        let first = planner.preview(items)
        #expect(first.items.map(\.name) == ["a_ct", "b_CT", "other"])
        #expect(first.notes == [])
        #expect(planner.preview(items).items.map(\.name) == first.items.map(\.name))
    }

    @Test(
        "Names become folders that stay inside the output",
        arguments: [
            ("../../etc/passwd", "_.._etc_passwd"), (".hidden", "hidden"), ("a b:c", "a_b_c"), ("", "item"),
            ("...", "item"), ("-rf", "rf"), ("=1+2", "1+2"), ("@SUM", "SUM"), ("+-=.x", "x"),
            ("a\u{1B}[31m\n", "a__31m_"),
            ("con", "_con"), ("Nul.nii", "_Nul.nii"), ("console", "console"), ("com7.x", "_com7.x"),
            ("a/b\\c", "a_b_c"),
            ("\u{202E}abc", "_abc"), ("e\u{301}t\u{E9}", "e\u{301}t\u{E9}"),
        ]
    )
    func safeNames(wished: String, expected: String) {
        let planner = WorkPlanner(retries: .none)
        #expect(planner.preview([item("k", name: wished)]).items[0].name == expected)
    }

    @Test(
        "Names of the batch's own files are not given to items, nor that of the file that stops a watch",
        arguments: [
            "batch.json", "Batch.JSON", "retry.txt", "statistics.csv.part", "events.jsonl", "contact-sheet.pdf", "stop",
        ]
    )
    func reserved(name: String) {
        let planner = WorkPlanner(retries: .none)
        #expect(planner.preview([item("k", name: name)]).items[0].name.hasPrefix(name + "-"))
    }

    @Test("Names that differ only in how letters are encoded, in case, or beyond the longest get folders of their own")
    func twins() {
        let planner = WorkPlanner(retries: .none)
        let long = String(repeating: "ä", count: 200)
        let wished = ["\u{E9}", "e\u{301}", "E\u{301}", long + "1", long + "2", "a/b", "a:b"]
        let names = planner.preview(wished.enumerated().map { item("k\($0)", name: $1) }).items.map(\.name)
        #expect(Set(names.map { $0.lowercased() }).count == wished.count)
        #expect(names.allSatisfy { $0.utf8.count <= 255 && !$0.contains("/") })
    }

    private func known(_ item: DiscoveredItem, _ state: ItemState, crashes: Int = 0) -> JournalItem {
        JournalItem(
            id: 1,
            key: item.key,
            name: item.name,
            path: item.path,
            fingerprint: item.fingerprint.hex,
            state: state,
            reason: nil,
            crashes: crashes,
            notes: []
        )
    }

    @Test(
        "The journal decides: finished items stay, a suspect is processed alone, a second crash quarantines it",
        arguments: [
            (ItemState.completed, 0, nil, false, ItemState.completed, false, false),
            (.pending, 0, nil, false, .pending, true, false),
            // Not processed since the engine crashed while it was active: still alone, not beside others.
            (.pending, 1, nil, false, .pending, true, true),
            (.started, 0, nil, false, .pending, true, false),
            (.started, 0, "signal 9", false, .pending, true, true),
            (.started, 1, nil, false, .pending, true, true),
            (.started, 1, "signal 9", false, .quarantined, false, false),
            // A crash of an engine in which it was not active changes nothing for it.
            (.pending, 1, "signal 9", false, .pending, true, true),
            (.failed, 0, nil, false, .failed, false, false),
            (.failed, 0, nil, true, .pending, true, false),
            (.quarantined, 2, nil, true, .pending, true, false),
            (.cancelled, 0, nil, false, .cancelled, false, false),
        ] as [(ItemState, Int, String?, Bool, ItemState, Bool, Bool)]
    )
    func decisions(
        before: ItemState,
        crashes: Int,
        death: String?,
        retry: Bool,
        after: ItemState,
        work: Bool,
        suspect: Bool
    ) {
        let item = item("k", name: "n")
        let planner = WorkPlanner(retries: retry ? .all : .none)
        let journaled = known(item, before, crashes: crashes)
        let found = CrashRecoveryStateMachine.requeued([journaled], crash: death).first ?? journaled
        let decision = planner.decide([item], known: KnownItems([found]), foreign: []) { _ in true }[0]
        #expect(decision.state == after)
        if after == .quarantined { #expect(decision.reason?.text.contains("signal 9") == true) }
        #expect(decision.work == work)
        #expect(decision.suspect == suspect)
    }

    @Test("Names of what lies in the output folder and is not ours are left alone")
    func foreign() {
        let decisions = WorkPlanner(retries: .none)
            .decide([item("k", name: "Mine")], known: KnownItems(), foreign: ["mine"]) { _ in true }
        #expect(decisions[0].name.hasPrefix("Mine-"))
    }
}

extension WorkPlanner {
    /// The names that items of a new batch get, and remarks about them.
    fileprivate func preview(_ discovered: [DiscoveredItem]) -> (
        items: [(item: DiscoveredItem, name: String)], notes: [String]
    ) {
        let decisions = decide(FileBackedList(discovered), known: KnownItems(), foreign: []) { _ in false }
        return (decisions.map { ($0.item, $0.name) }, decisions.compactMap(\.note))
    }
}
