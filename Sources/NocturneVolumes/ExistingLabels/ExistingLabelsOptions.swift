public import NocturneCore
public import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The options of a batch that processes segmentations and structure sets.
public struct ExistingLabelsOptions: Sendable, Hashable {
    public var meshes: MeshSelection
    /// The frame of mesh coordinates.
    public var frame: PatientFrame
    /// What the preview shows.
    public var preview: PreviewContent
    /// How pictures are drawn.
    public var pictures = PictureOptions()
    /// The folder with the images of label maps; nil to find them by their names.
    public var imageFolder: String?
    /// The JSON file that names the labels of label maps.
    public var namesFile: String?

    public init(meshes: MeshSelection = .stl, frame: PatientFrame = .lps, preview: PreviewContent = .full) {
        self.meshes = meshes
        self.frame = frame
        self.preview = preview
    }

    /// What a result and its fingerprint may contain: no local path.
    var shownInResults: [String: String] { shown.filter { !["label-images", "label-names"].contains($0.key) } }

    var surfaces: SegmentationOptions { SegmentationOptions(meshes: meshes, frame: frame, preview: preview) }
}

extension ExistingLabelsOptions: RecipeOptions {
    /// The option that enables this recipe.
    private static let option = "existing-labels"

    package var shown: [String: String] {
        var shown = [Self.option: "yes", "meshes": meshes.rawValue, "frame": frame.rawValue]
        if preview != .full { shown["preview"] = preview.rawValue }
        shown.merge(pictures.shown) { $1 }
        if let imageFolder { shown["label-images"] = imageFolder }
        if let namesFile { shown["label-names"] = namesFile }
        return shown
    }

    public init() { self.init(meshes: .stl) }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        guard try options.flag(Self.option) else { return nil }
        self.init(
            meshes: try options.value("meshes") ?? .stl,
            frame: try options.value("frame") ?? .lps,
            preview: try options.value("preview") ?? .full
        )
    }
}
