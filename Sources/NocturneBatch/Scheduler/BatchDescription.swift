public import NocturneJournal
import NocturneSystem

extension JournalSetting<BatchDescription> {
    /// What the batch was started with.
    public static var batchDescription: Self { Self(json: "description") }
}

/// What the whole batch has in common: kept in the journal, and compared when a later run continues it.
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
    /// Every option that can change a result, by its command-line name: what `batch.json` shows and runs are compared by.
    public var options: [String: String]
    /// What results may contain of the names of inputs.
    public var identifiers: IdentifierPolicy
    /// The options as typed values; nil in a batch begun by 0.1.0, which kept the texts of ``options`` alone.
    public var values: OptionValues?
    public var inputs: [String]
    public var include: [String]
    public var exclude: [String]
    /// Which inputs go to which model, as ``InputRoutes`` reads it; nil for all to all.
    public var only: [String]?
    /// The instruction set that the builtin engine uses on every machine of a divided batch; nil for the best one.
    public var instructionSet: String?
    /// The folders of the model packages, to find them again on `resume`.
    public var modelPaths: [String]

    public init(
        version: String,
        models: [Model],
        options: [String: String],
        identifiers: IdentifierPolicy = .hash,
        values: OptionValues? = nil,
        inputs: [String],
        include: [String],
        exclude: [String],
        only: [String]? = nil,
        modelPaths: [String]
    ) {
        self.version = version
        self.models = models
        self.options = options
        self.identifiers = identifiers
        self.values = values
        self.inputs = inputs
        self.include = include
        self.exclude = exclude
        self.only = only
        self.modelPaths = modelPaths
    }

    private enum CodingKeys: String, CodingKey {
        case version, models, options, identifiers, values, inputs, include, exclude, only, modelPaths, instructionSet
    }

    /// Reads descriptions of 0.1.0 too.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let options = try container.decode([String: String].self, forKey: .options)
        self.init(
            version: try container.decode(String.self, forKey: .version),
            models: try container.decode([Model].self, forKey: .models),
            options: options,
            identifiers: try container.decodeIfPresent(IdentifierPolicy.self, forKey: .identifiers)
                ?? IdentifierPolicy(version1: options),
            values: try container.decodeIfPresent(OptionValues.self, forKey: .values),
            inputs: try container.decode([String].self, forKey: .inputs),
            include: try container.decode([String].self, forKey: .include),
            exclude: try container.decode([String].self, forKey: .exclude),
            only: try container.decodeIfPresent([String].self, forKey: .only),
            modelPaths: try container.decode([String].self, forKey: .modelPaths)
        )
        instructionSet = try container.decodeIfPresent(String.self, forKey: .instructionSet)
    }

    /// Which inputs go to which model.
    public var routes: InputRoutes { InputRoutes(only: only ?? [], inputs: inputs) }

    /// What differs from an earlier run, for the user; empty when it is the same batch.
    public func differences(from earlier: BatchDescription) -> [String] {
        var result: [String] = []
        for key in Set(options.keys).union(earlier.options.keys).sorted() where options[key] != earlier.options[key] {
            result.append("--\(key) was \(earlier.options[key] ?? "not given"), now \(options[key] ?? "not given")")
        }
        if models != earlier.models {
            let text: ([Model]) -> String = {
                $0.map { "\($0.id) \($0.version) (\($0.digest.prefix(8)))" }.joined(separator: ", ")
            }
            result.append("the model was \(text(earlier.models)), now \(text(models))")
        }
        if inputs != earlier.inputs {
            result.append(
                "the inputs were \(earlier.inputs.joined(separator: " ")), now \(inputs.joined(separator: " "))"
            )
        }
        if include != earlier.include { result.append("--include differs") }
        if exclude != earlier.exclude { result.append("--exclude differs") }
        if only != earlier.only {
            let text: ([String]?) -> String = { $0?.joined(separator: ", ") ?? "not given" }
            result.append("--only was \(text(earlier.only)), now \(text(only))")
        }
        return result
    }
}
