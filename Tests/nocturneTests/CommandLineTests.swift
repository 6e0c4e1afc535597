import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The command line")
struct CommandLineTests {
    /// Command lines that are refused, with what the message has.
    private func wrongUsages(_ bench: ToolBench, trained: String, table: String) -> [([String], String)] {
        [
            (["run", "--output", bench.output, "--no-such-option"], "--no-such-option"),
            (["run", bench.input, "--output", bench.output], "--model"),
            (["run", bench.input, "--model", "nowhere", "--output", bench.output], "nowhere"),
            (["run", bench.input, "--model", bench.model(), "--output", bench.output, "--labels", "spleen"], "spleen"),
            (["run", bench.input, "--model", bench.model(), "--output", bench.output, "--labels", ","], "--labels"),
            (["run", bench.input, "--model", bench.model(), "--output", bench.output, "--memory", "much"], "much"),
            (
                ["run", bench.input + "/gone", "--model", bench.model(), "--output", bench.output],
                "there is no file or folder"
            ),
            (
                ["run", bench.input, "--labels", "above", "below", "--model", bench.model(), "-o", bench.output],
                "separate labels with commas: --labels above,below"
            ),
            (
                ["run", bench.input, "--isosurface", "100", "200", "--output", bench.output],
                "repeat the option: --isosurface 100 --isosurface 200"
            ),
            (
                ["run", bench.input, "--include", "*.nii.gz", "*.nope", "--model", bench.model(), "-o", bench.output],
                "repeat the option: --include '*.nii.gz' --include '*.nope'"
            ),
            (["resume", bench.input], "holds no batch"),
            (["resume", bench.folder("gone").path], "does not exist"),
            (["rum", bench.input], "Did you mean 'nocturne run'?"),
            (["rnu", bench.input, "-m", "x"], "there is no command 'rnu'. Did you mean 'nocturne run'?"),
            (["predict", bench.input], "there is no command 'predict'. Did you mean 'nocturne run'?"),
            (["retry", bench.output], "Did you mean 'nocturne resume --failed'?"),
            (["resume", bench.output, "--retry-failed"], "Use --failed instead"),
            (["resume", bench.output, "--shards", "2", "--reviewed", "fail"], "cannot be combined"),
            (["resume", bench.output, "--dry-run", "--reviewed", "fail"], "--list fail`"),
            (["adopt", bench.output, "a", "map.nii"], "Did you mean 'nocturne review adopt'?"),
            (["enrich", bench.output], "Did you mean 'nocturne review titles'?"),
            (["review"], "nocturne review page"),
            (["attach", bench.output], "Did you mean 'nocturne status --follow'?"),
            (["prom", bench.output], "Did you mean 'nocturne status --format prometheus'?"),
            (["trace", bench.output], "Did you mean 'nocturne status --format trace'?"),
            (["status", bench.output, "--json", "--format", "trace"], "cannot be combined"),
            (["status", bench.output, "--follow", "--json"], "leave out the other options"),
            (["status", bench.output, "--refresh", "--format", "trace"], "are for text and JSON"),
            (["help", "nosuch"], "there is no command 'nosuch'"),
            (["models", "lst"], "there is no command 'models lst'. Did you mean 'nocturne models list'?"),
            (["run", bench.input, "-f", "-o", bench.output], "Write out the option's name"),
            (["run", bench.input, "--device", "gpu", "-o", bench.output], "cuda is an NVIDIA GPU"),
            (["run", bench.input, "--reference", "x", "-o", bench.output], "Use --compare instead"),
            (
                ["run", "--list", bench.input, "--model", bench.model(), "-o", bench.output],
                "is a folder. Give a file to --list"
            ),
            (
                ["run", bench.input, "--profile", bench.input, "-o", bench.output],
                "is a folder. Give a file to --profile"
            ),
            (["run", bench.input, "-output", bench.output], "Long options have two hyphens: --output"),
            (
                ["run", bench.input, "--fast", "-o", bench.output],
                "Use --step-size 0.75, --precision bfloat16, or a model"
            ),
            (["run", bench.input, "--dicom", "-o", bench.output], "Unknown option '--dicom'\n"),
            (["run", bench.input], "such as --output results/"),
            (["run", bench.input, "--model", trained, "--output", bench.output], "(nnUNetTrainer__x__3d_fullres)"),
            (["run", bench.input, "--step-size", "2", "-o", bench.output], "expected a number above 0 and at most 1"),
            (["run", bench.input, "--window", "40", "-o", bench.output], "or centre and width such as 40,400"),
            (["run", bench.input, "--isosurface", "abc", "-o", bench.output], "expected a number such as 300"),
            (["run", bench.output, "--shard", "3/2"], "expected K/N with K from 1 to N"),
            (["run", bench.output, "--shard", "1/1", "--bogus", "x"], "Unknown option '--bogus'"),
            (["run", bench.output, "x", "--shard", "1/1"], "--shard takes the output folder of a divided batch"),
            (["run", bench.input, "--profile", table, "-o", bench.output], "line 1: expected an option and its value"),
            (["run", bench.input + "/*.nii", "--model", bench.model(), "-o", bench.output], "with --include '*.nii'"),
            (
                ["run", bench.input + "/*.mha", "--model", bench.model(), "-o", bench.output],
                "no file or folder matches"
            ),
            (
                ["run", bench.input, "--model", bench.model(), "-o", bench.output, "--memory", "32M"],
                "31 MiB of the memory budget of 32 MiB can be used. Raise it with --memory"
            ),
            (["status", bench.output, "extra"], "Leave it out"),
            (["status", bench.output, "extra", "more"], "Leave them out"),
            (
                ["run", bench.input, "--only", "threshold", "-o", bench.output],
                "expected a model and a pattern, such as"
            ),
            (
                ["run", bench.input, "--crops", "png", "--model", bench.model(), "-o", bench.output],
                "Leave it out, or add such a model with --model"
            ),
            (["run", "", "--model", bench.model(), "--output", bench.output], "an input is empty"),
            (
                ["models", "import", bench.folder("none").path, "--task", "total"],
                "there is no file or folder"
            ),
            (
                ["run", "https://example.org/a.zip", "--model", bench.model(), "--output", bench.output],
                "is an address: download it first"
            ),
        ]
    }

