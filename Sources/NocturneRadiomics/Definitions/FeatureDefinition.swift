/// A feature of the reference manual without its value.
public struct FeatureDescription: Hashable, Sendable {
    /// As in the standard's tables of reference values, without the aggregation.
    public let name: String
    /// The four letters and digits by which the manual identifies the feature.
    public let code: String
    /// The manual's heading.
    public let title: String
}

/// A feature, and how its value is taken from what a family measures.
struct FeatureDefinition<Measures>: Sendable {
    let description: FeatureDescription
    let value: @Sendable (Measures) -> Double

    init(_ name: String, _ code: String, _ title: String, _ value: @escaping @Sendable (Measures) -> Double) {
        description = FeatureDescription(name: name, code: code, title: title)
        self.value = value
    }
}
