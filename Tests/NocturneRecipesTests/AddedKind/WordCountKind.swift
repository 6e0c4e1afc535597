import ArgumentParser
import Foundation
import NocturneBatch
import NocturneInference
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem

/// Counting the words of text files, as a registry lists it: what a newcomer writes to add a kind of model.
enum WordCountKind: RecipeKind {
    static let task = "word-count"
    static let purpose = "count words"
    static let settings: (any ModelSettings.Type)? = WordCountSettings.self
    static let arguments: [any RecipeArguments.Type] = [WordCountArguments.self]

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

    static func options(from arguments: ParsedRecipeArguments, hasModels: Bool) throws -> WordCountOptions? {
        hasModels ? WordCountOptions(onlyDistinct: arguments[WordCountArguments.self].distinctWords) : nil
    }

    static func make(_ models: [ChosenModel], options: WordCountOptions) throws -> any Recipe {
        WordCount(
            models: try load(models) { WordCount.Model($0.package, try WordCountSettings($0.package)) },
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

    static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try WordCountResult.findings(of: item, document, schema: resultSchema, flag: flag)
    }
}

/// The section `wordCount`.
struct WordCountSettings: ModelSettings {
    private struct Section: Decodable { let shortest: WholeNumber }

    /// Letters that a word needs to be counted.
    let shortest: Int
    let networks: [String] = []

    init(_ package: ModelPackage) throws(ModelPackageError) {
        shortest = try package.section("wordCount", as: Section.self).shortest.value
        guard (1...20).contains(shortest) else {
            throw package.validation.refuse("wordCount.shortest", expected: "1...20", found: shortest)
        }
    }
}

struct WordCountOptions: RecipeOptions {
    var onlyDistinct = false

    var shown: [String: String] { onlyDistinct ? ["distinct-words": "yes"] : [:] }

    init() {}

    init(onlyDistinct: Bool) { self.onlyDistinct = onlyDistinct }

    init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        self.init(onlyDistinct: try options.flag("distinct-words"))
    }
}

struct WordCountArguments: RecipeArguments {
    static let title = "Counting of words"

    @Flag(help: "Count every word once.")
    var distinctWords = false

    var given: [String] { distinctWords ? ["--distinct-words"] : [] }
}
