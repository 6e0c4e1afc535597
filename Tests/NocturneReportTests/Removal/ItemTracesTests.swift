import Foundation
import NocturneJournal
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Traces of items in files")
struct ItemTracesTests {
    @Test("are their own names, and paths and fingerprints that no other item has")
    func shared() {
        func item(_ name: String, _ path: String, _ fingerprint: String, _ state: ItemState) -> JournalItem {
            JournalItem(id: 1, key: name, name: name, path: path, fingerprint: fingerprint, state: state)
        }
        let removed = [item("a", "/in/a.nii", "f1", .completed), item("b", "/in/b.nii", "f2", .completed)]
        // Withdrawn: its files stay, and are the batch's.
        let traces = ItemRemoval.traces(removed, others: [item("a@other", "/in/a.nii", "f1", .skipped)])
        #expect(traces.names == ["a", "b"] && traces.marks == ["f2", "/in/b.nii"])
    }

    @Test("are found in a file of any length, as whole names, wherever the pieces begin and end")
    func pieces() throws {
        let folder = try TemporaryFolder()
        let path = folder("log").path
        let traces = ItemRemoval.Traces(names: ["case-1"], marks: ["/in/case-1.nii"])
        let cases: [(text: String, name: Bool, mark: Bool)] = [
            ("case-1", true, false), ("case-12", false, false), ("my-case-1", false, false),
            ("see case-1. Then", true, false), ("case-1.nii", false, false), ("/in/case-1.nii", true, true),
            ("/in/case-1.nii.gz", false, false),
        ]
        for (text, name, mark) in cases {
            for before in 0..<40 {
                for after in [0, 1, 2, 30] {
                    let bytes = Array(repeating: UInt8(ascii: " "), count: before) + Array(text.utf8)
                    try FileSystem.write(path, bytes + Array(repeating: UInt8(ascii: " "), count: after))
                    #expect(
                        try traces.occur(inFile: path, marksOnly: false, pieceSize: 16) == name,
                        "\(text) \(before)"
                    )
                    #expect(try traces.occur(inFile: path, marksOnly: true, pieceSize: 16) == mark, "\(text) \(before)")
                }
            }
        }
    }
}
