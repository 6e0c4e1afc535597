import ArgumentParser
package import NocturneRecipeSupport

/// The options of a batch that shows and measures volumes themselves.
package struct VolumeViewOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Volumes without a model"
    /// The option that enables this recipe.
    package static let enabling = "view"

    /// Which pictures are written.
    package var pictures = PictureOptions()
    /// Which inputs are volumes.
    package var inputs = VolumeInputOptions()
    /// The regions of interest.
    package var regions = RegionOptions()
    /// Whether `--view` was given.
    package var isEnabled = false

    /// In the order of help.
    package static let sections = [
        RecipeSection<Self>(\.pictures), RecipeSection<Self>(\.inputs), RecipeSection<Self>(\.regions),
        RecipeSection<Self>(\.self),
    ]

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            enabling,
            \.isEnabled,
            ArgumentHelp(
                "Also make pictures of every volume in the inputs, and measure its intensities and the regions of --rois. "
                    + "Needs no model."
            )
        ).main
    ]

    /// The recipe is not in use.
    package init() {}
}
