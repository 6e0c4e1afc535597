import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Which items are tried again")
struct RetrySelectionTests {
    private func item(_ name: String, _ reason: ItemReason?, _ state: ItemState = .failed) -> JournalItem {
        var item = JournalItem(
            id: 1,
            key: name,
            name: name,
            path: "/in/" + name,
            fingerprint: "f",
            state: state
        )
        item.reason = reason
        return item
    }

    @Test(
        "by a code, or by all codes of a kind",
        arguments: [
            (RetrySelection.none, [false, false, false]), (.all, [true, true, true]),
            (.codes(["dicom.missingSlices"]), [true, false, false]), (.codes(["dicom"]), [true, true, false]),
            (.codes(["dico", "nifti.truncated"]), [false, false, false]),
        ]
    )
    func selection(_ selection: RetrySelection, expected: [Bool]) {
        let items = [
            item("a", ItemReason(FaultCode("dicom", "missingSlices"), "gap")),
            item("b", ItemReason(FaultCode("dicom", "sheared"), "tilt")), item("c", nil),
        ]
        #expect(items.map(selection.contains) == expected)
    }

    @Test("The list of inputs to try again says why before each, and reads back as the inputs alone")
    func list() throws {
        let items = [
            item("a", ItemReason(FaultCode("nifti", "truncated"), "ends\nearly", stage: "load")),
            item("b", ItemReason(.cancelled, "cancelled on request"), .cancelled), item("c", nil, .pending),
            item("d", ItemReason(.notForModel, "modality PT"), .skipped), item("e", nil, .completed),
        ]
        let description = BatchDescription(
            version: "1.2.3",
            models: [],
            options: [:],
            inputs: ["/in"],
            modelPaths: []
        )
        var collector = BatchReport.Collector(description)
        for item in items { try collector.add(ItemRecord(item)) }
        let report = try collector.report()
        let reported = report.items(items.map { ItemRecord($0) }, from: 0)
        // Items of two parts, one of them with an input that was in the part before.
        var text = try ReportText(report)
        let list = String(
            decoding: try text.part(Array(reported[..<2]))[.retryList] + text.part(Array(reported[1...]))[.retryList],
            as: UTF8.self
        )
        #expect(InputList.paths(in: list) == ["/in/a", "/in/b", "/in/c"])
        let lines = list.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix("# nifti.truncated (load): ends early. The file is damaged"))
        #expect(lines[2] == "# run.cancelled: cancelled on request. `nocturne resume OUT --failed` processes it.")
        let entries = reported.map(\.entry)
        #expect(
            entries.map(\.code) == ["nifti.truncated", "run.cancelled", "run.notReached", "input.notForModel", nil]
        )
        #expect(entries.map(\.stage) == ["load", nil, nil, nil, nil])
        #expect(entries.map { $0.remedy == nil } == [false, false, false, false, true])
    }
}
