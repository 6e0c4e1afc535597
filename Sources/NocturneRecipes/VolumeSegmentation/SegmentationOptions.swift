public import NocturneCore

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
    /// Whether the slices are written as an animation, `slices.png`.
    public var drawsSlices: Bool

    public init(
        labels: [String]? = nil,
        meshes: Meshes = .stl,
        frame: PatientFrame = .lps,
        tileStep: Double? = nil,
        disablesMirroring: Bool = false,
        usesReferenceRounding: Bool = false,
        drawsSlices: Bool = false
    ) {
        self.labels = labels
        self.meshes = meshes
        self.frame = frame
        self.tileStep = tileStep
        self.disablesMirroring = disablesMirroring
        self.usesReferenceRounding = usesReferenceRounding
        self.drawsSlices = drawsSlices
    }

    /// By their command-line names: for fingerprints, accounts and the comparison with an earlier run.
    public var words: [String: String] {
        var words = ["meshes": meshes.rawValue, "frame": frame.rawValue]
        if let labels { words["labels"] = labels.sorted().joined(separator: ",") }
        if let tileStep { words["step-size"] = "\(tileStep)" }
        if disablesMirroring { words["disable-tta"] = "yes" }
        if usesReferenceRounding { words["reference-rounding"] = "yes" }
        if drawsSlices { words["pictures"] = "yes" }
        return words
    }

    /// What ``words`` said.
    public init(words: [String: String]) {
        self.init(
            labels: words["labels"].map { $0.split(separator: ",").map(String.init) },
            meshes: words["meshes"].flatMap(Meshes.init) ?? .stl,
            frame: words["frame"].flatMap(PatientFrame.init) ?? .lps,
            tileStep: words["step-size"].flatMap(Double.init),
            disablesMirroring: words["disable-tta"] != nil,
            usesReferenceRounding: words["reference-rounding"] != nil,
            drawsSlices: words["pictures"] != nil
        )
    }
}
