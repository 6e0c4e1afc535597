import Foundation
import NocturneCore
import NocturneInference
import NocturnePhotos
import NocturnePostprocess
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Scores and risk")
struct ClassScoresTests {
    /// Classes a (high risk), b (malignant) and c, d, … that are harmless.
    static func settings(
        _ output: PhotoClassificationModel.Settings.Output = .logits,
        classes count: Int = 3
    ) throws -> PhotoClassificationModel.Settings {
        let classes = (0..<count).map { index in
            PhotoClassificationModel.Settings.Class(
                name: ["a", "b", "c", "d", "e", "f", "g"][index],
                title: "kind \(index)",
                isMalignant: index < 2,
                color: LabelColor(red: 0, green: 0, blue: 0)
            )
        }
        let package = try ModelPackage.load(folder: Fixtures.url("PhotoModels/primary").path)
        var settings = try PhotoClassificationModel.Settings(package)
        settings.output = output
        settings.classes = classes
        settings.risk = PhotoClassificationModel.Settings.Risk(
            highClasses: ["a"],
            highThreshold: 0.3,
            moderateThreshold: 0.1
        )
        (settings.lowConfidence, settings.minimumLead) = (0.2, 0.05)
        return settings
    }

    @Test("Softmax is that of the definition, for huge logits too")
    func softmax() throws {
        let scores = try ClassScores(values: [1, 2, 3], settings: Self.settings())
        #expect(scores.probabilities == [0.090031, 0.244728, 0.665241])
        #expect(scores.ranking == [2, 1, 0] && !scores.isUncertain && scores.notes.isEmpty)
        let huge = try ClassScores(values: [3e38, -3e38, 0], settings: Self.settings())
        #expect(huge.probabilities == [1, 0, 0])
        for count in 3...7 {
            let values = (0..<count).map { Float($0 * $0) / 3 }
            let sum = try ClassScores(values: values, settings: Self.settings(classes: count)).probabilities.reduce(
                0,
                +
            )
            #expect(abs(sum - 1) < 1e-3)
        }
    }

    @Test("Values that are not numbers are refused", arguments: [Float.nan, .infinity, -.infinity])
    func notNumbers(_ value: Float) {
        #expect(throws: NetworkOutputError.self) { try ClassScores(values: [0, value, 1], settings: Self.settings()) }
        #expect(throws: NetworkOutputError.self) {
            try ClassScores(values: [0, value, 1], settings: Self.settings(.probabilities))
        }
    }

    @Test("Probabilities are taken as they are, and divided by their sum with a note where it is not 1")
    func probabilities() throws {
        let good = try ClassScores(values: [0.5, 0.3, 0.2], settings: Self.settings(.probabilities))
        #expect(good.probabilities == [0.5, 0.3, 0.2] && good.notes.isEmpty)
        let off = try ClassScores(values: [1, 0.5, 0.5], settings: Self.settings(.probabilities))
        #expect(off.probabilities == [0.5, 0.25, 0.25])
        #expect(off.notes.texts == ["the model's probabilities added up to 2.000 and were divided by it"])
        for bad: [Float] in [[0, 0, 0], [-0.1, 0.6, 0.5]] {
            #expect(throws: NetworkOutputError.self) {
                try ClassScores(values: bad, settings: Self.settings(.probabilities))
            }
        }
        let huge = #expect(throws: NetworkOutputError.self) {
            try ClassScores(values: [3e38, 1, 0], settings: Self.settings(.probabilities))
        }
        #expect(huge?.detail.contains("they add up to") == true)
        #expect(throws: NetworkOutputError.self) { try ClassScores(values: [1, 2], settings: Self.settings()) }
    }

    @Test("It is noted when no class is likely, or none leads")
    func confidence() throws {
        let flat = try ClassScores(values: [Float](repeating: 1, count: 7), settings: Self.settings(classes: 7))
        #expect(flat.isUncertain && flat.notes.texts == ["low confidence: no class reaches a score of 0.200"])
        let tied = try ClassScores(values: [0.4, 0.2, 0.4], settings: Self.settings(.probabilities))
        #expect(tied.isUncertain && tied.ranking == [0, 2, 1])
        #expect(tied.notes.texts == ["low confidence: kind 0 and kind 2 have nearly the same score"])
        let close = try ClassScores(values: [0.46, 0.12, 0.42], settings: Self.settings(.probabilities))
        #expect(close.isUncertain)
        #expect(try !ClassScores(values: [0.5, 0.1, 0.4], settings: Self.settings(.probabilities)).isUncertain)
    }

    @Test(
        "A threshold belongs to the level it begins, and the highest level wins",
        arguments: [
            ([0.30, 0.0, 0.70], PhotoClassificationResult.Risk.Level.high), ([0.299999, 0.0, 0.700001], .moderate),
            ([0.10, 0.0, 0.90], .moderate), ([0.099999, 0.0, 0.9], .low), ([0.0, 0.10, 0.90], .moderate),
            ([0.0, 0.95, 0.05], .moderate), ([0.3, 0.7, 0.0], .high), ([0.0, 0.0, 1.0], .low),
        ]
    )
    func risk(_ probabilities: [Double], _ level: PhotoClassificationResult.Risk.Level) throws {
        let settings = try Self.settings()
        let risk = try #require(settings.risk)
        let found = PhotoClassificationResult.Risk(probabilities, classes: settings.classes, settings: risk)
        #expect(found.level == level)
        #expect(found.reasons.isEmpty == (level == .low))
        for reason in found.reasons {
            let index = try #require(settings.classes.firstIndex { $0.name == reason.name })
            #expect(reason.probability == probabilities[index] && reason.probability >= reason.threshold)
        }
    }
}
