public import NocturneCore
import NocturneSystem

/// The options of a batch that takes segmentations and structure sets as items.
public struct ExistingLabelsOptions: Sendable, Hashable {
    public var meshes: SegmentationOptions.Meshes
    /// Of mesh coordinates.
    public var frame: PatientFrame

    /// The word that asks for this recipe among the options of a batch.
    public static let word = "existing-labels"

    public init(meshes: SegmentationOptions.Meshes = .stl, frame: PatientFrame = .lps) {
        self.meshes = meshes
        self.frame = frame
    }

    /// By their command-line names: for accounts and the comparison with an earlier run.
    public var words: [String: String] {
        [Self.word: "yes", "meshes": meshes.rawValue, "frame": frame.rawValue]
    }

    /// What ``words`` said; nil where nobody asked for this recipe. Other words are passed over.
    public init?(words: [String: String]) {
        guard words[Self.word] != nil else { return nil }
        self.init(
            meshes: words["meshes"].flatMap(SegmentationOptions.Meshes.init) ?? .stl,
            frame: words["frame"].flatMap(PatientFrame.init) ?? .lps
        )
    }

    var surfaces: SegmentationOptions { SegmentationOptions(meshes: meshes, frame: frame) }
}
