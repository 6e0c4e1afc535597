import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import Testing

@Suite("Two batches side by side")
struct BatchComparisonTests {
    private func item(
        _ id: Int64,
        _ path: String,
        model: String = "m",
        _ state: ItemState = .completed
    ) -> JournalItem {
        var item = JournalItem(
            id: id,
            key: path,
            name: "\(path)-\(id)",
            path: path,
            fingerprint: "",
            state: state
        )
        item.model = model
        return item
    }

    private func batch(_ items: [JournalItem], _ volumes: [Int64: Double?] = [:]) -> BatchContents {
        BatchContents(
            output: OutputFolder("/out"),
            items: items,
            statistics: volumes.mapValues { [Statistic(label: "liver", measure: "volume", value: $0, unit: "mm3")] },
            models: []
        )
    }

    @Test("names the labels that only one batch has, of items with a result in both")
    func labelsOfOne() {
        func batch(_ labels: [Int64: [String]], _ items: [JournalItem]) -> BatchContents {
            let rows = labels.mapValues { $0.map { Statistic(label: $0, measure: "volume", value: 1, unit: "ml") } }
            return BatchContents(output: OutputFolder("/out"), items: items, statistics: rows, models: [])
        }
        let first = batch([1: ["liver", "spleen"], 2: ["heart"]], [item(1, "a"), item(2, "b")])
        let second = batch([7: ["liver", "aorta"]], [item(7, "a"), item(8, "b", .failed)])
        let labels = BatchComparison(first, second).labelsOfOne
        #expect(labels.first == ["spleen"] && labels.second == ["aorta"])
    }

    @Test("pairs items by input, whatever the model where there is only one, else by input and model")
    func pairs() {
        let first = batch([item(1, "a", model: "v1"), item(2, "b", model: "x"), item(3, "b", model: "y"), item(4, "c")])
        let second = batch([item(7, "b", model: "y"), item(8, "a", model: "v2"), item(9, "d"), item(10, "e", .skipped)])
        let comparison = BatchComparison(first, second)
        #expect(comparison.pairs.map { [$0.first.id, $0.second.id] } == [[1, 8], [3, 7]])
        #expect(comparison.onlyFirst == ["b-2", "c-4"] && comparison.onlySecond == ["d-9"])
    }

    @Test("compares measures of labels whose names differ in case, spaces and hyphens alone, as label maps are")
    func similarNames() {
        func batch(_ rows: [String: Double?]) -> BatchContents {
            let statistics = rows.sorted { $0.key < $1.key }
                .map { Statistic(label: $0.key, measure: "volume", value: $0.value, unit: "ml") }
            return BatchContents(
                output: OutputFolder("/out"),
                items: [item(1, "a")],
                statistics: [1: statistics],
                models: []
            )
        }
        let comparison = BatchComparison(
            batch(["TWO": 2, "kidney left": 5, "one": 1]),
            batch(["two": 5, "Kidney-Left": nil, "ONE": 7, "one": 4, "three": 3])
        )
        let labels = comparison.labelsOfOne
        #expect(labels.first.isEmpty && labels.second == ["three"])
        let rows = comparison.rows(of: comparison.pairs[0])
        #expect(rows.map(\.key.label) == ["TWO", "kidney left", "one"])
        // The same name counts first. What is not measured stays so.
        #expect(rows.map(\.value) == [3, nil, 3])
    }

    @Test("notices files of the source that changed, came or went, and no files that depend on the options")
    func changedSources() {
        func stamp(_ path: String, _ size: Int = 1, seconds: Int = 5) -> InputStamp {
            InputStamp(path: path, state: FileState(size: size, seconds: seconds, nanoseconds: 0))
        }
        func differ(_ first: [InputStamp], _ second: [InputStamp]) -> Bool {
            ChangedSources.differ(first, second, at: "/in/a")
        }
        let slices = [stamp("/in/a/1"), stamp("/in/a/2")]
        #expect(!differ(slices, slices.reversed()))
        #expect(differ(slices, [stamp("/in/a/1"), stamp("/in/a/2", 2)]))
        #expect(differ(slices, [stamp("/in/a/1"), stamp("/in/a/2", seconds: 6)]))
        #expect(differ(slices, slices + [stamp("/in/a/3")]) && differ(slices + [stamp("/in/a/3")], slices))
        #expect(differ([stamp("/in/a")], [InputStamp(path: "/in/a", state: nil)]))
        #expect(!differ(slices, slices + [stamp("/references/a")]))
        #expect(!differ(slices, []))
    }

    @Test("tells which items ended otherwise")
    func states() {
        let comparison = BatchComparison(
            batch([item(1, "a", .failed), item(2, "b")]),
            batch([item(1, "a"), item(2, "b")])
        )
        #expect(comparison.changedStates.map(\.name) == ["a-1"])
        #expect(comparison.pairs.filter(\.areCompleted).count == 1)
    }

    @Test("summarizes how measures differ; what is not measured does not count")
    func changes() {
        let items = (1...4).map { item(Int64($0), "v\($0)") }
        let comparison = BatchComparison(
            batch(items, [1: 100, 2: 100, 3: 100, 4: nil]),
            batch(items, [1: 101, 2: 100, 3: 70, 4: 5])
        )
        let rows = comparison.pairs.flatMap(comparison.rows)
        #expect(rows.map(\.value) == [1, 0, -30, nil])
        let changes = BatchComparison.changes(rows)
        #expect(changes.count == 1)
        let change = changes[0]
        #expect(change.items == 3 && change.medianDifference == 0 && change.meanDifference == -9.666667)
        #expect(change.largestDifference == -30 && change.largestItem == "v3-3")
        #expect(BatchComparison.changes(rows.filter { $0.value == 0 }).isEmpty)
    }
}
