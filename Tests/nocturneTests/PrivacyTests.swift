import Foundation
import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("What leaves a run")
struct PrivacyTests {
    /// A batch over volumes and photos with all three kinds of model, as arguments of the tool.
    static func everything(_ inputs: [String], output: String) -> [String] {
        ["run"] + inputs + ["--output", output]
            + ["--model", Checkout.folder.appendingPathComponent("Samples/Models/skin-lesions-demo").path]
            + ["threshold-native", "coloured-maps"].flatMap { ["--model", Fixtures.url("Models/\($0)").path] }
    }

    /// Where a secret is in a file, plain, in UTF-16, or inside a compressed stream of it; nil for nowhere.
    static func leak(in bytes: [UInt8], _ secrets: [String]) -> String? {
        let layers = [bytes] + Streams.inflated(in: bytes)
        for secret in secrets {
            let plain = Data(secret.utf8)
            let wide = Data(secret.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })
            for layer in layers.map({ Data($0) }) where holds(layer, plain) || layer.range(of: wide) != nil {
                return secret
            }
        }
        return nil
    }

    /// Five digits alone also stand in the middle of a digest now and then, which is no leak.
    private static func holds(_ layer: Data, _ secret: Data) -> Bool {
        let isDigits = secret.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && secret.count < 6
        var rest = layer.startIndex..<layer.endIndex
        while let found = layer.range(of: secret, in: rest) {
            let neighbours = [found.lowerBound - 1, found.upperBound].filter(layer.indices.contains).map { layer[$0] }
            let isInHex = neighbours.contains { Character(UnicodeScalar($0)).isHexDigit }
            if !isDigits || !isInHex { return true }
            rest = found.upperBound..<layer.endIndex
        }
        return false
    }

    @Test("No name, birth date or position of Exif, PNG, TIFF or DICOM reaches an output, a log or the journal")
    func noNames() throws {
        let folder = try TemporaryFolder("nocturne-privacy")
        try folder.write(try PlantedNames.jpeg(), to: "in/one.jpg")
        try folder.write(try PlantedNames.png(), to: "in/two.png")
        try folder.write(PlantedNames.tiff(), to: "in/three.tif")
        // A damaged one, whose error must not quote it either.
        try folder.write(Array(try PlantedNames.jpeg().prefix(20_000)), to: "in/cut.jpg")
        try PlantedNames.addSeries(to: folder, "in/series")

        // The search finds what it is for, in each of the inputs.
        for file in ["one.jpg", "two.png", "three.tif", "series/IM0000.dcm"] {
            #expect(Self.leak(in: try FileSystem.read(folder("in/\(file)").path), PlantedNames.secrets) != nil)
        }
        #expect(Self.leak(in: try PlantedNames.png(), ["QuincyZipped"]) != nil)
        #expect(Self.leak(in: try PlantedNames.jpeg(), ["QuincyAuthor"]) != nil)

        let output = folder("out").path
        let inputs = [folder("in").path]
        let run = try Tool(Self.everything(inputs, output: output))
        // Three photos for two models and a series; the damaged one failed for both.
        #expect(run.errors.contains("9 inputs: 7 completed, 2 failed"), "\(run.errors)")
        #expect(FileSystem.exists(output + "/one/report.pdf"))
        let others = [
            run, try Tool(["status", output, "--json"]), try Tool(["verify", output]), try Tool(["inspect"] + inputs),
            try Tool(
                ["plan"]
                    + Self.everything(inputs, output: output).dropFirst().filter { $0 != "--output" && $0 != output }
            ),
        ]
        for tool in others {
            #expect(Self.leak(in: Array((tool.output + tool.errors).utf8), PlantedNames.secrets) == nil)
        }
        let hasText = Tool.answers("pdftotext", ["-v"])
        for file in FileSystem.files(below: output) {
            let path = output + "/" + file
            #expect(Self.leak(in: try FileSystem.read(path), PlantedNames.secrets) == nil, "\(file)")
            // Text in reports is drawn by the numbers of glyphs, so only a reader of PDF can tell.
            guard hasText, file.hasSuffix(".pdf") else { continue }
            let text = try Tool([path, "-"], program: "pdftotext").output
            #expect(Self.leak(in: Array(text.utf8), PlantedNames.secrets) == nil, "\(file)")
        }
    }

    @Test("What lies beside a patient's DICOM series shows the patient neither in its name nor in its result")
    func besideSeries() throws {
        let folder = try TemporaryFolder("nocturne-beside")
        try PlantedNames.addSeries(to: folder, "in/series")
        for name in ["QuincyPatient Rose.jpg", "29.2.1904.jpg"] {
            try folder.write(try PlantedNames.jpeg(), to: "in/series/" + name)
        }
        let output = folder("out").path
        #expect(try Tool(Self.everything([folder("in").path], output: output)).status == 0)
        let secrets = ["QuincyPatient", "29.2.1904"]
        let files = FileSystem.files(below: output)
        // The journal, the events and the list of what failed keep the paths of the inputs.
        let shown = files.filter { !$0.hasPrefix(".nocturne/") && !["events.jsonl", "retry.txt"].contains($0) }
        #expect(shown.count { $0.hasSuffix("result.json") } >= 3)
        for file in shown {
            #expect(secrets.allSatisfy { !file.contains($0) }, "\(file)")
            #expect(Self.leak(in: try FileSystem.read(output + "/" + file), secrets) == nil, "\(file)")
        }
    }

    @Test(
        "A run over volumes and photos opens no socket",
        .enabled(
            if: Tool.answers("strace", ["-f", "-e", "trace=network", "true"]),
            "strace is not there or not allowed"
        )
    )
    func noSockets() throws {
        let folder = try TemporaryFolder("nocturne-network")
        try folder.write(try PlantedNames.jpeg(), to: "in/one.jpg")
        try PlantedNames.addSeries(to: folder, "in/series")
        let trace = folder("trace.txt").path
        let command = Self.everything([folder("in").path], output: folder("out").path) + ["--meshes", "none"]
        let options = ["-f", "-e", "trace=network", "-o", trace, Tool.path]
        let tool = try Tool(options + command, program: "strace")
        #expect(tool.status == 0 && tool.errors.contains("3 completed"), "\(tool.errors)")
        let lines = String(decoding: try FileSystem.read(trace), as: UTF8.self).split(separator: "\n")
        // Both processes were watched to their ends.
        #expect(lines.filter { $0.contains("+++ exited") }.count >= 2)
        #expect(lines.filter { !$0.contains("+++") && !$0.contains("---") } == [])
    }

    @Test("The disclaimer stands in every medical result, report and contact sheet, and a general form in the others")
    func disclaimers() throws {
        let folder = try TemporaryFolder("nocturne-disclaimer")
        try folder.write(try PlantedNames.jpeg(), to: "in/one.jpg")
        try PlantedNames.addSeries(to: folder, "in/series")
        let output = folder("out").path
        #expect(try Tool(Self.everything([folder("in").path], output: output)).status == 0)
        let words = """
            Nocturne is a research and educational tool. It is NOT a medical device and has NOT been approved by the FDA \
            or any regulatory authority. Results should NOT be used for self-diagnosis. Always consult a qualified \
            dermatologist for skin concerns.
            """
        func disclaimer(_ file: String) throws -> String? {
            let bytes = try FileSystem.read(output + "/" + file)
            return (try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])?["disclaimer"] as? String
        }
        // The sample is a demonstration, which comes first.
        #expect(try disclaimer("one/result.json")?.hasSuffix(words) == true)
        let general = try #require(
            try FileManager.default.contentsOfDirectory(atPath: output).first {
                $0.contains("dicom") || $0.contains("eries")
            }
        )
        for file in ["\(general)/result.json", "batch.json"] {
            #expect(try disclaimer(file)?.contains("Not a medical device") == true, "\(file)")
        }
        guard Tool.answers("pdftotext", ["-v"]) else { return }
        for file in ["one/report.pdf", "contact-sheet.pdf"] {
            let text = try Tool([output + "/" + file, "-"], program: "pdftotext").output
            let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(line.contains(words), "\(file): \(line.prefix(400))")
        }
    }
}
