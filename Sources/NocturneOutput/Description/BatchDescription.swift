public import NocturneJournal
import NocturneSystem

extension JournalSetting<BatchDescription> {
    /// What the batch was started with.
    public static var batchDescription: Self { Self(json: "description") }
}

extension BatchError {
    /// For a folder whose first run ended before it had recorded anything.
    public init(notDescribed output: OutputFolder) {
        let detail =
            "the journal does not describe the batch, since its first run ended too early. Repeat the `nocturne run` command"
        self.init(.notABatch, path: output.path, detail: detail)
    }
}

/// What the whole batch has in common: kept in the journal, and compared when a later run continues it.
public struct BatchDescription: Sendable, Codable, Equatable {
    /// A model package as results depend on it.
    public struct Model: Sendable, Codable, Equatable {
        /// Unique among the models of a batch: events, results and `--only` name the model by it.
        public var id: String
        /// As the package states it, for people.
        public var name: String
        /// As the package states it. A changed ``digest`` makes results again even if the version stays.
        public var version: String
        /// SHA-256 of `model.json`, which has the digests of all other files, in hexadecimal: another digest makes results again.
        public var digest: String
        /// True for a package whose results on real images mean nothing; else nil.
        public var demonstration: Bool?

        /// - Parameters:
        ///   - id: unique among the models of the batch.
        ///   - name: as the package states it.
        ///   - version: as the package states it.
        ///   - digest: SHA-256 of `model.json`, in hexadecimal.
        ///   - isDemonstration: whether results on real images mean nothing.
        public init(id: String, name: String, version: String, digest: String, isDemonstration: Bool = false) {
            self.id = id
            self.name = name
            self.version = version
            self.digest = digest
            demonstration = isDemonstration ? true : nil
        }

        /// Whether it is the same package under another id: the version is part of the id while the batch has two of them.
        func isRenamed(_ other: Model) -> Bool {
            digest == other.digest && id.prefix { $0 != "@" } == other.id.prefix { $0 != "@" }
        }
    }

    /// Nocturne's own version.
    public var version: String
    /// Those of all recipes; empty for a batch without a model.
    public var models: [Model]
    /// Every option that can change a result, as a text by its command-line name: what recipes read their options from, `batch.json`
    /// shows, and runs are compared by.
    public var options: [String: String]
    /// What results may contain of the names of inputs.
    public var identifiers = IdentifierPolicy.hash
    /// The tasks of the recipes in use.
    public var recipes: [String] = []
    /// Files and folders as absolute paths.
    public var inputs: [String]
    /// Patterns of the option `--include`; empty for all files.
    public var include: [String] = []
    /// Patterns of the option `--exclude`.
    public var exclude: [String] = []
    /// Which inputs go to which model, as ``InputRoutes`` reads it; nil for all to all.
    public var only: [String]?
    /// The instruction set that the builtin engine uses on every machine of a divided batch; nil for the best one.
    public var instructionSet: String?
    /// The folders of the model packages, to find them again on `resume`.
    public var modelPaths: [String]

    /// - Parameters:
    ///   - version: Nocturne's own.
    ///   - models: those of all recipes.
    ///   - options: every option that can change a result, by its command-line name.
    ///   - inputs: absolute paths.
    ///   - modelPaths: the folders of the packages.
    public init(
        version: String,
        models: [Model],
        options: [String: String],
        inputs: [String],
        modelPaths: [String]
    ) {
        self.version = version
        self.models = models
        self.options = options
        self.inputs = inputs
        self.modelPaths = modelPaths
    }

    /// Which inputs go to which model.
    public var routes: InputRoutes { InputRoutes(only: only ?? [], inputs: inputs) }

    /// How items are named: the option `--name`; nil for the names of their files and folders.
    public var namePattern: NamePattern? { options[NamePattern.option].flatMap(NamePattern.init) }

