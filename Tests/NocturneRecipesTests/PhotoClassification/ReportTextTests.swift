import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Words of medical results")
struct WordingTests {
    /// Literals of a Swift file, with what is put into them left out. Comments are not looked at.
    private func literals(_ source: String) -> [String] {
        source.split(separator: "\n").filter { !$0.trimmingCharacters(in: .whitespaces).hasPrefix("//") }
            .flatMap { line in
                line.matches(of: /"((?:[^"\\]|\\.)*)"/).map { String($0.output.1) }
            }
    }

    @Test("No phrase of the recipe, of the reader's notes or of the disclaimers claims a diagnosis")
    func sources() throws {
        let folder = Checkout.folder.appendingPathComponent("Sources/NocturnePhotos/PhotoClassification")
        var files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("DiagnosticClaims.swift") }
            .map { folder.appendingPathComponent($0) }
        for path in ["NocturneFormats/Photo/Photo.swift", "NocturneCore/Results/Disclaimer.swift"] {
            files.append(Checkout.folder.appendingPathComponent("Sources/" + path))
        }
        var count = 0
        for file in files {
            for literal in literals(try String(contentsOf: file, encoding: .utf8)) {
                count += 1
                #expect(ReportText.diagnosticClaim(in: literal) == nil, "\(file.lastPathComponent): \(literal)")
            }
        }
        #expect(files.count > 15 && count > 200)
    }

    @Test("The scan finds what it has to find")
    func scan() {
        #expect(ReportText.diagnosticClaim(in: "It seems that You Have a mole") == "you have")
        #expect(ReportText.diagnosticClaim(in: "THIS IS melanoma") == "this is")
        #expect(ReportText.diagnosticClaim(in: "nothing to worry about") == "nothing to worry about")
        #expect(ReportText.diagnosticClaim(in: Disclaimer.skin) == nil)
        #expect(literals("let a = \"this is\" + \"x \\\"safe\\\"\" // \"y\"").count == 3)
    }

    @Test("The disclaimer for skin is that of the issue, word for word")
    func disclaimer() {
        #expect(
            Disclaimer.skin
                == "Nocturne is a research and educational tool. It is NOT a medical device and has NOT been approved by "
                + "the FDA or any regulatory authority. Results should NOT be used for self-diagnosis. Always consult a "
                + "qualified dermatologist for skin concerns."
        )
    }

    @Test("Results, reports and the contact sheet hold the disclaimer and no claim, nor a path of the machine")
    func outputs() async throws {
        let bench = try PhotoBench("primary-told")
        try bench.add("high.png", SIMD3(250, 10, 10))
        try bench.add("low.png", SIMD3(10, 10, 250))
        try bench.add("tied.png", SIMD3(120, 120, 120))
        try bench.folder.write(
            "image,age_approx,sex,patient_name,birth_date\nhigh,130,male,Jane Roe,1970-01-01\n",
            to: "p.csv"
        )
        let options = try PhotoClassification.Options(given: ["metadata": bench.folder("p.csv").path])
        #expect(try await bench.run(options).counts.completed == 3)
        for item in ["high", "low", "tied"] {
            let folder = bench.output.item(item)
            let text = try String(contentsOfFile: folder + "/result.json", encoding: .utf8)
            #expect(ReportText.diagnosticClaim(in: text) == nil)
            #expect(!text.contains(bench.folder("").path) && !text.contains("Roe"))
            // Not "1970" alone: a digest may contain it.
            let dates = ["1970-01-01", "1970-1-1", "1970/01/01", "01.01.1970", "19700101"]
            #expect(dates.allSatisfy { !text.contains($0) })
            let result = try bench.result(item)
            #expect(result.disclaimer == Disclaimer.skin)
            let page = try ClassificationReport(result: result, picture: RGBImage(width: 4, height: 4), overlay: nil)
                .page(writingTo: bench.folder("report.pdf").path)
            let written = page.texts.joined(separator: " ")
            #expect(written.contains(Disclaimer.skin))
            #expect(ReportText.diagnosticClaim(in: written) == nil)
            // What follows the title "please read first" at once.
            #expect(page.texts.count > 1 && Disclaimer.skin.hasPrefix(page.texts[1]))
        }
        #expect(try bench.result("high").risk?.level == .high)
        #expect(try bench.result("high").notes.contains { $0.contains("130") })
        #expect(try bench.result("low").notes.contains { $0.contains("no metadata") })
    }

    @Test("A name that is longer than a line is whole in several; of one that is longer still, the middle is left out")
    func longNames() throws {
        let folder = try TemporaryFolder()
        let page = try PDFPage(title: "page", writingTo: folder("page.pdf").path)
        let name = "0.970 actinic keratosis or intraepithelial carcinoma"
        // As under a picture of the contact sheet.
        let whole = page.lines(of: name, width: 124, size: 9.6, atMost: 3)
        #expect(whole.count > 1 && whole.joined(separator: " ") == name, "\(whole)")
        let cut = page.lines(of: name, width: 60, size: 9.6, atMost: 2)
        #expect(cut.count == 2 && cut[1].contains("…") && cut[1].hasSuffix("a"), "\(cut)")
    }

    @Test("A package whose own words claim a diagnosis is refused")
    func package() throws {
        try TemporaryFolder.with { place in
            let folder = place("package")
            try FileManager.default.copyItem(at: Fixtures.url("PhotoModels/primary"), to: folder)
            let file = folder.appendingPathComponent("model.json")
            let text = try String(contentsOf: file, encoding: .utf8)
            try text.replacing("\"blue picture\"", with: "\"safe mole\"").write(
                to: file,
                atomically: true,
                encoding: .utf8
            )
            let package = try ModelPackage.load(folder: folder.path)
            #expect(throws: UnusablePackageError.self) {
                try PhotoClassificationModel(
                    ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32)
                )
            }
        }
    }
}
