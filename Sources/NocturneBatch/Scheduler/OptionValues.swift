package import NocturneSystem

/// The options of a batch as their owners encode them: kept in the journal's description, decoded once by the recipes.
public struct OptionValues: Sendable, Equatable {
    /// The version of this form. 0.1.0 kept texts by command-line names instead, which count as version 1.
    public static let version = 2

    /// What runs the networks.
    package var inference: JSONValue
    /// The options of each recipe in use, by its task.
    package var recipes: [String: JSONValue]

    package init(inference: JSONValue, recipes: [String: JSONValue]) {
        self.inference = inference
        self.recipes = recipes
    }
}

extension OptionValues: Codable {
    private enum CodingKeys: String, CodingKey { case version, inference, recipes }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version,
                in: container,
                debugDescription: "options of version \(version); this program reads version \(Self.version)"
            )
        }
        inference = try container.decode(JSONValue.self, forKey: .inference)
        recipes = try container.decode([String: JSONValue].self, forKey: .recipes)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(inference, forKey: .inference)
        try container.encode(recipes, forKey: .recipes)
    }
}
