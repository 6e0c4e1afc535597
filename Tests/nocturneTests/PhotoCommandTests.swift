import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Photos on the command line")
struct PhotoCommandTests {
    private let skin = Checkout.folder.appendingPathComponent("Samples/Models/skin-lesions-demo").path
    private let books = Fixtures.url("Models/coloured-maps").path

    /// A picture with one book on it as the fixture's network sees it; every name gives another one.
    private func picture(_ folder: TemporaryFolder, _ name: String) throws {
        var image = RGBImage(width: 160, height: 96)
        let left = 10 + name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 97 }
        for y in 20..<80 {
            for x in left..<left + 30 {
                let isEdge = x == left || x == left + 29 || y == 20 || y == 79
                image[x, y] = SIMD3(230, isEdge ? 240 : 10, isEdge ? 40 : 220)
            }
        }
        let url = folder(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try PNGWriter.write(image, to: url.path)
    }

    /// Source names of all results.
    private func sources(_ output: String) throws -> [String] {
        try FileSystem.files(below: output).filter { $0.hasSuffix("result.json") }.map { file in
            let bytes = try FileSystem.read(output + "/" + file)
            let result = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
            return (result?["source"] as? [String: Any])?["name"] as? String ?? ""
        }.sorted()
    }

    /// All files but the batch's own records.
    private func results(_ output: String) -> [String] {
        FileSystem.files(below: output).filter { !$0.hasPrefix(".nocturne/") }
    }

