public import NocturneCore
public import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The options of a batch that change the results of volumes.
public struct SegmentationOptions: Sendable, Hashable {
    public typealias Meshes = MeshSelection

    /// The labels to keep, by name; nil for all.
    public var labels: [String]?
    public var meshes: Meshes
    public var frame: PatientFrame
    /// Distance between neighbouring tiles as a share of the patch; nil for the package's value.
    public var tileStep: Double?
    /// Whether mirrored passes are skipped even if the package asks for them.
    public var disablesMirroring: Bool
    /// Whether sums and logits are rounded to half precision where nnU-Net does it.
    public var usesReferenceRounding: Bool
    /// Whether a tilted or unevenly spaced series is resampled onto an upright, even grid instead of refused.
    public var fixesTilt: Bool
    /// Whether DICOM images computed from others are processed.
    public var includesDerived: Bool
    /// Whether a NIfTI file that states no orientation is read as nibabel does instead of refused.
    public var assumesOrientation: Bool

    /// The regions to measure.
    public var regions: RegionInstruction?
    /// Reference labels to compare with: a file, or a folder with one file per item.
    public var comparePath: String?
    /// Second images to measure the labels on: a file, a DICOM series, or a folder with one per item.
    public var measurePath: String?
    /// mm. Within it, surfaces count as the same in comparisons; nil for ``LabelComparer/standardTolerance``.
    public var surfaceTolerance: Double?

    /// Whether a DICOM segmentation is written for DICOM sources.
    public var writesSegmentationObject: Bool
    /// Whether a DICOM structure set is written for DICOM sources.
    public var writesStructureSet: Bool
    /// What the page for reviewers gets of each item.
    public var review: ReviewContent
    /// What the preview shows.
    public var preview: PreviewContent
    /// Whether the slices are written as an animation, `slices.png`.
    public var drawsSlices: Bool
    /// The planes of these slices.
    public var planes = SlicePlanes.acquired
    /// Whether a map of each label's probability is written.
    public var writesProbabilities = false
    /// How pictures are drawn.
    public var pictures = PictureOptions()
    /// What a rendering of the volume shows.
    public var rendering: RenderingContent

    public init(
        labels: [String]? = nil,
        meshes: Meshes = .stl,
        frame: PatientFrame = .lps,
        tileStep: Double? = nil,
        disablesMirroring: Bool = false,
        usesReferenceRounding: Bool = false,
        fixesTilt: Bool = false,
        includesDerived: Bool = false,
        assumesOrientation: Bool = false,
        regions: RegionInstruction? = nil,
        comparePath: String? = nil,
        surfaceTolerance: Double? = nil,
        writesSegmentationObject: Bool = false,
        writesStructureSet: Bool = false,
        review: ReviewContent = .pictures,
        preview: PreviewContent = .full,
        drawsSlices: Bool = false,
        rendering: RenderingContent = .none
    ) {
        self.labels = labels
        self.meshes = meshes
        self.frame = frame
        self.tileStep = tileStep
        self.disablesMirroring = disablesMirroring
        self.usesReferenceRounding = usesReferenceRounding
        self.fixesTilt = fixesTilt
        self.includesDerived = includesDerived
        self.assumesOrientation = assumesOrientation
        self.regions = regions
        self.comparePath = comparePath
        self.surfaceTolerance = surfaceTolerance
        self.writesSegmentationObject = writesSegmentationObject
        self.writesStructureSet = writesStructureSet
        self.review = review
        self.preview = preview
        self.drawsSlices = drawsSlices
        self.rendering = rendering
    }

    /// Which DICOM series become volumes.
    var seriesRules: DICOMSeriesRules {
        DICOMSeriesRules(correctsStacks: fixesTilt, includesDerived: includesDerived)
    }

    /// What a result of a source and its fingerprint contain: no local path, and only what concerns the source.
    /// - Parameter source: nil for one that is refused.
    func shownInResults(of source: VolumeSource?) -> [String: String] {
        let paths = ["rois-path", "compare-path", "measure-path"]
        return OptionScope.concerning(source, shown).filter { !paths.contains($0.key) }
    }
}

extension SegmentationOptions: RecipeOptions {
    package var shown: [String: String] {
        var shown = ["meshes": meshes.rawValue, "frame": frame.rawValue]
        if let labels { shown["labels"] = labels.sorted().joined(separator: ",") }
        if let tileStep { shown["step-size"] = "\(tileStep)" }
        if disablesMirroring { shown["disable-tta"] = "yes" }
        if usesReferenceRounding { shown["reference-rounding"] = "yes" }
        if fixesTilt { shown["fix-tilt"] = "yes" }
        if includesDerived { shown["include-derived"] = "yes" }
        if assumesOrientation { shown["assume-orientation"] = "yes" }
        if let regions { shown.merge(["rois": regions.digest, "rois-path": regions.path]) { $1 } }
        if let comparePath { shown.merge(["compare": "yes", "compare-path": comparePath]) { $1 } }
        if let measurePath { shown.merge(["measure": "yes", "measure-path": measurePath]) { $1 } }
        if let surfaceTolerance { shown["surface-tolerance"] = "\(surfaceTolerance)" }
        if writesSegmentationObject { shown["dicom-seg"] = "yes" }
        if writesStructureSet { shown["rtstruct"] = "yes" }
        if review != .pictures { shown["review"] = review.rawValue }
        if preview != .full { shown["preview"] = preview.rawValue }
        if drawsSlices { shown["pictures"] = "yes" }
        if writesProbabilities { shown["probabilities"] = "yes" }
        if planes != .acquired { shown["planes"] = planes.rawValue }
        shown.merge(pictures.shown) { $1 }
        if rendering != .none { shown["rendering"] = rendering.rawValue }
        return shown
    }

    public init() { self.init(labels: nil) }

    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) {
        self.init(
            labels: options["labels"].map { $0.split(separator: ",").map(String.init) },
            meshes: try options.value("meshes") ?? .stl,
            frame: try options.value("frame") ?? .lps,
            tileStep: try options.number("step-size"),
            disablesMirroring: try options.flag("disable-tta"),
            usesReferenceRounding: try options.flag("reference-rounding"),
            fixesTilt: try options.flag("fix-tilt"),
            includesDerived: try options.flag("include-derived"),
            assumesOrientation: try options.flag("assume-orientation"),
            regions: options["rois"].flatMap { digest in
                options["rois-path"].map { RegionInstruction(path: $0, digest: digest) }
            },
            comparePath: options["compare-path"],
            surfaceTolerance: try options.number("surface-tolerance"),
            writesSegmentationObject: try options.flag("dicom-seg"),
            writesStructureSet: try options.flag("rtstruct"),
            review: try options.value("review") ?? .pictures,
            preview: try options.value("preview") ?? .full,
            drawsSlices: try options.flag("pictures"),
            rendering: try options.value("rendering") ?? .none
        )
    }
}
