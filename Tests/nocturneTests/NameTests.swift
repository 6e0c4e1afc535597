import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

/// Names that were made to harm, as files among the inputs and in the place of outputs.
@Suite("Names and links")
struct NameTests {
    private func account(_ bench: ToolBench, _ output: String? = nil) throws -> [String: [String: Any]] {
        let data = try Data(contentsOf: URL(fileURLWithPath: (output ?? bench.output) + "/batch.json"))
        let account = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        let items = account["items"] as? [[String: Any]] ?? []
        return Dictionary(items.map { ($0["source"] as? String ?? "", $0) }) { first, _ in first }
    }

    private func state(_ account: [String: [String: Any]], _ path: String) -> String? {
        account[path]?["state"] as? String
    }

    private func reason(_ account: [String: [String: Any]], _ path: String) -> String {
        account[path]?["reason"] as? String ?? ""
    }

    /// Copies a volume to a name of any bytes.
    private func copy(_ from: String, toBytes name: [UInt8], in folder: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: from))
        let path = Array(folder.utf8) + [UInt8(ascii: "/")] + name + [0]
        let descriptor = path.withUnsafeBytes {
            open($0.bindMemory(to: CChar.self).baseAddress!, O_CREAT | O_WRONLY, 0o644)
        }
        try #require(descriptor >= 0)
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: bytes)
    }

    private static let names = [
        "-rf.nii", "a..nii", "=1+2.nii", "con.nii", "stop.nii", "batch.json.nii", "retry.txt.nii", "nocturne.nii",
        "line\nfeed.nii", "tab\there.nii", "red\u{1B}[31m.nii", "quo\"te,s.nii", "a b.nii", "a_b.nii", "A B.nii",
        "\u{E9}.nii", "\u{202E}iin.nii", "#remark.nii", "\"quoted.nii", " space .nii", "$(touch x).nii", "%s%n.nii",
        String(repeating: "n", count: 251) + ".nii", String(repeating: "ü", count: 120) + ".nii",
    ]

    @Test("of inputs lead to folders inside the output, one each, and to accounts that can be read")
    func inputs() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        let volume = bench.input + "/v.nii"
        for name in Self.names { try FileManager.default.copyItem(atPath: volume, toPath: bench.input + "/" + name) }
        try copy(volume, toBytes: Array("M".utf8) + [0xE4] + Array("use.nii".utf8), in: bench.input)
        // The same letters once more, written in two characters each.
        try copy(volume, toBytes: Array("e\u{301}.nii".utf8), in: bench.input)
        try bench.folder.write("cut short", to: "in/cut\nshort.nii")
        let tool = try bench.run("--identifiers", "keep", "--preview", "none")
        #expect(tool.status == 3)
        #expect(!tool.errors.contains("\u{1B}"))
        let account = try account(bench)
        #expect(account.count == Self.names.count + 4)
        for name in Self.names + ["v.nii"] {
            #expect(state(account, bench.input + "/" + name) == "completed", "\(name)")
        }
        #expect(state(account, bench.input + "/M\\xE4use.nii") == "failed")
        #expect(reason(account, bench.input + "/M\\xE4use.nii") == "its name is not valid UTF-8; rename it")
        #expect(reason(account, bench.input + "/e\\xCC\\x81.nii").contains("the Unicode encoding of letters"))
        let why = try Tool(["why", bench.output, bench.input + "/M\\xE4use.nii"]).output
        #expect(why.contains("next: rename the file or folder, then `nocturne resume"), "\(why)")
        let top = try FileManager.default.contentsOfDirectory(atPath: bench.folder("").path)
        #expect(Set(top) == ["in", "out"])
        let items = Set(
            account.values.filter { $0["state"] as? String == "completed" }.compactMap { $0["item"] as? String }
        )
        #expect(items.count == Self.names.count + 1)
        for item in items {
            #expect(FileManager.default.fileExists(atPath: bench.output + "/\(item)/segmentation.nii.gz"), "\(item)")
            #expect(item.first.map { !".-=+@".contains($0) } == true, "\(item)")
        }
        let verified = try Tool(["verify", bench.output])
        #expect(verified.status == 0, "\(verified.output)")
        // What failed can be given again by its list, whatever its name.
        let again = try Tool([
            "run", "--list", bench.output + "/retry.txt", "--model", bench.model(), "--output",
            bench.folder("again").path,
        ])
        #expect(again.status == 3)
        #expect(
            try self.account(bench, bench.folder("again").path).keys.map { $0 } == [bench.input + "/cut\nshort.nii"]
        )
    }

    @Test("of folders in another encoding are failures, until they are changed")
    func otherEncoding() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        let folder = bench.input + "/Mueller"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: bench.input + "/v.nii", toPath: folder + "/w.nii")
        let bytes = Array((bench.input + "/M").utf8) + [0xFC] + Array("ller\0".utf8)
        let latin = bytes.map { CChar(bitPattern: $0) }
        #expect(rename(folder, latin) == 0)
        #expect(try bench.run("--quiet").status == 3)
        let shown = bench.input + "/M\\xFCller"
        #expect(state(try account(bench), shown) == "failed")
        // As a comment: the list could not be used with a path that does not exist.
        let retry = try String(contentsOfFile: bench.output + "/retry.txt", encoding: .utf8)
        #expect(retry.split(separator: "\n").allSatisfy { $0.hasPrefix("#") } && retry.contains("# " + shown))
        #expect(rename(latin, folder) == 0)
        #expect(try bench.run("--quiet").status == 0)
        #expect(state(try account(bench), folder + "/w.nii") == "completed")
        #expect(reason(try account(bench), shown) == "can be read now, or has another name")
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("in the patient's and the series' fields of DICOM make no folder of their own")
    func dicom() throws {
        let bench = try ToolBench()
        let samples = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-coronal").path
        // Folders name the items; what is in the files does not.
        try FileManager.default.copyItem(atPath: samples, toPath: bench.input + "/-..\u{1B}[2J;rm -rf")
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model("threshold-native"), "--output", bench.output]
                + ["--quiet", "--meshes", "none"]
        )
        #expect(tool.status == 0, "\(tool.errors)")
        #expect(try account(bench).values.compactMap { $0["item"] as? String } == ["__2J_rm_-rf"])
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: bench.folder("").path)) == ["in", "out"])
    }

    @Test("Links in circles, to nothing and to the parent, pipes and sockets end no run, and are told")
    func links() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        func link(_ name: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: bench.input + "/" + name, withDestinationPath: target)
        }
        try link("self", to: ".")
        try link("one", to: "two")
        try link("two", to: "one")
        try link("parent", to: "..")
        try link("nothing.nii", to: "gone.nii")
        try link("again.nii", to: "v.nii")
        try FileManager.default.createDirectory(atPath: bench.input + "/deep", withIntermediateDirectories: true)
        try link("deep/up", to: "../deep")
        try link("also", to: "deep")
        #expect(mkfifo(bench.input + "/pipe.nii", 0o600) == 0)
        #expect(mkfifo(bench.input + "/pipe", 0o600) == 0)
        try link("device.nii", to: "/dev/zero")
        let output = bench.input + "/inside"
        let tool = try Tool(["run", bench.input, "--model", bench.model(), "--output", output])
        #expect(tool.status == 0, "\(tool.errors)")
        let found = try account(bench, output)
        #expect(state(found, bench.input + "/v.nii") == "completed")
        #expect(state(found, bench.input + "/again.nii") == "completed")
        for (name, words) in [
            ("nothing.nii", "a dangling link"), ("one", "a cyclic link"), ("pipe", "a pipe, not a regular file"),
            ("two", "a cyclic link"), ("pipe.nii", "a pipe, not a regular file"),
            ("device.nii", "a device, not a regular file"),
        ] {
            #expect(state(found, bench.input + "/" + name) == "skipped", "\(name)")
            #expect(reason(found, bench.input + "/" + name) == words)
        }
        #expect(found.count == 8, "\(found.keys)")
        // Once more: what the first run wrote is no input of the second, nor what is linked to.
        try link("results", to: "inside")
        let second = try Tool(["run", bench.input, "--model", bench.model(), "--output", output])
        #expect(second.status == 0, "\(second.errors)")
        #expect(try account(bench, output).count == 8)
        // A pipe that is named itself.
        let named = try Tool(["run", bench.input + "/pipe", "--model", bench.model(), "--output", bench.output])
        #expect(named.status == 4 || named.status == 0, "\(named.errors)")
        #expect(try reason(account(bench), bench.input + "/pipe") == "a pipe, not a regular file")
    }

    @Test("A folder that cannot be read is a failure, until it can")
    func missedFolder() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        // Its path is longer than the system's calls take.
        let name = String(repeating: "d", count: 250)
        var folders = [open(bench.input, O_RDONLY | O_DIRECTORY)]
        func removeDeepest() {
            close(folders.removeLast())
            unlinkat(folders[folders.count - 1], name, AT_REMOVEDIR)
        }
        for _ in 0..<18 {
            #expect(mkdirat(folders[folders.count - 1], name, 0o700) == 0)
            folders.append(openat(folders[folders.count - 1], name, O_RDONLY | O_DIRECTORY))
        }
        let first = try bench.run("--quiet")
        while folders.count > 1 { removeDeepest() }
        close(folders[0])
        #expect(first.status == 3, "\(first.errors)")
        let failed = try account(bench).values.filter { $0["state"] as? String == "failed" }
        #expect(failed.count == 1)
        #expect(failed.first?["reason"] as? String == "cannot be read: File name too long")
        #expect((failed.first?["remedy"] as? String)?.contains("Rename the file or folder") == true)
        #expect(state(try account(bench), bench.input + "/v.nii") == "completed")
        #expect(try bench.run("--quiet").status == 0)
    }

    @Test("An output folder may be a link, and inputs may lie around it")
    func linkedOutput() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        let real = bench.folder("real").path
        try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: bench.output, withDestinationPath: real)
        // The input holds the output, by its other name.
        let tool = try Tool(["run", bench.folder("").path, "--model", bench.model(), "--output", bench.output])
        #expect(tool.status == 0, "\(tool.errors)")
        #expect(FileManager.default.fileExists(atPath: real + "/v/result.json"))
        let again = try Tool(["run", bench.folder("").path, "--model", bench.model(), "--output", bench.output])
        #expect(again.status == 0, "\(again.errors)")
        #expect(try account(bench).count == 1)
        // The input lies in the output of another batch's name.
        try FileManager.default.copyItem(atPath: bench.input, toPath: real + "/mine")
        let inner = try Tool(["run", real + "/mine", "--model", bench.model(), "--output", bench.folder("third").path])
        #expect(inner.status == 0, "\(inner.errors)")
        #expect(try account(bench, bench.folder("third").path).count == 1)
    }

    @Test("Nothing is written through links that were planted where results will be")
    func planted() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        let trap = bench.folder("trap").path
        try FileManager.default.createDirectory(atPath: trap, withIntermediateDirectories: true)
        try bench.folder.write("keep", to: "trap/file")
        let staging = bench.output + "/.nocturne/staging"
        try FileManager.default.createDirectory(atPath: staging, withIntermediateDirectories: true)
        func plant(_ place: String, _ target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: bench.output + "/" + place, withDestinationPath: target)
        }
        try plant("v", trap)
        try plant(".nocturne/staging/v", trap)
        try plant("statistics.csv.part", trap + "/file")
        try plant("batch.json", trap + "/file")
        // A new batch does not begin where its reports would replace anything.
        let refusedReport = try bench.run()
        #expect(refusedReport.status == 2)
        #expect(refusedReport.errors.contains("batch.json"))
        try FileManager.default.removeItem(atPath: bench.output + "/batch.json")
        let refusedPart = try bench.run()
        #expect(refusedPart.status == 2 && refusedPart.errors.contains("statistics.csv.part"))
        try FileManager.default.removeItem(atPath: bench.output + "/statistics.csv.part")
        #expect(try bench.run().status == 0)
        for name in ["batch.json", "retry.txt", "events.jsonl"] {
            try FileManager.default.removeItem(atPath: bench.output + "/" + name)
            try plant(name, trap + "/file")
        }
        for name in ["batch.json.part", "statistics.csv.part"] { try plant(name, trap + "/file") }
        try bench.addVolume("v2.nii", 8, 8, 8)
        let tool = try bench.run()
        #expect(tool.status == 0, "\(tool.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: trap) == ["file"])
        #expect(try String(contentsOfFile: trap + "/file", encoding: .utf8) == "keep")
        let items = try account(bench).values.compactMap { $0["item"] as? String }
        #expect(items.count == 2 && items.contains { $0.hasPrefix("v-") })
        for item in items { #expect(FileManager.default.fileExists(atPath: bench.output + "/\(item)/result.json")) }
        // The batch's own folder is not to be a link at all.
        let other = bench.folder("other").path
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: other + "/.nocturne", withDestinationPath: trap)
        let refused = try Tool(["run", bench.input, "--model", bench.model(), "--output", other])
        #expect(refused.status == 2)
        #expect(refused.errors.contains(".nocturne: is a link"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: trap) == ["file"])
    }

    @Test("A finished item that is swapped for a link is done anew beside it, and the link is left alone")
    func swapped() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        #expect(try bench.run().status == 0)
        let trap = bench.folder("trap").path
        try FileManager.default.moveItem(atPath: bench.output + "/v", toPath: trap)
        let before = try FileManager.default.contentsOfDirectory(atPath: trap).sorted()
        try FileManager.default.createSymbolicLink(atPath: bench.output + "/v", withDestinationPath: trap)
        let tool = try bench.run()
        #expect(tool.status == 3)
        #expect(tool.errors.contains("cannot replace a folder that is not a result of this batch"), "\(tool.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: trap).sorted() == before)
    }

    @Test("A DICOM object names the patient although identifiers are withheld, and a note says so")
    func identifiersInObjects() throws {
        let bench = try ToolBench()
        try PlantedNames.addSeries(to: bench.folder, "in/ct")
        let quick = ["--preview", "none", "--meshes", "none", "--dicom-seg"]
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model("threshold-native"), "--output", bench.output]
                + ["--identifiers", "none"] + quick
        )
        #expect(tool.status == 0, "\(tool.errors)")
        let report = try String(contentsOfFile: bench.output + "/batch.json", encoding: .utf8)
        #expect(report.contains("the DICOM objects name patient and study as the source does"))
    }

    @Test(
        "Files and folders have the rights that the umask leaves; what is the batch's own is its owner's",
        arguments: [0o027, 0o002]
    )
    func rights(mask: Int) throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        try PlantedNames.addSeries(to: bench.folder, "in/ct")
        try FileManager.default.copyItem(
            atPath: Checkout.folder.appendingPathComponent("Samples/Photos/lesions/lesion-01.jpg").path,
            toPath: bench.input + "/photo.jpg"
        )
        let photo = Fixtures.url("PhotoModels/primary").path
        let words = [
            "run", bench.input, "--model", bench.model("threshold-native"), "--model", photo, "--output", bench.output,
            "--dicom-seg", "--rtstruct", "--pictures", "--quiet",
        ]
        let script = "umask \(String(mask, radix: 8)); exec \"$0\" \"$@\""
        let tool = try Tool(["-c", script, Tool.path] + words, program: "sh")
        #expect(tool.status == 0, "\(tool.errors)")
        var seen: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: bench.output) {
            let attributes = try FileManager.default.attributesOfItem(atPath: bench.output + "/" + path)
            let rights = attributes[.posixPermissions] as? Int ?? -1
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            let isOwn = path.hasPrefix(".nocturne")
            let expected = (isFolder ? 0o777 : 0o666) & ~(isOwn ? mask | 0o077 : mask)
            #expect(rights == expected, "\(path) has \(String(rights, radix: 8))")
            seen.insert((path as NSString).lastPathComponent)
        }
        for name in [
            "batch.json", "events.jsonl", "retry.txt", "statistics.csv", "measurements.csv", "contact-sheet.pdf",
            "report.pdf",
            "heatmap.png",
            "segmentation.dcm", "rtstruct.dcm", "slices.png", "meshes", "above.stl", "run.json", "journal.sqlite",
            "lock",
        ] {
            #expect(seen.contains(name), "\(name)")
        }
    }
}
