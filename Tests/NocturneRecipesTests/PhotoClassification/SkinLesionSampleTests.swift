import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("The sample package of skin lesions")
struct SkinLesionSampleTests {
    private var package: String {
        Checkout.folder.appendingPathComponent("Samples/Models/skin-lesions-demo").path
    }

    private struct Expected: Decodable {
        struct Case: Decodable {
            let item: String
            let probabilities: [Double]
            let attention: [[Float]]
        }

        let cases: [Case]
    }

    /// What Pillow, NumPy and ONNX Runtime make of the same files.
    private func compareWithReference(_ bench: PhotoBench) throws {
        let expected = try JSONDecoder().decode(
            Expected.self,
            from: Data(contentsOf: Fixtures.url("SkinLesions/expected.json"))
        )
        #expect(expected.cases.count == 8)
        for entry in expected.cases {
            let values = try JSONDecoder().decode(
                PhotoClassificationResult.AttentionValues.self,
                from: Data(contentsOf: URL(fileURLWithPath: bench.output.item(entry.item) + "/attention.json"))
            )
            for (found, wanted) in zip(try bench.result(entry.item).classes, entry.probabilities) {
                #expect(abs(found.probability - wanted) < 1e-4, "\(entry.item) \(found.name)")
            }
            for (row, wanted) in zip(values.rows, entry.attention) {
                for (found, wanted) in zip(row, wanted) { #expect(abs(found - wanted) < 1e-5, "\(entry.item)") }
            }
            #expect(values.rows.count == entry.attention.count)
        }
    }

    @Test("Every sample photo comes out as what was drawn, with a map, a report and words that say it is synthetic")
    func samples() async throws {
        let bench = try PhotoBench(package)
        let photos = Checkout.folder.appendingPathComponent("Samples/Photos/lesions")
        for file in try FileManager.default.contentsOfDirectory(at: photos, includingPropertiesForKeys: nil) {
            try FileManager.default.copyItem(at: file, to: bench.folder("in/\(file.lastPathComponent)"))
        }
        let table = bench.folder("in/metadata.csv").path
        let outcome = try await bench.run(PhotoClassification.Options(given: ["metadata": table]))
        #expect(outcome.counts.completed == 8 && outcome.counts.inputs == 8)
        let drawn = ["nv", "mel", "bcc", "akiec", "bkl", "df", "vasc", "nv"]
        for (index, kind) in drawn.enumerated() {
            let item = "lesion-0\(index + 1)"
            let result = try bench.result(item)
            #expect(result.leading == kind, "\(item)")
            #expect(result.risk == nil && result.disclaimer.hasPrefix(Disclaimer.demonstration))
            #expect(result.attention?.width == 12 && result.attention?.isUniform == false)
            #expect(result.model.description.contains("Synthetic") && result.model.name.contains("synthetic"))
            let report = try FileSystem.read(bench.output.item(item) + "/report.pdf")
            #expect(String(decoding: report, as: UTF8.self).contains("NocturneSans"))
        }
        #expect(try bench.result("lesion-02").source.orientation == 6)
        let report = ClassificationReport(
            result: try bench.result("lesion-02"),
            picture: RGBImage(width: 4, height: 4),
            overlay: RGBImage(width: 4, height: 4)
        )
        let texts = try report.page(writingTo: bench.folder("report.pdf").path).texts
        let shown = try FileSystem.read(bench.output.item("lesion-02") + "/result.json")
        let classes = try PhotoClassification.reviewParts(of: shown).objects
        #expect(classes.first?.color == "#d55e00" && classes.map(\.text).filter { $0 == "malignant" }.count == 3)
        // The name has two lines.
        #expect(texts.joined(separator: " ").contains("actinic keratosis or intraepithelial carcinoma"), "\(texts)")
        #expect(!texts.contains { $0.contains("…") }, "\(texts)")
        try compareWithReference(bench)
        let sheet = bench.folder("sheet.pdf").path
        #expect(
            try ContactSheet.write(
                folders: { body in for number in 1...8 { try body(bench.output.item("lesion-0\(number)")) } },
                to: sheet
            ) == 8
        )
        // To be looked at by people: NOCTURNE_KEEP names a folder.
        if let keep = ProcessInfo.processInfo.environment["NOCTURNE_KEEP"] {
            try? FileManager.default.copyItem(atPath: bench.output.path, toPath: keep)
            try? FileManager.default.copyItem(atPath: sheet, toPath: keep + "/contact-sheet.pdf")
        }
    }

    @Test("The builtin engine runs the classifier within 100 ms a picture")
    func speed() throws {
        let loaded = try ModelPackage.load(folder: package)
        let settings = try PhotoClassificationModel.Settings(loaded)
        let clock = ContinuousClock()
        let begin = clock.now
        let network = try BuiltinEngine().load(onnx: loaded.path(of: settings.classifier), precision: .float32)
        let shapes = ["image": [1, 3, 380, 380], "metadata": [1, 4]]
        let session = try network.makeSession(inputShapes: shapes, width: 1)
        let cold = begin.duration(to: clock.now)
        let picture = Tensor(shape: [1, 3, 380, 380], values: (0..<3 * 380 * 380).map { Float($0 % 251) / 125 - 1 })
        let inputs = ["image": picture, "metadata": Tensor(shape: [1, 4], values: [0.5, 0, 1, 3])]
        var times: [Duration] = []
        for _ in 0..<10 {
            let start = clock.now
            let outputs = try session.run(inputs, scope: .serial())
            times.append(start.duration(to: clock.now))
            #expect(outputs["logits"]?.values.allSatisfy(\.isFinite) == true)
        }
        let best = try #require(times.min())
        print("classifier on one thread: best \(best), first \(times[0]), load and plan \(cold)")
        #expect(best < .milliseconds(100))
    }
}
