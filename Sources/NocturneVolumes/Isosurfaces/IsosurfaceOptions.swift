public import NocturneCore
public import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The options of a batch that makes isosurfaces.
public struct IsosurfaceOptions: Sendable, Hashable {
    /// In HU for CT, in the stored unit otherwise. In ascending order, without repetitions in single precision, which
    /// voxels have.
    public let values: [Double]
    public var meshes: MeshSelection
    /// The frame of mesh coordinates.
    public var frame: PatientFrame
    /// What the preview shows.
    public var preview: PreviewContent
    /// Whether a tilted or unevenly spaced series is resampled onto an upright, even grid instead of refused.
    public var fixesTilt: Bool
    /// Whether DICOM images computed from others are processed.
    public var includesDerived: Bool
    /// Whether a NIfTI file that states no orientation is read as nibabel does instead of refused.
    public var assumesOrientation: Bool
    /// How pictures are drawn.
    public var pictures = PictureOptions()

    /// The most values of a batch.
    public static let maximumCount = 8

    /// - Parameter values: finite in single precision.
    public init(
        values: [Double],
        meshes: MeshSelection = .stl,
        frame: PatientFrame = .lps,
        preview: PreviewContent = .full,
        fixesTilt: Bool = false,
        includesDerived: Bool = false,
        assumesOrientation: Bool = false
    ) {
        var seen: Set<Float> = []
        // Adding zero turns -0 into 0.
        self.values = values.map { $0 + 0 }.sorted().filter { seen.insert(Float($0)).inserted }
        self.meshes = meshes
        self.frame = frame
        self.preview = preview
        self.fixesTilt = fixesTilt
        self.includesDerived = includesDerived
        self.assumesOrientation = assumesOrientation
    }

    /// Which inputs are volumes.
    var reading: SegmentationOptions {
        SegmentationOptions(
            fixesTilt: fixesTilt,
            includesDerived: includesDerived,
            assumesOrientation: assumesOrientation
        )
    }

    /// A value as a text, without ".0": "300", "-0.5".
    static func name(of value: Double) -> String {
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

extension IsosurfaceOptions: RecipeOptions {
    /// The option that enables this recipe.
    private static let option = "isosurface"

    package var shown: [String: String] {
        var shown = [
            Self.option: values.map(Self.name).joined(separator: ","), "meshes": meshes.rawValue,
            "frame": frame.rawValue,
        ]
        if preview != .full { shown["preview"] = preview.rawValue }
        if fixesTilt { shown["fix-tilt"] = "yes" }
        if includesDerived { shown["include-derived"] = "yes" }
        if assumesOrientation { shown["assume-orientation"] = "yes" }
        shown.merge(pictures.shown) { $1 }
        return shown
    }

    public init() { self.init(values: []) }

    /// Version 0.1.0 has no isosurfaces; its form of texts is read all the same.
    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        guard let text = options[Self.option] else { return nil }
        let values = text.split(separator: ",").map { Double($0) }
        guard !values.contains(nil) else {
            throw OptionValueError(option: Self.option, value: text, allowed: "numbers separated by commas")
        }
        self.init(
            values: values.compactMap { $0 },
            meshes: try options.value("meshes") ?? .stl,
            frame: try options.value("frame") ?? .lps,
            preview: try options.value("preview") ?? .full,
            fixesTilt: try options.flag("fix-tilt"),
            includesDerived: try options.flag("include-derived"),
            assumesOrientation: try options.flag("assume-orientation")
        )
    }
}
