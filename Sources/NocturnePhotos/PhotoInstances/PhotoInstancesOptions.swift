public import NocturneRecipeSupport

/// The options of a run that change the results.
public struct PhotoInstancesOptions: Sendable, Hashable {
    /// Whether a photo without detected instances becomes one item as a whole.
    public var usesSingleItemFallback: Bool
    public var crops: CropFormat
    /// The longest side of the overlay, in pixels.
    public var overlaySide: Int
    /// Whether another tool is to give titles and authors before an instance is ready.
    public var awaitsTexts: Bool

    public static let defaultOverlaySide = 1600
    /// Of the overlay: large enough to see something, small enough to be planned for.
    public static let overlaySides = 64...8192

    public init(
        usesSingleItemFallback: Bool = false,
        crops: CropFormat = .standard,
        overlaySide: Int = defaultOverlaySide,
        awaitsTexts: Bool = false
    ) {
        self.usesSingleItemFallback = usesSingleItemFallback
        self.crops = crops
        self.overlaySide = overlaySide
        self.awaitsTexts = awaitsTexts
    }
}

extension PhotoInstancesOptions: RecipeOptions {
    private enum CodingKeys: String, CodingKey { case usesSingleItemFallback, crops, overlaySide, awaitsTexts }

    /// Batches that were started before crops had a format have PNG.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            usesSingleItemFallback: try values.decode(Bool.self, forKey: .usesSingleItemFallback),
            crops: try values.decodeIfPresent(CropFormat.self, forKey: .crops) ?? .png,
            overlaySide: try values.decodeIfPresent(Int.self, forKey: .overlaySide) ?? Self.defaultOverlaySide,
            awaitsTexts: try values.decodeIfPresent(Bool.self, forKey: .awaitsTexts) ?? false
        )
    }

    /// PNG is not shown: results of batches that were started before keep their fingerprints.
    package var shown: [String: String] {
        var shown: [String: String] = [:]
        if usesSingleItemFallback { shown["single-item-fallback"] = "yes" }
        if crops != .png { shown["crops"] = crops.text }
        if overlaySide != Self.defaultOverlaySide { shown["overlay-size"] = "\(overlaySide)" }
        if awaitsTexts { shown["enrich"] = "yes" }
        return shown
    }

    public init() { self.init(usesSingleItemFallback: false) }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        self.init(usesSingleItemFallback: try options.flag("single-item-fallback"), crops: .png)
    }
}
