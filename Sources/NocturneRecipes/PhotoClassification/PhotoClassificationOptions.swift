/// The options of a run that change what comes out for photos.
public struct PhotoClassificationOptions: Sendable, Hashable {
    /// A CSV file with what is known of the people; see ``MetadataTable``.
    public var metadataPath: String?
    /// Whether `report.pdf` is written.
    public var writesReports: Bool

    public init(metadataPath: String? = nil, writesReports: Bool = true) {
        self.metadataPath = metadataPath
        self.writesReports = writesReports
    }

    /// By their command-line names: for accounts and the comparison with an earlier run.
    public var words: [String: String] {
        var words = resultWords
        if let metadataPath { words["metadata"] = metadataPath }
        return words
    }

    /// What ``words`` said.
    public init(words: [String: String]) {
        self.init(metadataPath: words["metadata"], writesReports: words["reports"] != "none")
    }

    /// What a result may say: no path of the machine.
    var resultWords: [String: String] { writesReports ? [:] : ["reports": "none"] }
}
