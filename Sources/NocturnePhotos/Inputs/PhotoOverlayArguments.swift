import ArgumentParser
import NocturneRecipeSupport

/// Options for the overlay of a photo, for all recipes that draw one.
package struct PhotoOverlayArguments: RecipeArguments {
    package static let title = "Pictures of photos"

    @Option(help: ArgumentHelp("Longest side of the overlay in pixels (default: 1600).", valueName: "pixels"))
    var overlaySize: Int?

    package init() {}

    package func validate() throws {
        if let overlaySize, !PhotoInstancesOptions.overlaySides.contains(overlaySize) {
            throw ValidationError("--overlay-size takes 64 to 8192 pixels, not \(overlaySize).")
        }
    }

    package var given: [String] { overlaySize == nil ? [] : ["--overlay-size"] }

    var overlaySide: Int { overlaySize ?? PhotoInstancesOptions.defaultOverlaySide }
}