    @Test("Wrong usage is told on standard error, with code 2")
    func usage() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        let trained = bench.folder("Dataset042").path
        for name in ["plans.json", "dataset.json"] {
            try bench.folder.write("{}", to: "Dataset042/nnUNetTrainer__x__3d_fullres/\(name)")
        }
        let table = try bench.folder.write("Bildname;Alter\n", to: "table.csv").path
        for (arguments, words) in wrongUsages(bench, trained: trained, table: table) {
            let tool = try Tool(arguments)
            #expect(tool.status == 2, "\(arguments)")
            #expect(tool.output.isEmpty)
            #expect(tool.errors.contains(words), "\(tool.errors)")
            #expect(!tool.errors.contains("Usage: nocturne <subcommand>"), "\(tool.errors)")
            // The nearest name by its letters has another meaning.
            if arguments.contains("--fast") { #expect(!tool.errors.contains("Did you mean"), "\(tool.errors)") }
        }
    }

    @Test("Files of other formats are set aside with what can be done")
    func otherFormats() throws {
        let bench = try ToolBench()
        let files: [(name: String, start: [UInt8], words: String)] = [
            ("a.npz", [0x50, 0x4B, 0x03, 0x04], "a NumPy archive"),
            ("b.zip", [0x50, 0x4B, 0x03, 0x04], "a ZIP archive"),
            ("c.mgz", [0x1F, 0x8B], "mri_convert"), ("d.tar.gz", [0x1F, 0x8B], "a tar archive"),
            ("e.heic", [0, 0, 0, 24], "a photo (HEIC)"), ("f.jpg", [0xFF, 0xD8, 0xFF, 0xE0], "a photo (JPEG)"),
            ("g.dcm.gz", [0x1F, 0x8B], "gunzip"), ("h.png", [0x89, 0x50, 0x4E, 0x47], "a picture (PNG)"),
        ]
        for file in files { try bench.folder.write(file.start, to: "in/" + file.name) }
        let tool = try bench.run()
        #expect(tool.status == 4, "\(tool.errors)")
        for file in files {
            let line = tool.errors.split(separator: "\n").first { $0.contains(" " + file.name + " ") }
            #expect(line?.contains(file.words) == true, "\(file.name): \(tool.errors)")
        }
        #expect(
            tool.errors.contains("What to do:\n  input.unknownFormat (5): Convert or unpack the file"),
            "\(tool.errors)"
        )
        #expect(tool.errors.contains("  input.isPhoto (3): Use a model for photos"), "\(tool.errors)")
        // Two folders with one model.
        try FileManager.default.createDirectory(at: bench.folder("models"), withIntermediateDirectories: true)
        for name in ["x", "y"] {
            try FileManager.default.copyItem(at: Fixtures.url("PhotoModels/dark"), to: bench.folder("models/\(name)"))
        }
        let advised = try Tool(
            ["run", bench.input, "--model", bench.model(), "--output", bench.folder("second").path],
            environment: ["NOCTURNE_MODELS": bench.folder("models").path, "XDG_DATA_HOME": "/nowhere"]
        )
        #expect(advised.errors.contains("(installed: dark)."), "\(advised.errors)")
    }

    @Test("An output folder that cannot be made is told")
    func unwritable() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        try bench.folder.write("a file", to: "taken")
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model(), "--output", bench.folder("taken/out").path])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("cannot create the folder"))
        let file = try Tool(["run", bench.input, "--model", bench.model(), "--output", bench.folder("taken").path])
        #expect(file.status == 2 && file.errors.contains("is not a folder. Name a folder"), "\(file.errors)")
    }

    @Test("A model whose digest is wrong is refused with both digests")
    func digest() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        let copy = bench.folder("model")
        try FileManager.default.copyItem(at: Fixtures.url("Models/threshold"), to: copy)
        var bytes = try Data(contentsOf: copy.appendingPathComponent("network.onnx"))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: copy.appendingPathComponent("network.onnx"))
        let tool = try Tool(["run", bench.input, "--model", copy.path, "--output", bench.output])
        #expect(tool.status == 2)
        #expect(tool.errors.contains("network.onnx"))
        #expect(!FileSystem.exists(bench.output + "/a"))
    }

    @Test("Without --model the only package on the search path is used, and said so; of several none is")
    func onlyModel() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        func run(_ models: [String], _ output: String) throws -> Tool {
            let environment = ["NOCTURNE_MODELS": models.joined(separator: ":"), "XDG_DATA_HOME": "/nowhere"]
            return try Tool(["run", bench.input, "--output", bench.folder(output).path], environment: environment)
        }
        let one = try run([bench.model()], "one")
        #expect(one.status == 0, "\(one.errors)")
        #expect(one.errors.contains("Using the only model on the search path: threshold in "))
        let two = try run([bench.model(), Fixtures.url("Models/classes-4").path], "two")
        #expect(
            two.status == 2 && two.errors.contains("Models: threshold, classes-4. Without a model: --existing-labels"),
            "\(two.errors)"
        )
        let none = try run([], "none")
        #expect(none.status == 2)
        #expect(none.errors.contains("name a model with --model. Without a model: --existing-labels"))
        #expect(!FileSystem.exists(bench.folder("two").path) && !FileSystem.exists(bench.folder("none").path))
    }

    @Test("Without a command it says what can be done next, with the models and the batches that are there")
    func firstSteps() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        #expect(try bench.run("--quiet").status == 0)
        let environment = ["NOCTURNE_MODELS": bench.model(), "XDG_DATA_HOME": "/nowhere"]
        let command = ["-C", bench.folder.url.path, Tool.path]
        let tool = try Tool(command, program: "env", environment: environment)
        #expect(tool.status == 0 && tool.errors.isEmpty, "\(tool.errors)")
        for line in [
            "Models: threshold", "  nocturne run INPUTS --output OUT ", "  nocturne status out", "nocturne --help",
        ] { #expect(tool.output.contains(line), "\(tool.output)") }
        let none = try Tool([], environment: ["NOCTURNE_MODELS": "", "XDG_DATA_HOME": "/nowhere"])
        #expect(none.output.contains("No model package is on the search path"), "\(none.output)")
        #expect(none.output.contains("--model FOLDER"))
    }

    @Test("A plan without any input has no line about memory and time")
    func emptyPlan() throws {
        let bench = try ToolBench()
        let plan = try Tool(["plan", bench.input, "--model", bench.model()])
        #expect(plan.status == 4 && plan.output.contains("No input was found."), "\(plan.output) \(plan.errors)")
        #expect(!plan.output.contains("Engine and model"), "\(plan.output)")
    }

    @Test("A night from plan to verify")
    func night() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        try bench.addVolume("b.nii")
        try bench.folder.write("no volume", to: "in/broken.nii.gz")

        let plan = try Tool(["plan", bench.input, "--model", bench.model(), "--json"])
        #expect(plan.status == 0)
        #expect((try plan.json()["items"] as? [[String: Any]])?.count == 3)
        #expect(!FileSystem.exists(bench.output))

        let run = try bench.run()
        #expect(run.status == 3)
        #expect(run.errors.contains("3 inputs: 2 completed, 1 failed"))
        #expect(!run.errors.contains("\u{1B}"))
        #expect(run.output.isEmpty)

        let status = try Tool(["status", bench.output, "--json"])
        let counts = try status.json()["counts"] as? [String: Any]
        #expect(counts?["completed"] as? Int == 2 && counts?["failed"] as? Int == 1)

        #expect(try Tool(["verify", bench.output]).status == 0)
        let labels = URL(fileURLWithPath: bench.output + "/a/segmentation.nii.gz")
        var bytes = try Data(contentsOf: labels)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: labels)
        let verify = try Tool(["verify", bench.output])
        #expect(verify.status == 3 && verify.output.contains("a/segmentation.nii.gz"))
    }

    @Test("Two versions of one model run in one batch, each with results of its own")
    func versionsOfOneModel() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 8, 8, 8)
        let package = bench.folder("second")
        try FileManager.default.copyItem(atPath: bench.model(), toPath: package.path)
        let file = package.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing("\"version\": \"1.0.0\"", with: "\"version\": \"2.0.0\"").write(
            to: file,
            atomically: true,
            encoding: .utf8
        )
        let run = try bench.run("--model", package.path)
        #expect(run.status == 0, "\(run.errors)")
        for (version, item) in ["1.0.0": "a", "2.0.0": "a@threshold@2.0.0"] {
            let result = URL(fileURLWithPath: "\(bench.output)/\(item)/result.json")
            let json = try JSONSerialization.jsonObject(with: Data(contentsOf: result)) as? [String: Any]
            #expect((json?["model"] as? [String: Any])?["version"] as? String == version)
        }
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Nothing matched is code 4, and says so")
    func nothing() throws {
        let bench = try ToolBench()
        let tool = try bench.run()
        #expect(tool.status == 4)
        #expect(tool.errors.contains("no input"))
        try bench.folder.write("hello", to: "in/readme.txt")
        #expect(try bench.run().status == 4)
        let list = try bench.folder.write("# Nothing is to be tried again.\n", to: "retry.txt").path
        let empty = try Tool(["run", "--list", list, "--model", bench.model(), "--output", bench.output])
        #expect(empty.status == 4)
        #expect(empty.errors.contains("the list \(list) names no input"), "\(empty.errors)")
    }

    @Test("Inputs are described without a model, and a folder of results by what it is")
    func inspect() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 20, 30, 40)
        try bench.folder.write("no volume", to: "in/broken.nii.gz")
        let tool = try Tool(["inspect", bench.input])
        #expect(tool.status == 0)
        #expect(tool.output.contains("20×30×40 voxels of 1.0×1.0×1.0 mm, RAS"))
        #expect(tool.output.contains("not usable: "))
        #expect(try bench.run().status == 3)
        let results = try Tool(["inspect", bench.output])
        #expect(results.output.contains("out\n  not usable: the output folder of another batch"), "\(results.output)")
    }

    @Test("Inputs are counted by kind, photos among them, and what is refused is grouped by reason")
    func inspectSummary() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii", 20, 30, 40)
        for index in 0..<3 { try bench.folder.write("no picture", to: "in/text\(index).txt") }
        let image = RGBImage(width: 120, height: 110)
        try PNGWriter.write(image, to: bench.input + "/photo.png")
        let tool = try Tool(["inspect", bench.input, "--summary"])
        #expect(tool.status == 0)
        #expect(
            tool.output == "1 volume, 1 photo, 3 not usable\n  3 × neither DICOM, NIfTI, NRRD, MetaImage nor a photo\n",
            "\(tool.output)"
        )
        // One reason with different numbers is shown with those of one input.
        for axes in [5, 6] {
            let fields = "type: short\ndimension: \(axes)\nsizes: 2 2\nencoding: raw\nendian: little\n\n"
            try bench.folder.write("NRRD0004\n" + fields, to: "axes/\(axes).nrrd")
        }
        let numbers = try Tool(["inspect", bench.folder("axes").path, "--summary"]).output
        let rest = "axes, not the three of a volume; others have other numbers"
        #expect(numbers == "2 not usable\n  2 × 5 \(rest)\n", "\(numbers)")
        let heads: [String: [UInt8]] = ["nifti1": [0x5C, 1, 0, 0, 0], "nifti2": [0x1C, 2, 0, 0, 0, 0]]
        for (name, head) in heads { try bench.folder.write(head, to: "cut/\(name).nii") }
        let several = try Tool(["inspect", bench.folder("cut").path, "--summary"]).output
        let reason = "the header ends after 5 of 348 bytes; others have other numbers"
        #expect(several == "2 not usable\n  2 × \(reason)\n", "\(several)")
        let photo = try Tool(["inspect", bench.input + "/photo.png"])
        #expect(photo.status == 0 && photo.output.contains("120×110 pixels"))
    }

    @Test("A damaged journal is named with the next step, and that step brings the batch back without inference")
    func damagedJournal() throws {
        let bench = try ToolBench()
        for index in 0..<2 { try bench.addVolume("v\(index).nii", 20, 20, 20) }
        #expect(try bench.run().status == 0)
        let journal = bench.output + "/.nocturne/journal.sqlite"
        let results = try FileManager.default.contentsOfDirectory(atPath: bench.output).sorted()
        let before = try Data(contentsOf: URL(fileURLWithPath: bench.output + "/v0/run.json"))
        try FileSystem.write(journal, Array("no database, but something longer than nothing".utf8))
        for command in ["status", "verify", "resume"] {
            let tool = try Tool([command, bench.output])
            #expect(tool.status != 0 && tool.errors.contains("the journal is damaged"), "\(command): \(tool.errors)")
            #expect(tool.errors.contains("Next step: move the journal away"))
        }
        for entry in FileSystem.entries(bench.output + "/.nocturne") where entry.hasPrefix("journal.sqlite") {
            FileSystem.remove(bench.output + "/.nocturne/" + entry)
        }
        #expect(try bench.run().status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.output + "/v0/run.json")) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.output).sorted() == results)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Interrupted, it leaves with 130, tells the truth, and goes on", arguments: [SIGINT, SIGTERM])
    func interrupt(signal: Int32) throws {
        let bench = try ToolBench()
        for index in 0..<6 { try bench.addVolume("v\(index).nii", 104, 104, 104) }
        let start = [
            "run", bench.input, "--model", bench.model("classes-16"), "--output", bench.output, "--meshes", "none",
            "--preview", "none",
        ]
        let tool = try Tool(start, signal: signal, in: bench.output + "/events.jsonl")
        #expect(tool.status == (signal == SIGINT ? 130 : 143))
        #expect(tool.errors.contains("nocturne resume"))
        let status = try Tool(["status", bench.output, "--json"])
        let counts = try status.json()["counts"] as? [String: Any]
        let completed = counts?["completed"] as? Int ?? -1
        #expect(completed < 6 && completed + (counts?["notReached"] as? Int ?? -1) == 6)
        #expect(try Tool(["resume", bench.output]).status == 0)
        #expect(try Tool(["verify", bench.output]).status == 0)
    }

    @Test("Killed, the whole process tree is gone, and a resume ends as an undisturbed run")
    func killed() throws {
        let bench = try ToolBench()
        // The first is the smallest, so that others are left when the signal comes.
        for (index, size) in [64, 80, 80].enumerated() { try bench.addVolume("v\(index).nii", size, size, size) }
        let start = ["run", bench.input, "--model", bench.model("classes-16"), "--preview", "none", "--output"]
        #expect(try Tool(start + [bench.folder("whole").path]).status == 0)
        let tool = try Tool(
            start + [bench.output],
            signal: SIGKILL,
            after: "itemCompleted",
            in: bench.output + "/events.jsonl"
        )
        #expect(tool.status == -SIGKILL)
        #expect(try Tool(["resume", bench.output]).status == 0)
        for item in ["v0", "v1", "v2"] {
            for file in FileSystem.files(below: bench.output + "/" + item) where file != "run.json" {
                let path = "/\(item)/\(file)"
                #expect(
                    try FileSystem.digest(bench.output + path).digest
                        == FileSystem.digest(bench.folder("whole").path + path).digest
                )
            }
        }
        for file in ["batch.json", "statistics.csv", "retry.txt"] {
            #expect(
                try FileSystem.read(bench.output + "/" + file)
                    == FileSystem.read(bench.folder("whole").path + "/" + file)
            )
        }
    }

    @Test("Memory does not grow with classes times the volume, and the predicted peak is within 20 % of the measured")
    func peak() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 128, 128, 384)
        var peaks: [Int] = []
        for model in ["classes-4", "classes-64"] {
            let output = bench.folder(model).path
            let tool = try Tool(
                ["run", bench.input, "--model", bench.model(model), "--output", output]
                    + ["--meshes", "none", "--preview", "none"]
            )
            #expect(tool.status == 0)
            let run = try JSONSerialization.jsonObject(
                with: Data(contentsOf: URL(fileURLWithPath: output + "/v/run.json"))
            )
            peaks.append((run as? [String: Any])?["peakResidentBytes"] as? Int ?? 0)
            let predicted = (run as? [String: Any])?["predictedPeakBytes"] as? Int ?? 0
            let ratio = Double(peaks.last ?? 0) / Double(predicted)
            #expect(ratio > 0.8 && ratio < 1.2, "measured \(peaks.last ?? 0), predicted \(predicted)")
        }
        let whole = 60 * 128 * 128 * 384 * 4
        #expect(peaks[0] > 0)
        #expect(peaks[1] - peaks[0] < whole / 4, "grew by \(peaks[1] - peaks[0]) of \(whole)")
    }

    @Test("Interrupted before anything has begun, it just leaves")
    func interruptAtOnce() throws {
        let bench = try ToolBench()
        for index in 0..<6 { try bench.addVolume("v\(index).nii", 160, 160, 160) }
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model("classes-16"), "--output", bench.output],
            signal: SIGINT,
            after: nil
        )
        // Before its first line of code a process dies of the signal, which shells report as 130 too.
        #expect([130, -SIGINT].contains(tool.status))
        #expect(!tool.errors.contains("died"))
    }

    @Test("SIGUSR1 finishes the items whose inference has begun and leaves with 75")
    func drain() throws {
        let bench = try ToolBench()
        // More than fit between the stages at once, so that some are left when the signal comes.
        for index in 10..<40 { try bench.addVolume("v\(index).nii", 64, 64, 64) }
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model("classes-16"), "--output", bench.output]
                + ["--meshes", "none", "--preview", "none"],
            signal: SIGUSR1,
            after: "itemCompleted",
            in: bench.output + "/events.jsonl"
        )
        #expect(tool.status == 75)
        // Which items are the first to complete is up to the threads.
        let completed = (10..<40).count { FileSystem.exists(bench.output + "/v\($0)/result.json") }
        #expect(completed >= 1 && completed < 30)
        #expect(try Tool(["resume", bench.output, "--quiet"]).status == 0)
    }

    @Test("A list may come from Windows; what it names is done")
    func list() throws {
        let bench = try ToolBench()
        try bench.addVolume("a.nii")
        try bench.addVolume("b.nii")
        let list = try bench.folder.write("# a list\r\n\(bench.input)/b.nii\r\n", to: "list.txt")
        let tool = try Tool(["run", "--list", list.path, "--model", bench.model(), "--output", bench.output])
        #expect(tool.status == 0)
        #expect(FileSystem.exists(bench.output + "/b/result.json") && !FileSystem.exists(bench.output + "/a"))
    }

    @Test("--quiet prints what failed, and nothing of what completed")
    func quiet() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        try bench.folder.write(Array("n+1 but cut".utf8), to: "in/cut.nii")
        let tool = try bench.run("--quiet")
        #expect(tool.status == 3 && tool.errors.contains("cut") && tool.errors.contains("FAILED"), "\(tool.errors)")
        #expect(!tool.errors.contains("completed"))
    }

    @Test("--quiet prints which output could not be made, and why nothing was completed")
    func quietWithoutFailures() throws {
        let bench = try ToolBench()
        let sample = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        try FileManager.default.copyItem(at: sample, to: bench.folder("in/series"))
        try FileManager.default.removeItem(at: bench.folder("in/series/IM0005.dcm"))
        // A gap is filled, and the result then has other planes than its source.
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model("threshold-native"), "--output", bench.output, "--quiet"]
                + ["--fix-tilt", "--dicom-seg", "--meshes", "none", "--preview", "none"]
        )
        #expect(tool.status == 3 && tool.errors.contains("series: not made: segmentation.dcm: "), "\(tool.errors)")
        #expect(!tool.errors.contains("completed"))
        let why = try Tool(["why", bench.output, "series"])
        #expect(why.output.contains("  note: not made: segmentation.dcm: "), "\(why.output)")
        let json = try Tool(["why", bench.output, "series", "--json"])
        let item = try #require(try json.json()["items"] as? [[String: Any]]).first
        #expect((item?["notes"] as? [String])?.contains { $0.hasPrefix("not made") } == true, "\(json.output)")
        let model = ["--model", bench.model(), "--only", "threshold=zz"]
        let none = try Tool(["run", bench.input, "--output", bench.folder("none").path, "--quiet"] + model)
        #expect(none.status == 4 && none.errors.contains("1 skipped"), "\(none.errors)")
        #expect(none.errors.contains("Correct the pattern of --only"), "\(none.errors)")
    }

    @Test("A run that compares nothing although references were given ends with 3, and says so with --quiet too")
    func nothingCompared() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii")
        let references = bench.folder("references")
        try FileManager.default.createDirectory(at: references, withIntermediateDirectories: false)
        let source = bench.input + "/v.nii"
        try FileManager.default.copyItem(atPath: source, toPath: references.path + "/other.nii")
        let none = try bench.run("--quiet", "--compare", references.path)
        #expect(none.status == 3, "\(none.errors)")
        #expect(none.errors.contains("No item could be compared with its reference; v: not compared"), "\(none.errors)")
    }

    @Test("A limit of the address space that is too small for the threads is named at once")
    func addressSpace() throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", 8, 8, 8)
        let command = "ulimit -v 200000; exec \"$0\" run \"$1\" --model \"$2\" --output \"$3\" --threads 2"
        let tool = try Tool(["-c", command, Tool.path, bench.input, bench.model(), bench.output], program: "sh")
        #expect(tool.status == 2 && tool.errors.contains("(ulimit -v) leaves"), "\(tool.status) \(tool.errors)")
    }
}
