import Foundation
import NocturneTestSupport
import Testing

/// Archives name folders by UIDs and patients: what of that reaches results.
@Suite("Names of inputs in outputs")
struct IdentifierTests {
    private static let uid = "1.2.840.113619.2.55.3.604688119"

    /// Every byte that is made to be passed on: all but the events, the list for the next run and the hidden folder.
    private func shared(_ bench: ToolBench) throws -> [(name: String, text: String)] {
        let root = URL(fileURLWithPath: bench.output)
        let files = FileManager.default.enumerator(atPath: bench.output)?.compactMap { $0 as? String } ?? []
        return try files.filter { !$0.hasPrefix(".nocturne") && $0 != "events.jsonl" && $0 != "retry.txt" }.map {
            name in
            let file = root.appendingPathComponent(name)
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder)
            return (
                name, isFolder.boolValue ? "" : String(decoding: try Data(contentsOf: file), as: Unicode.ASCII.self)
            )
        }
    }

    @Test("UIDs and names leave only as the policy says", arguments: [nil, "hash", "none", "keep"])
    func policy(word: String?) throws {
        let bench = try ToolBench()
        try bench.addVolume("MUSTER_EVA_\(Self.uid).nii")
        let photo = Fixtures.url("../../Samples/Photos/lesions/lesion-01.jpg")
        try FileManager.default.copyItem(
            at: photo,
            to: URL(fileURLWithPath: bench.input + "/MUSTER_EVA_\(Self.uid).jpg")
        )
        let models = [bench.model(), Fixtures.url("../../Samples/Models/skin-lesions-demo").path]
        let tool = try Tool(
            ["run", bench.input, "--output", bench.output] + models.flatMap { ["--model", $0] }
                + (word.map { ["--identifiers", $0] } ?? [])
        )
        #expect(tool.status == 0, "\(tool.errors)")
        let found = try shared(bench)
        #expect(found.contains { $0.name.hasSuffix("result.json") })
        #expect(found.contains { $0.name.contains(Self.uid) || $0.text.contains(Self.uid) } == (word == "keep"))
        #expect(found.contains { $0.name.contains("MUSTER") || $0.text.contains("MUSTER") } == (word != "none"))
    }

    @Test("Other words are refused")
    func refused() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model(), "--output", bench.output, "--identifiers", "all"]
        )
        #expect(tool.status == 2)
    }
}
