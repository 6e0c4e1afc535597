public import NocturneCore
import NocturneSystem

/// The options of a run that change what comes out.
public struct SegmentationOptions: Sendable, Hashable {
    public enum Meshes: String, Sendable, CaseIterable { case stl, obj, none }

    /// The labels to keep, by name; nil for all.
    public var labels: [String]?
    public var meshes: Meshes
    public var frame: PatientFrame
    /// Distance of neighbouring tiles as a share of the patch; nil for the package's own.
    public var tileStep: Double?
    /// Whether mirrored passes are left out even where the package asks for them.
    public var disablesMirroring: Bool
    /// Whether sums and logits are rounded to half precision where nnU-Net does it.
    public var usesReferenceRounding: Bool
    /// Whether a series that leans or is unevenly spaced is resampled onto an upright, even grid instead of refused.
    public var fixesTilt: Bool

    /// The regions to measure.
    public var regions: RegionInstruction?
    /// Reference labels to compare with: a file, or a folder with a file for every item.
    public var comparePath: String?

    /// Whether DICOM sources get a DICOM segmentation.
    public var writesSegmentationObject: Bool
    /// Whether DICOM sources get a DICOM structure set.
    public var writesStructureSet: Bool
    /// Whether the slices are written as an animation, `slices.png`.
    public var drawsSlices: Bool

    public init(
        labels: [String]? = nil,
        meshes: Meshes = .stl,
        frame: PatientFrame = .lps,
        tileStep: Double? = nil,
        disablesMirroring: Bool = false,
        usesReferenceRounding: Bool = false,
        fixesTilt: Bool = false,
        regions: RegionInstruction? = nil,
        comparePath: String? = nil,
        writesSegmentationObject: Bool = false,
        writesStructureSet: Bool = false,
        drawsSlices: Bool = false
    ) {
        self.labels = labels
        self.meshes = meshes
        self.frame = frame
        self.tileStep = tileStep
        self.disablesMirroring = disablesMirroring
        self.usesReferenceRounding = usesReferenceRounding
        self.fixesTilt = fixesTilt
        self.regions = regions
        self.comparePath = comparePath
        self.writesSegmentationObject = writesSegmentationObject
        self.writesStructureSet = writesStructureSet
        self.drawsSlices = drawsSlices
    }

    /// By their command-line names: for accounts and the comparison with an earlier run.
    public var words: [String: String] {
        var words = ["meshes": meshes.rawValue, "frame": frame.rawValue]
        if let labels { words["labels"] = labels.sorted().joined(separator: ",") }
        if let tileStep { words["step-size"] = "\(tileStep)" }
        if disablesMirroring { words["disable-tta"] = "yes" }
        if usesReferenceRounding { words["reference-rounding"] = "yes" }
        if fixesTilt { words["fix-tilt"] = "yes" }
        if let regions { words.merge(["rois": regions.digest, "rois-path": regions.path]) { $1 } }
        if let comparePath { words.merge(["compare": "yes", "compare-path": comparePath]) { $1 } }
        if writesSegmentationObject { words["dicom-seg"] = "yes" }
        if writesStructureSet { words["rtstruct"] = "yes" }
        if drawsSlices { words["pictures"] = "yes" }
        return words
    }

    /// What a result and its fingerprint may say: no path of the machine.
    var resultWords: [String: String] { words.filter { !["rois-path", "compare-path"].contains($0.key) } }

    /// What ``words`` said.
    public init(words: [String: String]) {
        self.init(
            labels: words["labels"].map { $0.split(separator: ",").map(String.init) },
            meshes: words["meshes"].flatMap(Meshes.init) ?? .stl,
            frame: words["frame"].flatMap(PatientFrame.init) ?? .lps,
            tileStep: words["step-size"].flatMap(Double.init),
            disablesMirroring: words["disable-tta"] != nil,
            usesReferenceRounding: words["reference-rounding"] != nil,
            fixesTilt: words["fix-tilt"] != nil,
            regions: words["rois"].flatMap { digest in
                words["rois-path"].map { RegionInstruction(path: $0, digest: digest) }
            },
            comparePath: words["compare-path"],
            writesSegmentationObject: words["dicom-seg"] != nil,
            writesStructureSet: words["rtstruct"] != nil,
            drawsSlices: words["pictures"] != nil
        )
    }
}
