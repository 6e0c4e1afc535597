import NocturneSystem

/// All phrases in the results of a classified photo. None states a diagnosis: a picture "suggests" or is "consistent
/// with" something, and a score is a score.
package enum ReportText {
    // MARK: The outcome

    /// - Parameter isMedical: whether it ends with the sentences for results about people.
    static func summary(title: String, probability: String, isUncertain: Bool, isMedical: Bool) -> String {
        let fact =
            isUncertain
            ? "The scores point to no class clearly; the highest, \(probability), goes to \(title)."
            : "The picture is consistent with \(title), which has the highest score: \(probability)."
        return fact + (isMedical ? " Not a diagnosis: please consult a dermatologist." : "")
    }

    /// - Parameter isUrgent: whether the class that decides has a score above ``PhotoClassificationResult/Risk/urgentScore``.
    static func risk(_ level: PhotoClassificationResult.Risk.Level, isUrgent: Bool) -> String {
        switch level {
        case .high where isUrgent:
            "High: the score of a class that needs prompt attention is above "
                + "\(ClassScores.text(PhotoClassificationResult.Risk.urgentScore)). Please have a dermatologist look at it without delay."
        case .high:
            "High: the scores suggest a class that needs prompt attention. Please have a dermatologist look at it soon."
        case .moderate:
            "Moderate: the scores do not rule out a malignant class. Please have a dermatologist look at it."
        case .low:
            "Low: the scores suggest no malignant class. A low score rules nothing out; changes in skin belong before a "
                + "dermatologist."
        }
    }

    static func riskTitle(_ level: PhotoClassificationResult.Risk.Level) -> String {
        switch level {
        case .high: "HIGH RISK SCORE"
        case .moderate: "MODERATE RISK SCORE"
        case .low: "LOW RISK SCORE"
        }
    }

    static func reason(title: String, probability: String, threshold: String) -> String {
        "\(title): score \(probability), threshold \(threshold)"
    }

    // MARK: Notes

    static func lowConfidence(_ threshold: String) -> Note {
        Note("classification.lowConfidence", "low confidence: no class reaches a score of \(own: threshold)")
    }

    static func noLead(_ first: String, _ second: String) -> Note {
        Note(
            "classification.noLead",
            "low confidence: \(own: first) and \(own: second) have nearly the same score"
        )
    }

    static func renormalised(_ sum: String) -> Note {
        Note(
            "classification.renormalised",
            "the model's probabilities added up to \(own: sum) and were divided by it"
        )
    }

    static let flat = Note(
        "classification.flat",
        "the picture has hardly any contrast; its colours were not corrected"
    )
    static let nearBlack = Note(
        "classification.nearBlack",
        "the picture is nearly black; its colours were not corrected"
    )
    static let noMetadata = Note(
        "classification.noMetadata",
        "no metadata was given for this picture; age, sex and site are treated as unknown"
    )

    /// - Parameter fields: at least one of age, sex and site.
    static func unknown(_ fields: [String]) -> Note {
        Note("classification.unknownMetadata", "unknown for this picture: \(own: fields.joined(separator: ", "))")
    }

    static func clampedAge(_ age: String) -> Note {
        Note(
            "classification.ageClamped",
            "an age of \(own: age) was given to the model as 100, the highest that it takes"
        )
    }

    static let uniformAttention = Note(
        "classification.uniformAttention",
        "low activation: the attention map is uniform and highlights no place"
    )

    static func attentionFailed(_ reason: String) -> Note {
        Note("classification.noAttention", "there is no attention map: \(reason)")
    }

    // MARK: The report and the contact sheet

    static let reportTitle = "Photo classification report"
    static let contactSheetTitle = "Contact sheet"
    /// - Parameter isCorrected: whether the model got other colours than the picture has.
    static func pictureCaption(isCorrected: Bool) -> String {
        isCorrected ? "Picture given to the model, before colour correction" : "Picture given to the model"
    }
    static func attentionCaption(_ title: String) -> String { "Where the score for \(title) comes from" }
    static func pictureAlternative(_ item: String) -> String { "Photo \(item)" }
    static func attentionAlternative(_ title: String) -> String {
        "Attention map: the photo, coloured by how much each place adds to the score for \(title)"
    }
    static let noAttention = "No attention map"
    static let attentionLow = "low"
    static let attentionHigh = "high"
    static let scores = "Scores of all classes"
    static func more(_ count: Int) -> String { "and \(count) more classes, each with a lower score" }
    static let malignantMark = "malignant"
    static let facts = "Metadata given to the model"
    static let unknown = "unknown"
    static func age(_ age: String) -> String { "Age: \(age)" }
    static func sex(_ sex: String) -> String { "Sex: \(sex)" }
    static func site(_ site: String) -> String { "Site: \(site)" }
    static let noFacts = "None, only the picture"
    static let notes = "Notes and warnings"
    static let noNotes = "None"
    static let disclaimerTitle = "Please read first"

    static func picture(_ item: String, _ width: Int, _ height: Int) -> String {
        "Picture: \(item), \(width) × \(height) pixels"
    }

    static func model(_ name: String, _ version: String) -> String { "Model: \(modelName(name, version))" }

    static func modelName(_ name: String, _ version: String) -> String { "\(name), version \(version)" }

    static func preparation(_ side: Int, isWhole: Bool, _ colors: String) -> String {
        "Preparation: upright, \(isWhole ? "stretched" : "central square"), \(side) × \(side) pixels, \(colors)"
    }

    static let colorsCorrected = "colours corrected (Shades of Gray)"
    static let colorsKept = "colours unchanged"

    static func engine(_ name: String, _ precision: String, _ digest: String) -> String {
        "Engine: \(name), \(precision). Package \(digest)"
    }

    /// - Parameter byRisk: whether the pictures have levels of risk.
    static func counts(_ total: Int, byRisk: Bool) -> String {
        let order = byRisk ? "the highest risk scores first" : "in the order of the leading class's score"
        return counted(total, "picture") + (total == 1 ? "" : ", " + order)
    }

    static func page(_ number: Int, _ count: Int) -> String { "Page \(number) of \(count)" }

    /// From which score on a class has its level.
    static func threshold(_ level: String, _ threshold: Double) -> String {
        "\(level) from \(ClassScores.text(threshold))"
    }

    /// The same where it is not the leading class that decides the level.
    static func reason(_ title: String, _ score: Double, from threshold: Double) -> String {
        "\(title) \(ClassScores.text(score)), from \(ClassScores.text(threshold))"
    }

    static func riskCount(_ level: PhotoClassificationResult.Risk.Level, _ count: Int) -> String {
        "\(count) \(level.rawValue)"
    }
    static let riskCounts = "Risk scores:"
    static func models(_ names: String) -> String { "Models: \(names)" }
}
