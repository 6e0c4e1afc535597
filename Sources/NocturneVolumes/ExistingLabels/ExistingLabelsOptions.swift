public import NocturneCore
public import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The options of a batch that processes segmentations and structure sets.
public struct ExistingLabelsOptions: Sendable, Hashable {
    public var meshes: MeshSelection
    /// The frame of mesh coordinates.
    public var frame: PatientFrame

    public init(meshes: MeshSelection = .stl, frame: PatientFrame = .lps) {
        self.meshes = meshes
        self.frame = frame
    }

    var surfaces: SegmentationOptions { SegmentationOptions(meshes: meshes, frame: frame) }
}

extension ExistingLabelsOptions: RecipeOptions {
    /// The option that enables this recipe.
    private static let option = "existing-labels"

    package var shown: [String: String] {
        [Self.option: "yes", "meshes": meshes.rawValue, "frame": frame.rawValue]
    }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        guard try options.flag(Self.option) else { return nil }
        self.init(meshes: try options.value("meshes") ?? .stl, frame: try options.value("frame") ?? .lps)
    }
}
