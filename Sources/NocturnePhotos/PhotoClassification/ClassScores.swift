import Foundation
import NocturnePostprocess
package import NocturneSystem

/// Probabilities of the classes from a network's output.
package struct ClassScores: Hashable, Sendable {
    /// In the order of classes, rounded to six decimal places: decisions use the written values.
    package let probabilities: [Double]
    /// Indices of the classes, the highest score first; equal ones in the order of classes.
    package let ranking: [Int]
    /// Whether no class reaches the package's threshold, or the best class does not lead by the required margin.
    package let isUncertain: Bool
    /// Remarks for the result, such as on scores that do not add up to 1.
    package let notes: [Note]

    /// A larger sum is neither a rounding error of 1 nor a missing division in the network.
    private static let largestSum = 1e6

    /// - Parameter values: the classifier's output, one value per class.
    /// - Throws: ``NetworkOutputError`` for values that are not finite, or not probabilities where those are expected.
    package init(values: [Float], settings: PhotoClassificationModel.Settings) throws {
        guard values.count == settings.classes.count else {
            let classes = settings.classes.count
            throw NetworkOutputError(detail: "the model returned \(values.count) values for \(classes) classes")
        }
        guard values.allSatisfy(\.isFinite) else {
            let names = zip(settings.classes, values).filter { !$0.1.isFinite }.map(\.0.name).joined(separator: ", ")
            throw NetworkOutputError(detail: "the model returned NaN or infinite values for \(names)")
        }
        var notes: [Note] = []
        let exact: [Double]
        switch settings.output {
        case .logits: exact = ClassScores.softmax(values)
        case .probabilities:
            guard values.allSatisfy({ $0 >= 0 }), values.contains(where: { $0 > 0 }) else {
                throw NetworkOutputError(
                    detail: "the model returned values that are not probabilities: negative, or all 0"
                )
            }
            let sum = values.reduce(0) { $0 + Double($1) }
            guard sum <= ClassScores.largestSum else {
                throw NetworkOutputError(
                    detail: "the model returned values that are not probabilities: they add up to \(sum)"
                )
            }
            if abs(sum - 1) > 1e-3 { notes.append(ReportText.renormalised(ClassScores.text(sum))) }
            exact = values.map { Double($0) / sum }
        }
        let rounded = exact.map(\.inMillionths)
        let ranking = rounded.indices.sorted { (rounded[$0], $1) > (rounded[$1], $0) }
        let (first, second) = (ranking[0], ranking[1])
        var isUncertain = false
        if rounded[first] < settings.lowConfidence {
            isUncertain = true
            notes.append(ReportText.lowConfidence(ClassScores.text(settings.lowConfidence)))
        } else if rounded[first] == rounded[second] || rounded[first] - rounded[second] < settings.minimumLead {
            isUncertain = true
            notes.append(ReportText.noLead(settings.classes[first].title, settings.classes[second].title))
        }
        probabilities = rounded
        self.ranking = ranking
        self.isUncertain = isUncertain
        self.notes = notes
    }

    /// exp(x − max) over its sum, in double precision.
    static func softmax(_ logits: [Float]) -> [Double] {
        let largest = Double(logits.max() ?? 0)
        let powers = logits.map { exp(Double($0) - largest) }
        let sum = powers.reduce(0, +)
        return powers.map { $0 / sum }
    }

    /// With three decimal places.
    static func text(_ value: Double) -> String {
        let thousandths = Int((value * 1000).rounded())
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
