import Foundation
import NocturneTestSupport
import Testing

@Suite("nocturne models bench")
struct ModelBenchTests {
    private let network = [
        "models", "bench", Fixtures.url("ONNX/unet3d-plain.onnx").path, "--patch", "12,16,16", "--repeat", "1",
        "--threads", "1",
    ]

    @Test("Prints timings as JSON, without a profile unless it is asked for")
    func timings() throws {
        let tool = try Tool(network)
        #expect(tool.status == 0)
        let timings = try tool.json()
        #expect(timings["profile"] == nil)
        #expect((timings["steps"] as? [Any])?.isEmpty == false)
    }

    @Test("Prints a profile of every step and kind as a table, and the same as JSON")
    func profile() throws {
        let tool = try Tool(network + ["--profile"])
        #expect(tool.status == 0)
        let lines = tool.output.split(separator: "\n").map(String.init)
        #expect(lines[0].hasPrefix("patch 12×16×16, float32 on "))
        #expect(lines[1].hasPrefix("peak: "))
        #expect(lines[1].hasSuffix("GB/s of copies, 1 thread"))
        #expect(lines.contains { $0.hasSuffix("kind") && $0.contains("real GFLOP/s") })

        let json = try Tool(network + ["--profile", "--json"]).json()
        let profile = try #require(json["profile"] as? [String: Any])
        let steps = try #require(profile["steps"] as? [[String: Any]])
        let kinds = try #require(profile["kinds"] as? [[String: Any]])
        let scaling = try #require(profile["scaling"] as? [[String: Any]])
        #expect(scaling.compactMap { $0["threads"] as? Int } == [1, 2, 4, 8, 16, 32, 64])
        // What other numbers of threads would take, with a sentence and a heading, comes last.
        #expect(lines.suffix(scaling.count).map { $0.prefix { $0 != " " } } == ["1", "2", "4", "8", "16", "32", "64"])
        let tables = lines.dropLast(scaling.count + 2)
        #expect(tables.last?.hasSuffix("all") == true)
        // Two lines about the machine, two headings, and the sum of all.
        #expect(tables.count == 2 + 2 + steps.count + kinds.count + 1)
        #expect(
            steps.compactMap { $0["title"] as? String }.allSatisfy { title in
                lines.contains { $0.hasSuffix(title) }
            }
        )
    }

    @Test("Takes --json only with --profile")
    func usage() throws {
        let tool = try Tool(network + ["--json"])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("--profile"))
    }

    @Test("A file that is missing or no network, and a patch that it does not take, are mistakes of the user")
    func unusable() throws {
        let bench = try ToolBench()
        let text = try bench.folder.write("hello", to: "notes.onnx").path
        let mistakes = [
            (bench.folder("gone.onnx").path, "12,16,16", "cannot be read"),
            (bench.model(), "12,16,16", "a folder; name an ONNX file in it"),
            (text, "12,16,16", "not a usable ONNX file"),
            (network[2], "12,16", "does not take a patch of 2 axes"), (network[2], "13,16,16", "not 1×1×13×16×16"),
        ]
        for (file, patch, words) in mistakes {
            let tool = try Tool(["models", "bench", file, "--patch", patch, "--repeat", "1", "--threads", "1"])
            #expect(tool.status == 2 && tool.errors.contains(words), "\(tool.errors)")
        }
    }
}

@Suite("nocturne models list")
struct ModelListTests {
    @Test("States which package is meant where several have one name")
    func names() throws {
        let bench = try ToolBench()
        for folder in ["a", "b"] {
            try FileManager.default.createDirectory(at: bench.folder(folder), withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: bench.model(), toPath: bench.folder("\(folder)/model").path)
        }
        let (a, b) = (bench.folder("a").path, bench.folder("b").path)
        let both = try Tool(["models", "list"], environment: ["NOCTURNE_MODELS": "\(a):\(b)"])
        #expect(both.status == 0 && both.output.contains("Several packages are called threshold"), "\(both.output)")
        let one = try Tool(["models", "list"], environment: ["NOCTURNE_MODELS": a])
        #expect(one.status == 0 && !one.output.contains("Several packages"), "\(one.output)")
    }
}

