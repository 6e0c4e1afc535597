import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// Counts the words of text files.
struct WordCount: Recipe {
    struct Model: Sendable {
        let package: ModelPackage
        let settings: WordCountSettings

        init(_ package: ModelPackage, _ settings: WordCountSettings) {
            self.package = package
            self.settings = settings
        }
    }

    struct Source: ItemSource {
        var model: String
        var path: String
        var identifiers: IdentifierPolicy?
        var namedFiles: [String] { [path] }
    }

    let models: [Model]
    let options: WordCountOptions

    func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims { Claims(recipe: self, request: request) }

    /// Claims text files.
    struct Claims: InputClaims {
        let recipe: WordCount
        let request: DiscoveryRequest

        func claim(_ file: FoundFile) -> FileClaim {
            file.path.hasSuffix(".txt")
                ? .member(family: nil) : .none(.discovered(FaultCode("text", "extension"), "not a text"))
        }

        func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
            for model in recipe.models {
                for file in families.flatMap(\.self) { try items.add(try item(file, model)) }
            }
        }

        private func item(_ file: FoundFile, _ model: Model) throws -> DiscoveredItem {
            let stamp = file.stamp
            let facts =
                [model.package.digest.hex, request.identifiers.rawValue, stamp.text]
                + recipe.options.fingerprintTexts()
            let source = Source(model: model.package.id, path: file.path, identifiers: request.identifiers)
            var item = DiscoveredItem(
                key: "text:" + file.path,
                name: ShownNames(request.identifiers).itemName(file.fileName, key: file.path),
                model: model.package.id,
                path: file.path,
                fingerprint: ContentDigest.of(facts.joined(separator: "\n")),
                inputs: [stamp.input]
            )
            item.source = try source.encoded
            return item
        }
    }

    func plan(_ source: Source, threads: Int, lean: Bool) throws -> ItemPlan {
        let size = InputStamp(source.path).size ?? 0
        return ItemPlan(buffers: [PlannedBuffer("text", bytes: size * 4, from: .load, through: .write)], steps: 1)
    }

    func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    // MARK: Stages

    /// There is nothing to infer and nothing to draw, so these stages are absent.
    func stages(_ start: StageBuilder<Source>) -> RecipeStages<Source> {
        start.load(load).finish(finish).write(write)
    }

    struct Text: Sendable {
        let source: Source
        var words: [String]
    }

    func load(_ source: Source, _ item: RecipeItem, _ context: StageContext) throws -> Text {
        let text = String(decoding: try FileSystem.read(source.path), as: UTF8.self)
        return Text(source: source, words: text.split { !$0.isLetter }.map(String.init))
    }

    func finish(_ loaded: consuming Text, _ item: RecipeItem, _ context: StageContext) throws -> Text {
        var text: Text = loaded
        let model = text.source.model
        let shortest = models.first { $0.package.id == model }?.settings.shortest ?? 1
        text.words = text.words.filter { $0.count >= shortest }
        if options.onlyDistinct { text.words = Array(Set(text.words)).sorted() }
        return text
    }

    func write(
        _ finished: consuming Text,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let text: Text = finished
        try FileSystem.write(folder + "/words.txt", Array((text.words.joined(separator: "\n") + "\n").utf8))
        return try WordCountResult(
            item: item.name,
            fingerprint: item.fingerprint,
            options: options.inResults,
            words: text.words.count,
            files: [try ItemFile("words.txt", in: folder)]
        ).write(into: folder, [])
    }
}

struct WordCountResult: InspectableResult {
    var schemaVersion = 1
    var task = WordCount.task
    let item: String
    let fingerprint: String
    let options: [String: String]
    let words: Int
    let files: [ItemFile]
    var notes: [String] = []
    var noteCodes: [Note.Code]?

    var statistics: [Statistic] { [Statistic(label: "text", measure: "words", value: Double(words), unit: "1")] }

    /// The file has as many lines as words were counted.
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        try inspection.inspect("words.txt") { inspection, path in
            let lines = try FileSystem.read(path).filter { $0 == 10 }.count
            if lines != max(words, 1) { inspection.add("words.txt", "has \(lines) words, result.json \(words)") }
        }
    }
}
