import Foundation
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Files that the user names for the output of a command")
struct WrittenFileTests {
    @Test("are written where nothing lies, and again; nothing else is replaced")
    func replaced() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        let source = bench.input + "/a.nii"
        let before = try FileSystem.read(source)
        let refused = try bench.run("--trace", source)
        #expect(refused.status == 2 && refused.errors.contains("this command did not write it"), "\(refused.errors)")
        let trace = bench.folder("trace.json").path
        #expect(try bench.run("--trace", trace).status == 0)
        let table = bench.folder("table.csv").path
        #expect(symlink(source, bench.folder("link.csv").path) == 0)
        let commands = [
            (["run", bench.input, "--model", bench.model(), "--output", bench.output, "--trace"], trace),
            (["history", bench.output, "--table"], table),
            (["compare", bench.output, bench.output, "--table"], bench.folder("compared.csv").path),
        ]
        for (command, path) in commands {
            for _ in 0..<2 { #expect(try Tool(command + [path]).status == 0, "\(command)") }
            #expect(FileSystem.size(path) ?? 0 > 20)
            for other in [source, bench.folder("link.csv").path, bench.output] {
                let tool = try Tool(command + [other])
                #expect(tool.status == 2 && tool.errors.contains("give another path"), "\(tool.errors)")
            }
        }
        #expect(try FileSystem.read(source) == before)
        let compared = try String(contentsOf: bench.folder("compared.csv"), encoding: .utf8).split(separator: "\n")
        #expect(compared.first == "item,label,measure,unit,first,second,value,disclaimer")
        #expect(compared.count > 1 && compared.dropFirst().allSatisfy { $0.hasSuffix(",\(Disclaimer.short)") })
        #expect(try Tool(["history", bench.output, "--table", trace]).status == 2)
    }

    @Test("A history without any item, such as that of a mistyped subject, is no success")
    func noItem() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        #expect(try bench.run().status == 0)
        let subjects = bench.folder("subjects.csv").path
        try FileSystem.write(subjects, Array("item,subject\na,jane\nb,jim\n".utf8))
        let command = ["history", bench.output, "--subjects", subjects, "--subject"]
        let found = try Tool(command + ["jane"])
        #expect(found.status == 0 && found.errors.contains("1 row of the table of subjects"), "\(found.errors)")
        let missed = try Tool(command + ["jnae"])
        #expect(missed.status == 4 && missed.output.contains("No item was found. Check"), "\(missed.output)")
        for (rows, reason) in [("b,jane", "names no item of the batch"), ("a,jane\na,jim", "csv, row 3: \"a\" has")] {
            try FileSystem.write(subjects, Array("item,subject\n\(rows)\n".utf8))
            let refused = try Tool(command + ["jane"])
            #expect(refused.status == 2 && refused.errors.contains(reason), "\(refused.errors)")
            #expect(refused.errors.contains(subjects), "\(refused.errors)")
        }
        // The same batch by other names.
        #expect(symlink(bench.output, bench.folder("same").path) == 0)
        let twice = try Tool(["history", bench.output, bench.input + "/../out", bench.folder("same").path, "--json"])
        #expect((try twice.json()["entries"] as? [Any])?.count == 1, "\(twice.output)")
    }

    @Test("Batches whose labels have no name in common are not called equal")
    func otherLabels() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        let other = bench.folder("other").path
        #expect(try bench.run().status == 0)
        #expect(try Tool(["run", bench.input, "--model", bench.model("classes-4"), "--output", other]).status == 0)
        let compared = try Tool(["compare", bench.output, other])
        #expect(compared.status == 0 && compared.output.contains("No measure was compared"), "\(compared.output)")
        #expect(try Tool(["compare", bench.output, bench.output]).output.contains("No measure differs."))
    }

    @Test("A comparison names the items whose source changed between the batches")
    func changedSource() throws {
        let bench = try ToolBench()
        for name in ["a.nii", "b.nii"] { try bench.addVolume(name) }
        let other = bench.folder("other").path
        #expect(try bench.run().status == 0)
        try bench.addVolume("b.nii", 32, 24, 24)
        #expect(try Tool(["run", bench.input, "--model", bench.model(), "--output", other]).status == 0)
        let compared = try Tool(["compare", bench.output, other])
        #expect(compared.output.contains("The source of 1 item differs between the batches: b\n"), "\(compared.output)")
        let json = try Tool(["compare", bench.output, other, "--json"]).json()
        #expect(json["changedSources"] as? [String] == ["b"])
        #expect(try !Tool(["compare", bench.output, bench.output]).output.contains("The source of"))
    }
}
