import Foundation
import NocturneSystem
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

    /// A volume without a single number, and so one that fails with its path in the reason.
    private func addBroken(_ name: String, to bench: ToolBench) throws {
        try bench.addVolume(name)
        let file = bench.folder("in/\(name)")
        var bytes = Array(try Data(contentsOf: file).prefix(352))
        // Float32, of 32 bits.
        bytes.replaceSubrange(70..<74, with: [16, 0, 32, 0])
        for _ in 0..<24 * 24 * 24 { bytes += [0, 0, 0xc0, 0x7f] }
        try Data(bytes).write(to: file)
    }

    @Test(
        "What failed and what is noted names files as the policy says, and still says why",
        arguments: [nil, "hash", "none", "keep"]
    )
    func sentences(word: String?) throws {
        let bench = try ToolBench()
        let name = "MUSTER_EVA_\(Self.uid)"
        try addBroken("\(name)_bad.nii", to: bench)
        // A reference of the same name, of which the result speaks.
        try bench.addVolume("\(name).nii")
        let references = bench.folder("references")
        try FileManager.default.createDirectory(at: references, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: bench.folder("in/\(name).nii"),
            to: references.appendingPathComponent("\(name).nii")
        )
        // A series with a copy of a slice, which is noted with its folder.
        let series = bench.folder("in/\(name)-series")
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        try FileManager.default.copyItem(at: sample, to: series)
        try FileManager.default.copyItem(
            at: series.appendingPathComponent("IM0000.dcm"),
            to: series.appendingPathComponent("IM0000-again.dcm")
        )

        let tool = try Tool(
            ["run", bench.input, "--output", bench.output, "--model", bench.model("threshold-native")]
                + ["--compare", references.path, "--meshes", "none"]
                + (word.map { ["--identifiers", $0] } ?? [])
        )
        #expect(tool.status == 3, "\(tool.errors)")
        let found = try shared(bench)
        let account = try #require(found.first { $0.name == "batch.json" }).text
        #expect(account.contains(": 13824 voxels are NaN, infinite or outside the range of float32"))
        #expect(account.contains("1 copy was omitted"))
        #expect(account.contains("/\(name)_bad.nii: 13824 voxels") == (word == "keep"))
        #expect(found.contains { $0.name.contains(Self.uid) || $0.text.contains(Self.uid) } == (word == "keep"))
        for part in ["MUSTER", "IM0000-again", bench.folder.path] {
            #expect(found.contains { $0.name.contains(part) || $0.text.contains(part) } == (word != "none"), "\(part)")
        }
        #expect(found.contains { $0.text.contains("\"reference\" : \"") })
        // Whoever looks after the night is told which file it was.
        let events = try String(contentsOfFile: bench.output + "/events.jsonl", encoding: .utf8)
        #expect(events.contains("/\(name)_bad.nii: 13824 voxels"))
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Words of paths that the header gives as the patient's are in no result", arguments: [nil, "keep"])
    func patients(word: String?) throws {
        let bench = try ToolBench()
        // Its patient is QuincyPatient^Rose, QuincyIdentity, born on 29 February 1904.
        let patient = "in/QuincyPatient_Rose_29.02.1904"
        try PlantedNames.addSeries(to: bench.folder, "\(patient)/quincyidentity")
        try addBroken("QuincyPatient_Rose_29.02.1904/rose.nii", to: bench)
        try bench.addVolume("QuincyPatient_Rose_29.02.1904/ROSE_19040229.nii")
        try bench.folder.write("a text", to: "\(patient)/Rose.txt")
        try bench.addVolume("other.nii")
        let tool = try Tool(
            ["run", bench.input, "--output", bench.output, "--model", bench.model("threshold-native")]
                + ["--review", "volumes", "--meshes", "none"]
                + (word.map { ["--identifiers", $0] } ?? [])
        )
        #expect(tool.status == 3 && tool.errors.contains("completed"), "\(tool.errors)")
        // The given name with what is beside it in names: four letters alone also stand in pictures, which are in Base64.
        let words = ["quincypatient", "_rose", "rose_", "rose.", "quincyidentity", "19040229", "29.02.1904"]
        func named(_ name: String, _ text: String) -> [String] {
            words.filter { name.lowercased().contains($0) || text.lowercased().contains($0) }
        }
        let found = try shared(bench)
        for file in found where word == nil { #expect(named(file.name, file.text) == [], "\(file.name)") }
        #expect(found.contains { $0.name.hasPrefix("patient-") } == (word == nil))
        #expect(found.contains { !named($0.name, $0.text).isEmpty } == (word != nil))
        #expect(found.contains { $0.name == "other/result.json" })
        // The journal names the items as before, and a second run, the report and the check show them in the same way.
        let table = try String(contentsOfFile: bench.output + "/batch.json", encoding: .utf8)
        for words in [["resume", bench.output, "--quiet"], ["review", bench.output]] {
            _ = try Tool(words)
        }
        #expect(try String(contentsOfFile: bench.output + "/batch.json", encoding: .utf8) == table)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("A batch of photos alone shows no words of a patient that a CT among the photos states")
    func patientsAmongPhotos() throws {
        let bench = try ToolBench()
        let folder = "in/QuincyPatient_Rose"
        try PlantedNames.addSeries(to: bench.folder, folder + "/ct")
        let photo = Fixtures.url("../../Samples/Photos/lesions/lesion-01.jpg")
        try FileManager.default.copyItem(at: photo, to: bench.folder(folder + "/ct/QuincyPatient.jpg"))
        let model = Fixtures.url("../../Samples/Models/skin-lesions-demo").path
        let tool = try Tool(["run", bench.input, "--output", bench.output, "--model", model])
        #expect(tool.status == 0, "\(tool.errors)")
        let found = try shared(bench)
        #expect(found.contains { $0.name.hasSuffix("/report.pdf") })
        for file in found {
            #expect(!file.name.contains("QuincyPatient") && !file.text.contains("QuincyPatient"), "\(file.name)")
        }
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
