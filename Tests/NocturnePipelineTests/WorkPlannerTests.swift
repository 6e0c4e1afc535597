import NocturneCore
import NocturnePipeline
import Testing

@Suite("Naming and planning items")
struct WorkPlannerTests {
    private func item(_ key: String, name: String) -> DiscoveredItem {
        DiscoveredItem(key: key, name: name, source: "{}", path: key, fingerprint: .of(key))
    }

    @Test("Two inputs of one name both get a folder, the same one in every run")
    func sameNames() {
        let planner = WorkPlanner(retryFailed: false, previousDeath: nil)
        let items = [item("a/ct.nii", name: "ct"), item("b/ct.nii", name: "CT"), item("c/other.nii", name: "other")]
        let first = planner.preview(items)
        #expect(first.items.map(\.name)[0] == "ct")
        #expect(first.items.map(\.name)[1].hasPrefix("CT-"))
        #expect(Set(first.items.map { $0.name.lowercased() }).count == 3)
        #expect(first.notes.count == 1)
        #expect(planner.preview(items).items.map(\.name) == first.items.map(\.name))
    }

    @Test(
        "Names become folders that stay inside the output",
        arguments: [
            ("../../etc/passwd", "_.._etc_passwd"), (".hidden", "hidden"), ("a b:c", "a_b_c"), ("", "item"),
            ("...", "item"),
        ]
    )
    func safeNames(wished: String, expected: String) {
        let planner = WorkPlanner(retryFailed: false, previousDeath: nil)
        #expect(planner.preview([item("k", name: wished)]).items[0].name == expected)
    }

    @Test("Names of the account's own files are not given to items")
    func reserved() {
        let planner = WorkPlanner(retryFailed: false, previousDeath: nil)
        #expect(planner.preview([item("k", name: "batch.json")]).items[0].name != "batch.json")
    }
}
