public import NocturneRecipeSupport
import NocturneVolumes

/// The options of a run that change the results.
public struct PhotoSegmentationOptions: Sendable, Hashable, Codable {
    /// Distance between neighbouring tiles as a share of the patch; nil for the package's value.
    public var tileStep: Double?
    /// Whether mirrored passes are skipped even if the package asks for them.
    public var disablesMirroring: Bool
    /// Whether sums and logits are rounded to half precision where nnU-Net does it.
    public var usesReferenceRounding: Bool
    /// The longest side of the overlay, in pixels.
    public var overlaySide: Int

    public init(
        tileStep: Double? = nil,
        disablesMirroring: Bool = false,
        usesReferenceRounding: Bool = false,
        overlaySide: Int = PhotoInstancesOptions.defaultOverlaySide
    ) {
        self.tileStep = tileStep
        self.disablesMirroring = disablesMirroring
        self.usesReferenceRounding = usesReferenceRounding
        self.overlaySide = overlaySide
    }

    /// For the code that applies networks to planes.
    var ofNetworks: SegmentationOptions {
        SegmentationOptions(
            tileStep: tileStep,
            disablesMirroring: disablesMirroring,
            usesReferenceRounding: usesReferenceRounding
        )
    }
}

extension PhotoSegmentationOptions: RecipeOptions {
    package var shown: [String: String] {
        var shown: [String: String] = [:]
        if let tileStep { shown["step-size"] = "\(tileStep)" }
        if disablesMirroring { shown["disable-tta"] = "yes" }
        if usesReferenceRounding { shown["reference-rounding"] = "yes" }
        if overlaySide != PhotoInstancesOptions.defaultOverlaySide { shown["overlay-size"] = "\(overlaySide)" }
        return shown
    }

    public init() { self.init(tileStep: nil) }

    /// Version 1 had no such recipe.
    package init?(_ options: OptionsOfVersion1) throws(OptionValueError) { return nil }
}
