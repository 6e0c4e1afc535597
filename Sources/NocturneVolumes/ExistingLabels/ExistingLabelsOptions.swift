public import NocturneCore
public import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The options of a batch that takes segmentations and structure sets as items.
public struct ExistingLabelsOptions: Sendable, Hashable {
    public var meshes: MeshSelection
    /// Of mesh coordinates.
    public var frame: PatientFrame

    public init(meshes: MeshSelection = .stl, frame: PatientFrame = .lps) {
        self.meshes = meshes
        self.frame = frame
    }

    var surfaces: SegmentationOptions { SegmentationOptions(meshes: meshes, frame: frame) }
}

extension ExistingLabelsOptions: RecipeOptions {
    /// The option that asks for this recipe.
    private static let option = "existing-labels"

    package var shown: [String: String] {
        [Self.option: "yes", "meshes": meshes.rawValue, "frame": frame.rawValue]
    }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        guard try options.flag(Self.option) else { return nil }
        self.init(meshes: try options.value("meshes") ?? .stl, frame: try options.value("frame") ?? .lps)
    }
}
