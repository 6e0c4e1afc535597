import ArgumentParser
import NocturneRecipeSupport

/// Options for networks that are applied tile by tile, to volumes or photos.
package struct TileArguments: RecipeArguments {
    package static let title = "Segmentation of volumes and photos"

    @Option(
        help: ArgumentHelp(
            "Distance between neighbouring tiles as a share of the patch, above 0 and at most 1. "
                + "Default: as in the package.",
            valueName: "share"
        )
    )
    var stepSize: TileStep?

    @Flag(
        name: .customLong("disable-tta"),
        help: "Skip mirrored passes, even if the package asks for them."
    )
    package var disableTTA = false

    @Flag(help: "Round sums and logits to half precision where nnU-Net does, to compare with it. Slower.")
    package var referenceRounding = false

    package init() {}

    /// Nil for the package's own.
    package var tileStep: Double? { stepSize?.share }

    package var given: [String] {
        (stepSize == nil ? [] : ["--step-size"]) + (disableTTA ? ["--disable-tta"] : [])
            + (referenceRounding ? ["--reference-rounding"] : [])
    }
}

/// A share of the patch, above 0 and at most 1.
package struct TileStep: ExpressibleByArgument, Sendable {
    let share: Double

    package init?(argument: String) {
        guard let share = Double(argument), share > 0, share <= 1 else { return nil }
        self.share = share
    }
}
