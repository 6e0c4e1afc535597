/// The options of a run that change what comes out.
public struct PhotoInstancesOptions: Sendable, Hashable {
    /// Whether a photo in which nothing is found becomes one item as a whole.
    public var usesSingleItemFallback: Bool

    public init(usesSingleItemFallback: Bool = false) {
        self.usesSingleItemFallback = usesSingleItemFallback
    }

    /// By their command-line names: for fingerprints, accounts and the comparison with an earlier run.
    public var words: [String: String] { usesSingleItemFallback ? ["single-item-fallback": "yes"] : [:] }

    /// What ``words`` said; other words are passed over.
    public init(words: [String: String]) {
        self.init(usesSingleItemFallback: words["single-item-fallback"] != nil)
    }
}
