import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

/// The built tool, one item alone in its process; Tools/proofs/memory_peaks.py does it with all sizes and outputs.
@Suite("Peaks of memory", .serialized)
struct MemoryPeakTests {
    /// One way to work on a volume.
    struct Way: CustomTestStringConvertible {
        let model: String
        let side: Int
        var options: [String] = []

        var testDescription: String { "\(model) \(side) \(options.joined(separator: " "))" }
    }

    static let ways: [Way] = [
        Way(model: "classes-4", side: 176),
        Way(model: "classes-4", side: 144, options: ["--precision", "exact"]),
        Way(model: "classes-16", side: 144, options: ["--precision", "bfloat16"]),
        Way(model: "classes-16", side: 144, options: ["--reference-rounding"]),
        Way(model: "classes-64", side: 128, options: ["--meshes", "none"]),
    ]

    private func peaks(_ bench: ToolBench, _ name: String) throws -> (predicted: Int, measured: Int) {
        let data = try Data(contentsOf: URL(fileURLWithPath: bench.output + "/\(name)/run.json"))
        let run = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
        return (try #require(run["predictedPeakBytes"] as? Int), try #require(run["peakResidentBytes"] as? Int))
    }

    /// Never more than was predicted, but for 5 %; and no less than three quarters of it, since what is leased and not
    /// used keeps other items waiting.
    private func hold(_ predicted: Int, _ measured: Int) {
        #expect(Double(measured) <= 1.05 * Double(predicted), "\(measured >> 20) MiB of \(predicted >> 20)")
        #expect(Double(measured) >= 0.75 * Double(predicted), "\(measured >> 20) MiB of \(predicted >> 20)")
    }

    @Test("of volumes are as predicted", arguments: ways)
    func volumes(way: Way) throws {
        let bench = try ToolBench()
        try bench.addVolume("v.nii", way.side, way.side, way.side)
        let tool = try Tool(
            ["run", bench.input, "--model", bench.model(way.model), "--output", bench.output, "--threads", "2", "-q"]
                + way.options
        )
        #expect(tool.status == 0, "\(tool.errors)")
        let (predicted, measured) = try peaks(bench, "v")
        hold(predicted, measured)
    }

    @Test("of photos are not above what is predicted", arguments: ["skin-lesions-demo/lesions", "book-spines/shelves"])
    func photos(words: String) throws {
        let (model, folder) = (words.split(separator: "/")[0], words.split(separator: "/")[1])
        let bench = try ToolBench()
        let photos = Checkout.folder.appendingPathComponent("Samples/Photos/\(folder)")
        let photo = try #require(try FileManager.default.contentsOfDirectory(atPath: photos.path).sorted().first)
        let tool = try Tool([
            "run", photos.appendingPathComponent(photo).path, "--model",
            Checkout.folder.appendingPathComponent("Samples/Models/\(model)").path, "--output", bench.output,
            "--threads", "2", "-q",
        ])
        #expect(tool.status == 0, "\(tool.errors)")
        let (predicted, measured) = try peaks(bench, (photo as NSString).deletingPathExtension)
        #expect(Double(measured) <= 1.05 * Double(predicted), "\(measured >> 20) MiB of \(predicted >> 20)")
    }
}