    @Test(
        "Same names in two folders, a.jpg beside a.jpeg and A.JPG, and an output folder among the inputs lose nothing",
        arguments: ["skin", "books"]
    )
    func names(_ kind: String) throws {
        let folder = try TemporaryFolder("nocturne-names")
        let names = ["x/a.jpg", "y/a.jpg", "y/a.jpeg", "y/A.JPG", "y/a", "a.png"]
        for name in names { try picture(folder, "in/" + name) }
        let output = folder("in/out").path
        let command = ["run", folder("in").path, "--model", kind == "skin" ? skin : books, "--output", output]
        let first = try Tool(command)
        #expect(first.status == 0 && first.errors.contains("6 inputs: 6 completed"), "\(first.errors)")
        #expect(first.errors.contains("6 items with similar notes, the first one "), "\(first.errors)")
        #expect(try sources(output) == names.sorted())
        // Its own pictures are no inputs of a second run, which does nothing.
        let before = results(output)
        let second = try Tool(command)
        #expect(second.status == 0 && second.errors.contains("6 inputs: 6 completed"))
        #expect(results(output) == before)
        for name in names { #expect(FileSystem.exists(folder("in/" + name).path)) }
    }

    @Test("With --only each model takes what fits its pattern, a resume keeps it, and what fits none is set aside")
    func routes() throws {
        let folder = try TemporaryFolder("nocturne-routes")
        for name in ["lesions/one.png", "shelves/two.png", "others/three.png"] { try picture(folder, "in/" + name) }
        let output = folder("out").path
        let command = [
            // A model that is named twice is one.
            "run", folder("in").path, "--model", skin, "--model", skin + "/", "--model", books, "--output", output,
            "--only", "skin-lesions-demo=lesions/*", "--only", "\(books)=shelves/*",
        ]
        let run = try Tool(command)
        #expect(run.status == 0 && run.errors.contains("2 completed"), "\(run.errors)")
        #expect(FileSystem.exists(output + "/one/report.pdf") && FileSystem.exists(output + "/two/coco.json"))
        let account = String(decoding: try FileSystem.read(output + "/batch.json"), as: UTF8.self)
        #expect(account.contains("=lesions/*") && account.contains("=shelves/*"))
        try picture(folder, "in/lesions/four.png")
        #expect(try Tool(["resume", output]).status == 0)
        #expect(FileSystem.exists(output + "/four/report.pdf"))
        #expect(!FileSystem.exists(output + "/four@coloured-maps"))
        // Other routes are another batch.
        let other = try Tool(Array(command.dropLast(2)))
        #expect(other.status == 2 && other.errors.contains("--only was"), "\(other.errors)")
        for wrong in ["nobody=*", "skin-lesions-demo", "skin-lesions-demo="] {
            let tool = try Tool(Array(command.dropLast(4)) + ["--only", wrong])
            #expect(tool.status == 2 && tool.errors.contains("--only"), "\(tool.errors)")
        }
    }

    @Test("Every network of a photo package is checked and timed, whatever goes into it", arguments: ["skin", "books"])
    func check(_ kind: String) throws {
        let tool = try Tool(["models", "check", kind == "skin" ? skin : books, "--json", "--repeat", "1"])
        #expect(tool.status == 0, "\(tool.errors)")
        let networks = try tool.json()["networks"] as? [[String: Any]] ?? []
        #expect(networks.count == (kind == "skin" ? 2 : 1))
        for network in networks {
            let rows = network["rows"] as? [[String: Any]] ?? []
            #expect(rows.count >= 2)
            for row in rows {
                #expect((row["secondsPerPatch"] as? Double ?? 0) > 0)
                guard row["precision"] as? String == "float32" else { continue }
                #expect((row["rmsRelativeDifference"] as? Double ?? 1) < 1e-4)
            }
        }
    }

    @Test("The check names the output that is compared where a network has several")
    func outputs() throws {
        let tool = try Tool(["models", "check", Fixtures.url("PhotoModels/primary").path, "--repeat", "1"])
        let lines = tool.output.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("classifier.onnx, ") && $0.hasSuffix(", output logits, the first of 2") })
        #expect(lines.contains { $0.hasPrefix("attention.onnx, ") && !$0.contains("output") })
    }

    @Test("The status has every photo as an entry: what is active, what failed, what is ready, the newest first")
    func queue() async throws {
        let folder = try TemporaryFolder("nocturne-queue")
        for index in 0..<4 { try picture(folder, "in/p\(index).png") }
        let whole = try Data(contentsOf: folder("in/p0.png"))
        try folder.write(Array(whole.prefix(whole.count / 2)), to: "in/broken.png")
        let output = folder("out").path
        #expect(try Tool(["run", folder("in").path, "--model", books, "--output", output, "-j", "1"]).status == 3)
        func parts(_ more: String...) throws -> [[String: Any]] {
            try Tool(["status", output, "--json"] + more).json()["parts"] as? [[String: Any]] ?? []
        }
        let ready = try parts().filter { $0["state"] as? String == "ready" }
        #expect(ready.map { $0["item"] as? String } == ["p0", "p1", "p2", "p3"])
        let events = String(decoding: try FileSystem.read(output + "/events.jsonl"), as: UTF8.self)
        #expect(events.components(separatedBy: #""objects":{"book":1}"#).count - 1 == 4)
        for part in ready {
            let thumbnail = try #require(part["thumbnail"] as? String)
            #expect(FileSystem.exists(output + "/" + thumbnail))
            #expect(part["id"] as? Int == 1 && part["kind"] as? String == "book" && part["changed"] is String)
        }
        let failed = try parts().filter { $0["state"] as? String == "failed" }
        #expect(failed.count == 1 && failed[0]["item"] as? String == "broken" && failed[0]["thumbnail"] is NSNull)
        #expect((failed[0]["reason"] as? String)?.isEmpty == false)

        // As the journal is while p1 is active, and somebody is at work.
        try await Journal.with(path: output + "/.nocturne/journal.sqlite") { journal in
            let second = try #require(try await journal.items().first { $0.name == "p1" })
            try await journal.markStarted([second.id])
        }
        #expect(try parts().filter { $0["state"] as? String == "processing" }.isEmpty)
        let lock = try BatchLock(OutputFolder(output))
        defer { withExtendedLifetime(lock) {} }
        let newest = try parts("--newest-first")
        #expect(newest.first?["item"] as? String == "p1" && newest.first?["state"] as? String == "processing")
        #expect(newest.first?["thumbnail"] is NSNull && newest.first?["id"] is NSNull)
        let times = newest.compactMap { $0["changed"] as? String }
        #expect(times == times.sorted(by: >) && newest.count == 5)
        let text = try Tool(["status", output, "--newest-first"]).output.split(separator: "\n").map(String.init)
        let first = try #require(text.firstIndex(of: "  p1: processing"))
        #expect(
            Set(text[(first + 1)...].prefix(4)) == [
                "  p0: 1 object ready", "  p2: 1 object ready", "  p3: 1 object ready", "  broken: failed",
            ]
        )
        #expect(try !Tool(["status", output]).output.contains("  p0:"))
    }

    @Test("With --enrich books wait for title and author; a filled-in table makes them ready and survives a resume")
    func enriching() throws {
        let folder = try TemporaryFolder("nocturne-enrich")
        try picture(folder, "in/shelf.png")
        let output = folder("out").path
        #expect(try Tool(["run", folder("in").path, "--model", books, "--output", output, "--enrich"]).status == 0)
        func parts() throws -> [[String: Any]] {
            let status = try Tool(["status", output, "--json"])
            let document = try JSONSerialization.jsonObject(with: Data(status.output.utf8)) as? [String: Any]
            return document?["parts"] as? [[String: Any]] ?? []
        }
        #expect(try parts().map { $0["state"] as? String } == ["enriching"])
        #expect(
            try Tool(["status", output]).output.contains("1 object waits for title and author: nocturne review titles")
        )
        let table = try Tool(["review", "titles", output]).output
        #expect(table.hasPrefix("item,object,class,state,thumbnail,text,title,author\nshelf,1,"))
        let filled = table.replacing(",,\n", with: ",\"Ulysses, 1922\",James Joyce\n")
        #expect(filled != table)
        try FileSystem.write(folder("table.csv").path, Array(filled.utf8))
        let before = try FileSystem.read(output + "/shelf/result.json")
        let taken = try Tool(["review", "titles", output, "--import", folder("table.csv").path])
        #expect(taken.status == 0 && taken.output.contains("1 object has texts"), "\(taken.errors)")
        #expect(try Tool(["resume", output]).status == 0)
        let part = try #require(try parts().first)
        let texts = ["title": "Ulysses, 1922", "author": "James Joyce"]
        #expect(part["state"] as? String == "ready" && part["texts"] as? [String: String] == texts)
        #expect(try FileSystem.read(output + "/shelf/result.json") == before)
        let pages = FileSystem.files(below: output + "/review/data")
            .filter {
                String(decoding: (try? FileSystem.read(output + "/review/data/" + $0)) ?? [], as: UTF8.self).contains(
                    "Ulysses, 1922, James Joyce"
                )
            }
        #expect(pages.count == 1)
        let check = try Tool(["verify", output])
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let shown = try Tool(["resume", output, "--crops", "png", "--dry-run"])
        let loss = "Imported titles of objects are lost unless the new result is equal: shelf."
        #expect(shown.output.contains(loss), "\(shown.output) \(shown.errors)")
        try FileSystem.write(folder("other.csv").path, Array("item,object,title,author\nother,1,a,b\n".utf8))
        let other = try Tool(["review", "titles", output, "--import", folder("other.csv").path])
        #expect(other.status == 4 && other.output.contains("Left out: 1 row"), "\(other.status) \(other.output)")
        try FileSystem.write(folder("none.csv").path, Array("item,object,title,author\nshelf,1,-,\n".utf8))
        let none = try Tool(["review", "titles", output, "--import", folder("none.csv").path])
        let words = "0 objects have texts from the tables; 1 still waits for them. Those of 1 object were removed."
        #expect(none.output.contains(words), "\(none.output) \(none.errors)")
        #expect(try parts().map { $0["state"] as? String } == ["enriching"])
        try FileSystem.write(folder("wrong.csv").path, Array("title,author\na,b\n".utf8))
        let wrong = try Tool(["review", "titles", output, "--import", folder("wrong.csv").path])
        #expect(wrong.status == 2 && wrong.errors.contains("wrong.csv"), "\(wrong.status) \(wrong.errors)")
    }
}
