import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A batch that grows")
struct GrowingBatchTests {
    private let bench: ToolBench
    private let (first, second): (String, String)

    init() throws {
        bench = try ToolBench()
        for name in ["a/one.nii", "b/two.nii"] { try bench.addVolume(name, 8, 8, 8) }
        (first, second) = (bench.input + "/a", bench.input + "/b")
    }

    private func run(_ inputs: [String], _ more: String..., to output: String? = nil) throws -> Tool {
        try Tool(["run"] + inputs + ["--output", output ?? bench.output] + more)
    }

    /// Digests of the results, and one table.
    /// - Parameter withdrawn: an item to leave out, and with it the page, which also lists what was set aside.
    private func digests(_ folder: String, without withdrawn: String? = nil) throws -> [String: String] {
        var result: [String: String] = [:]
        for path in FileSystem.files(below: folder)
        where path.contains("/") && !path.hasPrefix(".nocturne/") && !path.hasSuffix("run.json") {
            if let withdrawn, path.hasPrefix("review/") || path.hasPrefix(withdrawn + "/") { continue }
            result[path] = try FileSystem.digest(folder + "/" + path).digest.hex
        }
        result["statistics.csv"] = String(decoding: try FileSystem.read(folder + "/statistics.csv"), as: UTF8.self)
        return result
    }

    /// When results were made.
    private func times(_ item: String) throws -> [UInt8] { try FileSystem.read(bench.output + "/\(item)/run.json") }

    @Test("New inputs are added without a question, and options that are not given keep their value")
    func inputs() throws {
        let model = bench.model()
        #expect(try run([first], "--model", model, "--meshes", "obj").status == 0)
        let before = try times("one")
        let grown = try run([first, second])
        #expect(grown.status == 0 && grown.errors.contains("1 new input"), "\(grown.errors)")
        #expect(!grown.errors.contains("made again"), "\(grown.errors)")
        #expect(try times("one") == before)
        let fresh = bench.folder("fresh").path
        #expect(try run([first, second], "--model", model, "--meshes", "obj", to: fresh).status == 0)
        #expect(try digests(bench.output) == digests(fresh))
    }

    @Test("The results of an input that is no longer given leave the tables, and come back without being made again")
    func withdrawal() throws {
        let model = bench.model()
        #expect(try run([first, second], "--model", model).status == 0)
        let (before, made) = (try digests(bench.output), try times("two"))
        let refused = try run([first])
        #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
        #expect(try digests(bench.output) == before)
        let plan = try run([first], "--dry-run").output
        #expect(plan.contains("1 result leaves the tables"), "\(plan)")
        let less = try run([first], "--yes")
        #expect(less.status == 0 && less.errors.contains("1 result leaves the tables"), "\(less.errors)")
        let fresh = bench.folder("fresh").path
        #expect(try run([first], "--model", model, to: fresh).status == 0)
        #expect(try digests(bench.output, without: "two") == digests(fresh, without: "two"))
        #expect(try times("two") == made)
        #expect(try run([first, second]).status == 0)
        #expect(try digests(bench.output) == before)
        #expect(try times("two") == made)
    }

    @Test("A second model changes no name, and makes no result of the first again")
    func models() throws {
        let models = ["--model", bench.model(), "--model", bench.model("classes-4")]
        #expect(try Tool(["run", first, second, "--output", bench.output] + models.prefix(2)).status == 0)
        let before = try times("one")
        let grown = try Tool(["run", first, second, "--output", bench.output] + models)
        #expect(grown.status == 0 && grown.errors.contains("new model: "), "\(grown.errors)")
        #expect(try times("one") == before)
        let fresh = bench.folder("fresh").path
        #expect(try Tool(["run", first, second, "--output", fresh] + models).status == 0)
        #expect(try digests(bench.output) == digests(fresh))
    }

    @Test("A new input that does not exist is refused and not recorded; one of the batch fails as long as it is away")
    func missingInputs() throws {
        let model = bench.model()
        #expect(try run([first, second], "--model", model, "--quiet").status == 0)
        let mistyped = try run([first, second, bench.input + "/c"], "--quiet")
        #expect(mistyped.status == 2 && mistyped.errors.contains("there is no file or folder"), "\(mistyped.errors)")
        #expect(try run([first, second], "--quiet").status == 0)

        try FileManager.default.moveItem(atPath: second, toPath: second + "-away")
        let before = try times("two")
        let away = try run([first, second], "--quiet")
        #expect(away.status == 3 && away.errors.contains("No such file or directory"), "\(away.errors)")
        // A run that searches a second time, after its pilot, states it still.
        try bench.addVolume("a/three.nii", 8, 8, 8)
        let pilot = try run([first, second], "--quiet", "--pilot", "1", "--approve")
        #expect(pilot.status == 3, "\(pilot.errors)")
        let status = try Tool(["status", bench.output])
        #expect(status.output.contains("No such file or directory"), "\(status.output)")
        try FileManager.default.moveItem(atPath: second + "-away", toPath: second)
        #expect(try run([first, second], "--quiet").status == 0)
        #expect(try times("two") == before)
    }

    @Test("The results of the first model stay while it is not given, and count again once it is")
    func firstModel() throws {
        let models = ["--model", bench.model(), "--model", bench.model("classes-4")]
        let run = { (models: [String]) in try Tool(["run", first, "--output", bench.output] + models) }
        #expect(try run(models).status == 0)
        let made = (try times("one"), try times("one@classes-4"))
        let less = try run(models.suffix(2) + ["--yes"])
        #expect(less.status == 0 && less.errors.contains("1 result leaves the tables"), "\(less.errors)")
        #expect(less.errors.contains("1 result leaves the batch: the input or the model"), "\(less.errors)")
        // A third model does not get the place of the first, whose result stays.
        #expect(try run(models.suffix(2) + ["--model", bench.model("classes-16"), "--yes"]).status == 0)
        #expect(try (times("one"), times("one@classes-4")) == made)
        let all = try run(models + ["--yes"])
        #expect(all.status == 0 && all.errors.contains("2 completed"), "\(all.errors)")
        #expect(try (times("one"), times("one@classes-4")) == made)
    }

    @Test("The volumes that a time series has lost leave the tables")
    func shorterSeries() throws {
        func writeSeries(points: UInt8) throws {
            try bench.addVolume("a/series.nii", 8, 8, 8 * Int(points))
            var bytes = try FileSystem.read(first + "/series.nii")
            // The third and the fourth dimension.
            (bytes[40], bytes[46], bytes[48]) = (4, 8, points)
            try bench.folder.write(bytes, to: "in/a/series.nii")
        }
        try writeSeries(points: 3)
        #expect(try run([first], "--model", bench.model(), "--time-series").status == 0)
        try writeSeries(points: 2)
        let less = try run([first])
        #expect(less.status == 0 && less.errors.contains("other items are made of the files"), "\(less.errors)")
        let table = String(decoding: try FileSystem.read(bench.output + "/statistics.csv"), as: UTF8.self)
        #expect(table.contains("series_t001") && !table.contains("series_t002"), "\(table)")
    }

    @Test("A batch without a result takes any other options")
    func empty() throws {
        try bench.folder.write("no volume", to: "in/c/three.nii")
        let broken = bench.input + "/c"
        #expect(try run([broken], "--model", bench.model(), "--meshes", "obj").status == 3)
        let other = try run([first], "--meshes", "stl")
        #expect(other.status == 0, "\(other.errors)")
    }
}