@Suite("nocturne models check")
struct ModelCheckTests {
    @Test("Ends with 2, after the report, for a network that differs from its record")
    func record() throws {
        let bench = try ToolBench()
        try FileManager.default.copyItem(atPath: bench.model(), toPath: bench.folder("model").path)
        try bench.folder.write(
            "{\"library\": \"PyTorch 2\", \"input\": [1, 1, 16, 16, 16], \"values\": [1e6]}",
            to: "model/network.check.json"
        )
        let tool = try Tool(["models", "check", bench.folder("model").path, "--repeat", "1", "--threads", "1"])
        #expect(tool.status == 2 && tool.errors.contains("from what PyTorch 2 computed"), "\(tool.errors)")
        #expect(tool.output.contains("diff to PyTorch 2"), "\(tool.output)")
    }
}

@Suite("nocturne models import")
struct ModelImportTests {
    @Test("Starts the exporter with the source, the first folder of models, the program and the known digest")
    func exporter() throws {
        let source = "pip:lavlab-taps==1.1.2"
        let tool = try Tool(
            ["models", "import", source, "--exporter", "/bin/echo", "--dry-run", "--", "--id", "prostate"],
            environment: ["NOCTURNE_MODELS": "/first:/second"]
        )
        #expect(tool.status == 0)
        #expect(tool.output.hasPrefix("auto \(source) /first --program /"))
        #expect(tool.output.hasSuffix(" --dry-run -- --id prostate\n"))
        let known = try Tool(["models", "list", "--available", "--json"]).output
        let words = tool.output.split(separator: " ")
        let digest = words[try #require(words.firstIndex(of: "--sha256")) + 1]
        #expect(known.contains("\"sha256\" : \"\(digest)\""))
    }

    @Test("States how the exporters are installed where there are none")
    func missing() throws {
        let tool = try Tool(["models", "import", "pip:a==1", "--exporter", "/nowhere/exporter"])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("pip install './nocturne_batch-VERSION.whl[export]'"))
    }

    @Test("Refuses what is certainly not a model before the exporter is started")
    func notAModel() throws {
        let bench = try ToolBench()
        let files: [(name: String, content: [UInt8], words: String)] = [
            ("notes.py", Array("print(1)\n".utf8), "is a text file, not a trained model"),
            ("a.jpg", [0xFF, 0xD8, 0xFF, 0xE0, 0], "is a picture, not a trained model"),
            ("a.bmp", Array("BM".utf8) + [0x46, 0], "is a picture, not a trained model"),
            ("people.csv", Array("BMI;age\n".utf8), "is a text file, not a trained model"),
            ("slice", [UInt8](repeating: 0, count: 128) + Array("DICM".utf8), "is a volume, not a trained model"),
            ("a.nii.gz", [0x1F, 0x8B, 0], "is a volume, not a trained model"), ("a.whl", [], "is an empty file"),
        ]
        for file in files {
            let path = try bench.folder.write(file.content, to: file.name).path
            let tool = try Tool(["models", "import", path, "--exporter", "/bin/echo"])
            #expect(tool.status == 2 && tool.errors.contains(file.words), "\(tool.errors)")
        }
        let package = try Tool(["models", "import", bench.model(), "--exporter", "/bin/echo"])
        #expect(package.status == 2 && package.errors.contains("is a model package already"), "\(package.errors)")
        let missing = try Tool(["models", "import", bench.folder("gone").path, "--exporter", "/bin/echo"])
        #expect(missing.status == 2 && missing.errors.contains("there is no file or folder"), "\(missing.errors)")
        let sources: [(name: String, content: [UInt8])] = [
            ("a.onnx", [8, 7, 0]), ("a.zip", [0x50, 0x4B, 3, 4, 0]), ("a.h5", [0x89, 0x48, 0x44, 0x46, 0]),
        ]
        for source in sources {
            let network = try bench.folder.write(source.content, to: source.name).path
            let tool = try Tool(["models", "import", network, "--exporter", "/bin/echo"])
            #expect(tool.output.hasPrefix("auto \(network) "), "\(tool.errors)")
        }
    }
}
