public import NocturneRecipeSupport

/// The options of a run that change the results.
public struct PhotoInstancesOptions: Sendable, Hashable {
    /// Whether a photo without detected instances becomes one item as a whole.
    public var usesSingleItemFallback: Bool

    public init(usesSingleItemFallback: Bool = false) {
        self.usesSingleItemFallback = usesSingleItemFallback
    }
}

extension PhotoInstancesOptions: RecipeOptions {
    package var shown: [String: String] { usesSingleItemFallback ? ["single-item-fallback": "yes"] : [:] }

    public init() { self.init(usesSingleItemFallback: false) }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        self.init(usesSingleItemFallback: try options.flag("single-item-fallback"))
    }
}
