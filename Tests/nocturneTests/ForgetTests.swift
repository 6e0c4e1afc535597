import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Items that are removed from a batch")
struct ForgetTests {
    /// Files in which a text stands in any place, the journal and its log too.
    private func files(naming text: String, in folder: String) throws -> [String] {
        FileSystem.files(below: folder).filter { path in
            guard let bytes = try? FileSystem.read(folder + "/" + path) else { return true }
            return Data(bytes).range(of: Data(text.utf8)) != nil || path.contains(text)
        }
    }

    @Test("no byte of the output folder names them, the others are untouched, and no run brings them back")
    func removed() throws {
        let bench = try ToolBench()
        for name in ["jane", "janet", "john"] { try bench.addVolume("\(name).nii") }
        #expect(try bench.run("--review", "volumes").status == 0)
        try bench.folder.write("note", to: "out/jane/of-a-reviewer.txt")
        let other = try FileSystem.read(bench.output + "/janet/result.json")
        let tool = try Tool(["forget", bench.output, "jane", "--yes"])
        #expect(tool.status == 0 && tool.output.contains("jane"), "\(tool.output) \(tool.errors)")
        let remaining = try files(naming: "jane", in: bench.output)
        // Only as a part of the other name.
        for path in remaining where !path.hasPrefix("janet/") {
            let bytes = try FileSystem.read(bench.output + "/" + path)
            let text = String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "janet", with: "")
            #expect(!text.contains("jane"), "\(path)")
        }
        #expect(try FileSystem.read(bench.output + "/janet/result.json") == other)
        #expect(try Tool(["verify", bench.output]).status == 0)
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try bench.run("--review", "volumes").status == 0)
        #expect(FileSystem.kind(bench.output + "/jane") == .nothing)
        #expect(try Tool(["status", bench.output]).output.contains("2 inputs: 2 completed"))
    }

    @Test("all of a folder, and an input that was named itself")
    func folder() throws {
        let bench = try ToolBench()
        try FileManager.default.createDirectory(at: bench.folder("in/jane"), withIntermediateDirectories: true)
        for name in ["jane/before.nii", "jane/after.nii", "john.nii"] { try bench.addVolume(name) }
        let named = bench.input + "/jane"
        let run = try Tool(
            ["run", named, bench.input + "/john.nii", "--model", bench.model(), "--output", bench.output]
        )
        #expect(run.status == 0)
        #expect(try Tool(["forget", bench.output, "--source", bench.input + "/john.nii", "--yes"]).status == 0)
        #expect(try files(naming: "john", in: bench.output).isEmpty)
        #expect(try Tool(["forget", bench.output, "--source", named, "--yes"]).status == 0)
        #expect(try files(naming: named, in: bench.output).isEmpty)
        for name in ["before", "after"] { #expect(try files(naming: name + ".nii", in: bench.output).isEmpty) }
        #expect(try Tool(["status", bench.output]).output.contains("0 inputs"))
    }

    @Test("They are accounted for without their names, also where no other item is left")
    func accounted() throws {
        let bench = try ToolBench()
        for name in ["jane", "john"] { try bench.addVolume("\(name).nii", 8, 8, 8) }
        #expect(try bench.run("--quiet").status == 0)
        #expect(try Tool(["forget", bench.output, "jane", "--yes"]).status == 0)
        let note = "1 item left out, as removed by `nocturne forget`"
        #expect(try Tool(["resume", bench.output, "--dry-run"]).output.contains(note))
        #expect(try Tool(["resume", bench.output]).errors.contains(note))
        let why = try Tool(["why", bench.output, bench.input + "/jane.nii"])
        #expect(why.status == 4 && why.output.contains("was removed by `nocturne forget`"), "\(why.output)")
        #expect(try Tool(["forget", bench.output, "john", "--yes"]).status == 0)
        for arguments in [["resume", bench.output], ["run", bench.input, "--output", bench.output]] {
            let empty = try Tool(arguments)
            #expect(empty.status == 4 && empty.errors.contains("no input is left"), "\(empty.errors)")
            #expect(try Tool(arguments + ["--dry-run"]).status == 4)
        }
    }

    @Test("all of a subject, by the table that says whose items are whose")
    func subject() throws {
        let bench = try ToolBench()
        for name in ["scan1", "scan2", "scan3"] { try bench.addVolume("\(name).nii") }
        #expect(try bench.run().status == 0)
        try bench.folder.write("item,subject\nscan1,jane\nscan2.nii,john\nscan3.nii,jane\n", to: "subjects.csv")
        let table = bench.folder("subjects.csv").path
        let unnamed = try Tool(["forget", bench.output, "--subject", "jane"])
        #expect(unnamed.status == 2 && unnamed.errors.contains("--subject needs the table"), "\(unnamed.errors)")
        let forget = ["forget", bench.output, "--yes", "--subjects", table, "--subject"]
        let unknown = try Tool(forget + ["jim"])
        #expect(unknown.status == 2 && unknown.errors.contains("has no item of the subject jim"), "\(unknown.errors)")
        try bench.folder.write(
            "item,patient,lesion\nscan1,jane,L1\nscan2.nii,john,L1\nscan3.nii,jane,L2\n",
            to: "subjects.csv"
        )
        let several = try Tool(forget + ["L1", "--dry-run"])
        #expect(several.status == 2 && several.errors.contains("one of: jane/L1, john/L1"), "\(several.errors)")
        for (name, item) in [("L2", "scan3"), ("john/L1", "scan2"), ("jane", "scan1, scan3")] {
            let shown = try Tool(forget + [name, "--dry-run"])
            #expect(shown.status == 0 && shown.errors.contains(": \(item)."), "\(shown.errors)")
        }
        #expect(try Tool(forget + ["jane"]).status == 0)
        for name in ["scan1", "scan3"] { #expect(try files(naming: name, in: bench.output).isEmpty) }
        #expect(try Tool(["status", bench.output]).output.contains("1 completed"))
    }

    @Test("none of a subject whose row may mean an input in another folder")
    func ambiguousSubject() throws {
        let bench = try ToolBench()
        for visit in ["v1", "v2"] {
            try FileManager.default.createDirectory(at: bench.folder("in/\(visit)"), withIntermediateDirectories: true)
            try bench.addVolume("\(visit)/scan.nii")
        }
        #expect(try bench.run().status == 0)
        let table = bench.folder("subjects.csv").path
        let forget = ["forget", bench.output, "--subjects", table, "--subject", "jane", "--dry-run"]
        try bench.folder.write("item,subject\nscan,jane\n", to: "subjects.csv")
        let refused = try Tool(forget)
        let ends = "Write the end of the path: v1/scan.nii, v2/scan.nii. Nothing was removed"
        #expect(refused.status == 2 && refused.errors.contains(ends), "\(refused.errors)")
        try bench.folder.write("item,subject\nv1/scan.nii,jane\nscan,john\n", to: "subjects.csv")
        let shown = try Tool(forget)
        #expect(shown.status == 0 && shown.errors.contains("of 1 item: v1_scan."), "\(shown.errors)")
    }

    @Test("what is deleted is shown, and nothing is deleted without a confirmation")
    func confirmation() throws {
        let bench = try ToolBench()
        for name in ["jane", "john"] { try bench.addVolume("\(name).nii") }
        #expect(try bench.run().status == 0)
        let files = FileSystem.files(below: bench.output + "/jane").count
        let refused = try Tool(["forget", bench.output, "jane"])
        #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
        let shown = try Tool(["forget", bench.output, "jane", "--dry-run"])
        #expect(shown.status == 0 && shown.errors.contains("\(files) files"), "\(shown.errors)")
        #expect(shown.errors.contains("of 1 item: jane."), "\(shown.errors)")
        #expect(FileSystem.files(below: bench.output + "/jane").count == files)
        #expect(try Tool(["status", bench.output]).output.contains("2 inputs: 2 completed"))
    }

    @Test("a file of a person that names it is listed; what is not there is refused")
    func remaining() throws {
        let bench = try ToolBench()
        try bench.addVolume("jane.nii")
        try bench.addVolume("john.nii")
        #expect(try bench.run().status == 0)
        try bench.folder.write("call jane.", to: "out/notes.txt")
        let unknown = try Tool(["forget", bench.output, "jane", "jim"])
        #expect(unknown.status == 2 && unknown.errors.contains("there is no item jim"))
        #expect(FileSystem.kind(bench.output + "/jane") == .folder)
        let tool = try Tool(["forget", bench.output, "jane", "--yes"])
        #expect(tool.status == 3 && tool.errors.contains("  notes.txt"), "\(tool.errors)")
        #expect(try FileSystem.read(bench.output + "/notes.txt") == Array("call jane.".utf8))
    }
}
