import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneRadiomics
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Uptake of PET in a batch")
struct PETTests {
    /// Values of the voxels of ``PETBench`` whose centres lie in the label: 5 to 11 mm along every axis, in Bq/ml.
    private static let values: [Double] = {
        var values: [Double] = []
        for k in 1...4 {
            for j in 1...4 {
                for i in 1...4 {
                    let stored: Int = i + 10 * j + 100 * k
                    values.append(Double(10 * stored))
                }
            }
        }
        return values
    }()

    private func result(_ bench: BatchBench, _ item: String) throws -> [String: Any] {
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any] ?? [:]
    }

    private func second(_ bench: BatchBench, _ item: String) throws -> [String: Any]? {
        let label = (try result(bench, item)["labels"] as? [[String: Any]])?.first
        return (label?["secondImage"] as? [String: Any])?["intensity"] as? [String: Any]
    }

    private func notes(_ bench: BatchBench, _ item: String) throws -> String {
        (try result(bench, item)["notes"] as? [String] ?? []).joined(separator: "\n")
    }

    private func check(_ bench: BatchBench, _ item: String) throws {
        let schema = Checkout.folder.appendingPathComponent("Samples/Schemas/result.schema.json")
        let url = URL(fileURLWithPath: bench.output.item(item) + "/result.json")
        #expect(try JSONSchema(Data(contentsOf: schema)).faults(in: Data(contentsOf: url)) == [])
        // Nothing of it identifies the patient.
        let text = try String(contentsOf: url, encoding: .utf8)
        for secret in ["Nobody", "20010203", "370000000"] { #expect(!text.contains(secret)) }
    }

    private func options(_ path: URL) -> SegmentationOptions {
        var options = SegmentationOptions()
        (options.surfaces.meshes, options.pictures.preview) = (.none, .none)
        options.measurePath = path.path
        return options
    }

    @Test("A series in a folder of the item's name is given as SUV, and without what SUV needs in Bq/ml with a note")
    func secondSeries() async throws {
        let bench = try BatchBench()
        for name in ["one", "sub/deep", "light", "counts", "mixed"] { try bench.addBox(name + ".nii") }
        let series = PETBench(batch: bench)
        try series.addSeries("pet/one")
        try series.addSeries("pet/sub/deep")
        try PETBench(batch: bench, changes: [0x0010_1030: ""]).addSeries("pet/light")
        try PETBench(batch: bench, changes: [0x0054_1001: "CNTS"]).addSeries("pet/counts")
        try series.addSeries("pet/mixed")
        try PETBench(batch: bench, changes: [0x0010_1030: "80"]).addSeries("heavier")
        try FileManager.default.removeItem(at: bench.folder("pet/mixed/3.dcm"))
        try FileManager.default.copyItem(at: bench.folder("heavier/3.dcm"), to: bench.folder("pet/mixed/3.dcm"))
        let outcome = try await bench.run(options(bench.folder("pet")))
        #expect(outcome.counts.completed == 5)

        let mean = Self.values.reduce(0, +) / 64
        let largest = try #require(Self.values.max())
        for item in ["one", "deep"] {
            let intensity = try #require(try second(bench, item))
            let (foundMean, foundMaximum) = (intensity["mean"] as? Double ?? 0, intensity["maximum"] as? Double ?? 0)
            #expect(abs(foundMean / (mean * PETBench.factor) - 1) < 1e-5, "\(foundMean)")
            #expect(abs(foundMaximum / (largest * PETBench.factor) - 1) < 1e-5)
            let image = try #require(try result(bench, item)["secondImage"] as? [String: Any])
            #expect(image["intensityUnit"] as? String == "g/ml" && image["modality"] as? String == "PT")
            #expect(image["format"] as? String == "dicom")
            let suv = try #require(image["suv"] as? [String: Any])
            #expect(suv["kind"] as? String == "body weight" && suv["storedUnits"] as? String == "BQML")
            #expect(suv["halfLifeSeconds"] as? Double == 6586.2)
            let factor = try #require(suv["factor"] as? Double)
            #expect(abs(factor / PETBench.factor - 1) < 1e-5)
            #expect(try !notes(bench, item).contains("no SUV"))
        }
        for (item, unit, reason) in [
            ("light", "Bq/ml", "PatientWeight (0010,1030) is missing"), ("counts", "image value", "(7053,xx00)"),
            ("mixed", "Bq/ml", "the slices of the series differ in PatientWeight (0010,1030)"),
        ] {
            #expect(try second(bench, item)?["mean"] as? Double == mean)
            let image = try #require(try result(bench, item)["secondImage"] as? [String: Any])
            #expect(image["intensityUnit"] as? String == unit && image["suv"] == nil)
            let text = try notes(bench, item)
            #expect(text.contains("no SUV") && text.contains(reason), "\(text)")
        }
        for item in ["one", "deep", "light", "counts", "mixed"] { try check(bench, item) }
        let table = try String(contentsOfFile: bench.output.statistics, encoding: .utf8)
        #expect(mean == 2775)
        #expect(table.contains(",g/ml,") && table.contains("above,secondImageMean,2775,Bq/ml,"), "\(table)")
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
    }

    @Test("A series for all items; of several, the only PET; another frame of reference is a note")
    func seriesForAll() async throws {
        let bench = try BatchBench()
        try PETBench(batch: bench, frameOfReference: "1.2.98", modality: "CT", series: "1.2.3.7")
            .addSeries("in/ct")
        try bench.addBox("one.nii")
        try PETBench(batch: bench).addSeries("all")
        try PETBench(batch: bench, modality: "CT", series: "1.2.3.6").addSeries("other")
        for k in 0..<PETBench.shape.z {
            try FileManager.default.copyItem(at: bench.folder("other/\(k).dcm"), to: bench.folder("all/ct\(k).dcm"))
        }
        #expect(try await bench.run(options(bench.folder("all"))).counts.completed == 2)
        let mean = Self.values.reduce(0, +) / 64 * PETBench.factor
        let found = try second(bench, "one")?["mean"] as? Double ?? 0
        #expect(abs(found / mean - 1) < 1e-5)
        #expect(try notes(bench, "ct").contains("its frame of reference is not that of the item"))
        #expect(try !notes(bench, "one").contains("frame of reference"))
        #expect(try result(bench, "ct")["secondImage"] is [String: Any])
    }

    @Test("Labels and regions on a PET are measured as SUV, and the label map stays that of the stored values")
    func ownImage() async throws {
        let bench = try BatchBench { folder in
            let package = folder("model")
            try FileManager.default.copyItem(at: Fixtures.url("Models/threshold"), to: package)
            let path = package.appendingPathComponent("model.json")
            var document = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: path)) as? [String: Any])
            document["modalities"] = ["PT"]
            var settings = try #require(document["volumeSegmentation"] as? [String: Any])
            // That of the series: nothing is resampled.
            settings["spacing"] = [2.0, 2.0, 2.0]
            document["volumeSegmentation"] = settings
            try JSONSerialization.data(withJSONObject: document).write(to: path)
            return package.path
        }
        try PETBench(batch: bench).addSeries("in/pet")
        let regions = #"""
            {"schemaVersion": 1, "space": "voxel", "regions": [
                {"name": "all", "kind": "box", "lower": [0, 0, 0], "upper": [7, 6, 9]}
            ]}
            """#
        let path = try bench.folder.write(regions, to: "rois.json").path
        let options = try SegmentationOptions(given: ["meshes": "none", "rois": path])
        #expect(try await bench.run(options).counts.completed == 1)
        try check(bench, "pet")
        let result = try result(bench, "pet")
        let source = try #require(result["source"] as? [String: Any])
        #expect(source["intensityUnit"] as? String == "g/ml" && source["suv"] is [String: Any])
        // Every voxel but the one that is 0 lies above the threshold of 0.5 Bq/ml.
        let label = try #require((result["labels"] as? [[String: Any]])?.first)
        let count = PETBench.shape.count - 1
        #expect(label["voxelCount"] as? Int == count)
        let intensity = try #require(label["intensity"] as? [String: Any])
        // The mean of i is 3.5, that of j is 3, and that of k is 4.5.
        let sum: Double = 4835 * Double(PETBench.shape.count)
        let expected: Double = sum / Double(count) * PETBench.factor
        let mean = try #require(intensity["mean"] as? Double)
        #expect(abs(mean / expected - 1) < 1e-5, "\(mean)")
        let region = try #require((result["regions"] as? [[String: Any]])?.first?["intensity"] as? [String: Any])
        let maximum = try #require(region["maximum"] as? Double)
        #expect(abs(maximum / (9670 * PETBench.factor) - 1) < 1e-5)
        #expect(try bench.labels("pet").reduce(0) { $0 + Int($1) } == count)
        #expect(try await BatchVerification(bench.output, inspection: RecipeResults()).run().faults.isEmpty)
    }

    @Test("A window is in the unit of the results, g/ml, and so is what the slices show")
    func window() async throws {
        let bench = VolumeViewBench(batch: try BatchBench())
        try PETBench(batch: bench.batch).addSeries("in/pet")
        try await bench.run(["window": "1,2"])
        let window = try #require(try bench.result("pet")["window"] as? [String: Double])
        #expect(abs(window["lower"] ?? 1) < 1e-6 && abs((window["upper"] ?? 0) - 2) < 1e-6, "\(window)")
    }

    @Test("`nocturne radiomics` measures a PET in g/ml, and without a factor in Bq/ml with a note")
    func radiomics() throws {
        let bench = try BatchBench()
        let affine = Affine(rows: [[2, 0, 0, 3], [0, 2, 0, 3], [0, 0, 2, 3]])
        let labels = try bench.addBox("labels.nii", shape: PETBench.shape, at: 1, edge: 4, affine: affine).path
        try PETBench(batch: bench).addSeries("pet")
        try PETBench(batch: bench, changes: [0x0010_1030: ""]).addSeries("light")
        for (name, unit, scale) in [("pet", "g/ml", PETBench.factor), ("light", "Bq/ml", 1.0)] {
            let pair = try RadiomicsPair(image: bench.folder(name).path, labels: labels, scope: .serial())
            let report = try pair.report(RadiomicsSettings.preset("pyradiomics"), scope: .serial())
            #expect(report.intensityUnit == unit)
            #expect(report.notes.contains { $0.contains("PatientWeight (0010,1030) is missing") } == (name == "light"))
            // The label has the voxels of `values`, whose mean is 2775 Bq/ml.
            let mean = try #require(report.regions.first?.features.first { $0.code == "Q4LE" }?.value)
            #expect(abs(mean / (2775 * scale) - 1) < 1e-5, "\(mean)")
        }
    }
}