    /// How it differs from that of an earlier run in the same folder.
    public func changes(from earlier: BatchDescription) -> Changes {
        Changes(from: earlier, to: self)
    }
}

extension BatchDescription {
    /// How a run continues a batch with other inputs, models or options, in words for the user.
    public struct Changes: Sendable, Equatable, Codable {
        /// What is new: it affects no result that the batch has.
        public private(set) var additions: [String] = []
        /// What makes results again, or takes them out of the batch.
        public private(set) var differences: [String] = []

        /// Additions and differences.
        public var all: [String] { additions + differences }
        /// Whether it is the same batch.
        public var isEmpty: Bool { all.isEmpty }

        init(from earlier: BatchDescription, to now: BatchDescription) {
            let given: (String?) -> String = { $0 ?? "not given" }
            for key in Set(now.options.keys).union(earlier.options.keys).sorted() {
                let (before, after) = (earlier.options[key], now.options[key])
                // A file is recorded by its digest, and with this suffix by its path, which a user knows.
                let paths = (earlier.options[key + "-path"], now.options[key + "-path"])
                if let path = paths.0, path == paths.1 {
                    if before != after { differences.append("the file of --\(key), \(path), has changed") }
                } else if paths != (nil, nil) {
                    differences.append("--\(key) was \(given(paths.0)), now \(given(paths.1))")
                } else if before != after, !Self.isPath(key, of: [earlier, now]) {
                    differences.append("--\(key) was \(given(before)), now \(given(after))")
                }
            }
            compare(earlier.models, now.models)
            compare(Set(earlier.inputs), Set(now.inputs))
            if now.include != earlier.include { differences.append("--include differs") }
            if now.exclude != earlier.exclude { differences.append("--exclude differs") }
            if now.only != earlier.only {
                let text: ([String]?) -> String = { given($0?.joined(separator: ", ")) }
                differences.append("--only was \(text(earlier.only)), now \(text(now.only))")
            }
        }

        /// Whether a key has the path of a file whose option has another key.
        private static func isPath(_ key: String, of descriptions: [BatchDescription]) -> Bool {
            key.hasSuffix("-path") && descriptions.contains { $0.options[String(key.dropLast(5))] != nil }
        }

        private mutating func compare(_ earlier: [BatchDescription.Model], _ now: [BatchDescription.Model]) {
            for model in now where !earlier.contains(model) {
                if let before = earlier.first(where: { $0.id == model.id }) {
                    let text: (BatchDescription.Model) -> String = { "\($0.version) (\($0.digest.prefix(8)))" }
                    differences.append("the model \(model.id) was \(text(before)), now \(text(model))")
                } else if !earlier.contains(where: model.isRenamed) {
                    additions.append("new model: \(model.id)")
                }
            }
            let gone = earlier.filter { old in !now.contains { $0.id == old.id || old.isRenamed($0) } }.map(\.id)
            if !gone.isEmpty {
                let (noun, verb) = gone.count == 1 ? ("model", "is") : ("models", "are")
                differences.append(
                    "the batch's \(noun) \(gone.joined(separator: ", ")) \(verb) not given (to add models, give all)"
                )
            }
        }

        private mutating func compare(_ earlier: Set<String>, _ now: Set<String>) {
            // Without their names, which may be those of patients: additions are noted in the log.
            let count = now.subtracting(earlier).count
            if count > 0 { additions.append(counted(count, "new input")) }
            let gone = earlier.subtracting(now)
            if let text = Self.text(gone) {
                let verb = gone.count == 1 ? "is" : "are"
                differences.append("of the batch's inputs, \(text) \(verb) not given (to add inputs, give all)")
            }
        }

        /// The number of inputs, with the first names; nil for none.
        private static func text(_ inputs: Set<String>) -> String? {
            guard !inputs.isEmpty else { return nil }
            return "\(inputs.count) (\(listed(inputs.sorted(), most: 3)))"
        }
    }
}
