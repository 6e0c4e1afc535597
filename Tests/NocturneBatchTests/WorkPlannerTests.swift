import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import Testing

@Suite("Naming and planning items")
struct WorkPlannerTests {
    private func item(_ key: String, name: String) -> DiscoveredItem {
        DiscoveredItem(key: key, name: name, model: "m", path: key, fingerprint: .of(key))
    }

    @Test("Two inputs of one name both get a folder, the same one in every run")
    func sameNames() async throws {
        let items = [("a/ct.nii", "ct"), ("b/ct.nii", "CT"), ("c/other.nii", "other")]
            .map { item("/in/" + $0, name: $1) }
        let first = try await GivenNames(items)
        #expect(first.names == ["a_ct", "b_CT", "other"])
        #expect(first.notes == [])
        #expect(try await GivenNames(items).names == first.names)
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
    func safeNames(wished: String, expected: String) async throws {
        #expect(try await GivenNames([item("k", name: wished)]).names == [expected])
    }

    @Test(
        "Names of the batch's own files are not given to items, nor that of the file that stops a watch",
        arguments: [
            "batch.json", "Batch.JSON", "retry.txt", "statistics.csv.part", "events.jsonl", "contact-sheet.pdf", "stop",
        ]
    )
    func reserved(name: String) async throws {
        #expect(try await GivenNames([item("k", name: name)]).names[0].hasPrefix(name + "-"))
    }

    @Test("Names that differ only in how letters are encoded, in case, or beyond the longest get folders of their own")
    func twins() async throws {
        let long = String(repeating: "ä", count: 200)
        let wished = ["\u{E9}", "e\u{301}", "E\u{301}", long + "1", long + "2", "a/b", "a:b"]
        let names = try await GivenNames(wished.enumerated().map { item("k\($0)", name: $1) }).names
        #expect(Set(names.map { $0.lowercased() }).count == wished.count)
        #expect(names.allSatisfy { $0.utf8.count <= 255 && !$0.contains("/") })
    }

    private func known(_ item: DiscoveredItem, _ state: ItemState, crashes: Int = 0) -> JournalItem {
        var item = JournalItem(
            id: 1,
            key: item.key,
            name: item.name,
            path: item.path,
            fingerprint: item.fingerprint.hex,
            state: state
        )
        item.crashes = crashes
        return item
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
        crash: String?,
        retry: Bool,
        after: ItemState,
        work: Bool,
        suspect: Bool
    ) {
        let item = item("k", name: "n")
        let planner = WorkPlanner(retries: retry ? .all : .none)
        let journaled = known(item, before, crashes: crashes)
        let found = CrashRecoveryStateMachine.requeued([journaled], crash: crash).first ?? journaled
        let decision = planner.decide(item, before: found, name: { (item.name, nil) }, isIntact: { true })
        #expect(decision.state == after)
        if after == .quarantined { #expect(decision.reason?.text.contains("signal 9") == true) }
        #expect(decision.work == work)
        #expect(decision.suspect == suspect)
    }

    @Test("A cancelled item stays cancelled until it is asked for, whatever has changed")
    func cancelled() {
        let before = known(item("k", name: "n"), .cancelled)
        var changed = item("k", name: "n")
        changed.fingerprint = .of("other options")
        func decided(_ retries: RetrySelection) -> WorkPlanner.Decision {
            WorkPlanner(retries: retries).decide(changed, before: before, name: { ("n", nil) }, isIntact: { true })
        }
        #expect(decided(.none).state == .cancelled && !decided(.none).work)
        #expect(decided(.all).state == .pending && decided(.all).work)
    }

    @Test("An edit in place of an earlier one is no change of the source, the model or the options")
    func secondEdit() {
        let found = item("k", name: "n")
        var edited = found
        edited.fingerprint = .of("the earlier edit")
        let edit = LabelEdit(item: "n", baseFingerprint: found.fingerprint.hex, file: "b.nii", sha256: "b", time: "")
        let decision = WorkPlanner(retries: .none).decide(
            found,
            before: known(edited, .completed),
            edit: edit,
            name: { ("n", nil) },
            isIntact: { true }
        )
        #expect(decision.work && decision.note == nil && decision.edit == edit)
    }

    @Test(
        "An edit follows options that its labels do not depend on, and applies no longer to other labels",
        arguments: [true, false]
    )
    func changedOptions(keepsLabels: Bool) {
        var found = item("k", name: "n")
        let edit = LabelEdit(item: "n", baseFingerprint: found.fingerprint.hex, file: "b.nii", sha256: "b", time: "")
        found.fingerprint = edit.fingerprint
        let before = known(found, .completed)
        found.fingerprint = .of("other options")
        func decide(_ before: JournalItem?) -> WorkPlanner.Decision {
            WorkPlanner(retries: .none).decide(
                found,
                before: before,
                edit: edit,
                keepsEdit: { keepsLabels },
                name: { ("n", nil) },
                isIntact: { true }
            )
        }
        var expected = edit
        expected.baseFingerprint = found.fingerprint.hex
        for decision in [decide(before), decide(nil)] {
            #expect(decision.work && decision.edit == (keepsLabels ? expected : nil))
            #expect(decision.item.fingerprint == (keepsLabels ? expected.fingerprint : found.fingerprint))
        }
        #expect(decide(before).losesEdit == !keepsLabels)
        // Adopted, and not processed yet.
        #expect(decide(known(item("k", name: "n"), .completed)).losesEdit == !keepsLabels)
        #expect(decide(before).note?.contains("no longer apply") == !keepsLabels)
    }

    @Test("An item of a shard has the fingerprint of its edit, which applies as it is")
    func editInShard() {
        var found = item("k", name: "n")
        let edit = LabelEdit(item: "n", baseFingerprint: found.fingerprint.hex, file: "b.nii", sha256: "b", time: "")
        found.fingerprint = edit.fingerprint
        let decision = WorkPlanner(retries: .none).decide(
            found,
            before: known(found, .pending),
            edit: edit,
            name: { ("n", nil) },
            isIntact: { false }
        )
        #expect(decision.work && decision.edit == edit && decision.item.fingerprint == edit.fingerprint)
    }

    @Test("Names of what lies in the output folder and is not ours are left alone")
    func foreign() async throws {
        let given = try await GivenNames([item("k", name: "Mine")], foreign: ["mine"])
        #expect(given.names[0].hasPrefix("Mine-") && given.notes[0].contains("is taken in the output folder"))
    }
}
