public import NocturneRecipeSupport

/// The options of a run that change the results of photos.
public struct PhotoClassificationOptions: Sendable, Hashable {
    /// A CSV file with metadata of the people; see ``MetadataTable``.
    public var metadataPath: String?
    /// Whether a photo fails whose metadata have a value that is not understood.
    public var requiresKnownMetadata: Bool
    /// Whether `report.pdf` is written.
    public var writesReports: Bool

    public init(metadataPath: String? = nil, requiresKnownMetadata: Bool = false, writesReports: Bool = true) {
        self.metadataPath = metadataPath
        self.requiresKnownMetadata = requiresKnownMetadata
        self.writesReports = writesReports
    }

    /// What a result may contain: no local path.
    var shownInResults: [String: String] { writesReports ? [:] : ["reports": "none"] }
}

extension PhotoClassificationOptions: RecipeOptions {
    package var shown: [String: String] {
        var shown = shownInResults
        if let metadataPath { shown["metadata"] = metadataPath }
        if requiresKnownMetadata { shown["strict-metadata"] = "yes" }
        return shown
    }

    public init() { self.init(metadataPath: nil) }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        let reports = options["reports"]
        guard reports == nil || reports == "none" else {
            throw OptionValueError(option: "reports", value: reports ?? "", allowed: "none")
        }
        self.init(metadataPath: options["metadata"], writesReports: reports == nil)
    }
}
