import NocturneSystem

/// What the whole batch has in common: kept in the journal, and compared when a run comes back.
public struct BatchDescription: Sendable, Codable, Equatable {
    public struct Model: Sendable, Codable, Equatable {
        public var id: String
        public var name: String
        public var version: String
        public var digest: String

        public init(id: String, name: String, version: String, digest: String) {
            self.id = id
            self.name = name
            self.version = version
            self.digest = digest
        }
    }

    /// Nocturne's own version.
    public var version: String
    public var models: [Model]
    /// Every option that can change a result, by its command-line name.
    public var options: [String: String]
    public var inputs: [String]
    public var include: [String]
    public var exclude: [String]
    /// Which inputs go to which model, as ``InputRoutes`` reads it; nil for all to all.
    public var only: [String]?
    /// The folders of the model packages, to find them again on `resume`.
    public var modelPaths: [String]

    public init(
        version: String,
        models: [Model],
        options: [String: String],
        inputs: [String],
        include: [String],
        exclude: [String],
        only: [String]? = nil,
        modelPaths: [String]
    ) {
        self.version = version
        self.models = models
        self.options = options
        self.inputs = inputs
        self.include = include
        self.exclude = exclude
        self.only = only
        self.modelPaths = modelPaths
    }

    /// Which inputs go to which model.
    public var routes: InputRoutes { InputRoutes(only: only ?? [], inputs: inputs) }

    /// What differs from an earlier run, in words; empty when it is the same batch.
    public func differences(from earlier: BatchDescription) -> [String] {
        var result: [String] = []
        for key in Set(options.keys).union(earlier.options.keys).sorted() where options[key] != earlier.options[key] {
            result.append("--\(key) was \(earlier.options[key] ?? "not given"), now \(options[key] ?? "not given")")
        }
        if models != earlier.models {
            let words: ([Model]) -> String = {
                $0.map { "\($0.id) \($0.version) (\($0.digest.prefix(8)))" }.joined(separator: ", ")
            }
            result.append("the model was \(words(earlier.models)), now \(words(models))")
        }
        if inputs != earlier.inputs {
            result.append(
                "the inputs were \(earlier.inputs.joined(separator: " ")), now \(inputs.joined(separator: " "))"
            )
        }
        if include != earlier.include { result.append("--include differs") }
        if exclude != earlier.exclude { result.append("--exclude differs") }
        if only != earlier.only {
            let words: ([String]?) -> String = { $0?.joined(separator: ", ") ?? "not given" }
            result.append("--only was \(words(earlier.only)), now \(words(only))")
        }
        return result
    }
}
