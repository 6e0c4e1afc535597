import ArgumentParser
package import NocturneRecipeSupport

/// The options of a batch that processes segmentations and structure sets.
package struct ExistingLabelsOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Existing labels"
    /// The option that enables this recipe.
    package static let enabling = "existing-labels"

    /// Of labels and their surfaces.
    package var surfaces = SurfaceOptions()
    /// Which labels are written.
    package var choice = LabelChoice()
    /// Which pictures are written.
    package var pictures = PictureOptions()
    /// The regions of interest.
    package var regions = RegionOptions()
    /// The features of labels.
    package var radiomics = RadiomicsOptions()
    /// Whether `--existing-labels` was given.
    package var isEnabled = false
    /// The folder with the images of label maps; nil to find them by their names.
    package var imageFolder: String?
    /// The JSON file that names the labels of label maps.
    package var namesFile: String?

    /// In the order of help.
    package static let sections = [
        RecipeSection<Self>(\.choice), RecipeSection<Self>(\.surfaces), RecipeSection<Self>(\.pictures),
        RecipeSection<Self>(\.regions), RecipeSection<Self>(\.radiomics), RecipeSection<Self>(\.self),
    ]

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            enabling,
            \.isEnabled,
            "Also process the DICOM segmentations, structure sets and label maps (NIfTI, NRRD, MetaImage) in the inputs. Needs no model."
        ).main,
        Entry(
            path: "label-images",
            \.imageFolder,
            ArgumentHelp(
                "With --existing-labels, the folder with the images of label maps, by the same names; then every other "
                    + "NIfTI, NRRD or MetaImage file is a label map. Default: found as in nnU-Net's labelsTr and imagesTr, and by endings such as "
                    + "_seg.",
                valueName: "folder"
            ),
            check: { try ReferenceInstruction.check($0, "images") }
        ).completed(.directory),
        Entry(
            path: "label-names",
            \.namesFile,
            ArgumentHelp(
                "With --existing-labels, the names of labels in label maps: a JSON file such as nnU-Net's dataset.json.",
                valueName: "file"
            ),
            check: { _ = try LabelNameFile($0) }
        ),
    ]

    /// The recipe is not in use.
    package init() {}

    /// The options of label maps need `--existing-labels`.
    package func check() throws {
        guard isEnabled || imageFolder == nil && namesFile == nil else {
            throw ValidationError("--label-images and --label-names are about label maps; add --existing-labels.")
        }
    }
}
