import ArgumentParser
import Foundation
import NocturneBatch
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneReport
import NocturneSystem

/// Counting the words of text files, as a registry lists it: what a newcomer writes to add a kind of model.
extension WordCount: RecipeKind {
    static let task = "word-count"
    static let purpose = "count words"
    static let settings: (any ModelSettings.Type)? = WordCountSettings.self

    static var result: any InspectableResult.Type { WordCountResult.self }
    static let resultSchema = JSONSchema(
        own: Array(
            """
            {"type": "object", "additionalProperties": false,
             "required": ["schemaVersion", "task", "item", "fingerprint", "options", "words", "files", "notes"],
             "properties": {"schemaVersion": {"const": 1}, "task": {"const": "word-count"}, "item": {"type": "string"},
               "fingerprint": {"type": "string"}, "options": {"type": "object"},
               "words": {"type": "integer", "minimum": 0}, "files": {"type": "array"}, "notes": {"type": "array"}}}
            """.utf8
        )
    )

    static func make(_ models: [ChosenModel], options: WordCountOptions) throws -> any Recipe {
        WordCount(
            models: try load(models) { Model($0.package, try WordCountSettings($0.package)) },
            options: options
        )
    }

    static func details(of package: ModelPackage) throws -> [String] {
        ["Shortest word: \(try WordCountSettings(package).shortest) letters"]
    }

    static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(WordCountResult.self, from: Data(result))
        return ReviewParts(.instances, files: result.files, titles: [:])
    }
}

/// The section `wordCount`.
struct WordCountSettings: ModelSettings {
    /// Letters that a word needs to be counted.
    let shortest: Int
    let networks: [String] = []

    init(_ package: ModelPackage) throws(ModelPackageError) {
        shortest = try package.section("wordCount") { section throws(JSONFields.Fault) in
            try section.only(["shortest"])
            return try section.whole("shortest", in: 1...20)
        }
    }
}

struct WordCountOptions: OptionSection, RecipeOptions {
    static let title = "Counting of words"

    var onlyDistinct = false

    static let options: [Entry] = [
        Entry("distinct-words", \.onlyDistinct, "Count every word once.")
    ]
}
