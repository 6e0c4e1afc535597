import ArgumentParser
package import NocturneRecipeSupport

/// The options of a batch that change the results of volumes.
package struct SegmentationOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Segmentation of volumes"

    /// Of labels and their surfaces.
    package var surfaces = SurfaceOptions()
    /// Which labels are written.
    package var choice = LabelChoice()
    /// Which pictures are written.
    package var pictures = PictureOptions()
    /// Which inputs are volumes.
    package var inputs = VolumeInputOptions()
    /// The regions of interest.
    package var regions = RegionOptions()
    /// The features of labels.
    package var radiomics = RadiomicsOptions()
    /// How networks are applied to tiles.
    package var tiles = TileOptions()

    /// The labels to keep; nil for all.
    package var labels: LabelNames? {
        get { choice.names }
        set { choice.names = newValue }
    }
    /// Whether a map of each label's probability is written.
    package var writesProbabilities = false
    /// Reference labels to compare with: a file, or a folder with one file per item.
    package var comparePath: String?
    /// mm. Within it, surfaces count as the same in comparisons; nil for ``LabelComparison/standardTolerance``.
    package var surfaceTolerance: Double?
    /// Second images to measure the labels on: a file, a DICOM series, or a folder with one per item.
    package var measurePath: String?
    /// Whether a DICOM segmentation is written for DICOM sources.
    package var writesSegmentationObject = false
    /// Whether a DICOM structure set is written for DICOM sources.
    package var writesStructureSet = false

    /// In the order of help.
    package static let sections = [
        RecipeSection<Self>(\.choice), RecipeSection<Self>(\.surfaces), RecipeSection<Self>(\.pictures),
        RecipeSection<Self>(\.inputs), RecipeSection<Self>(\.self), RecipeSection<Self>(\.regions),
        RecipeSection<Self>(\.radiomics), RecipeSection<Self>(\.tiles),
    ]

    /// Each option with its help.
    package static let options: [Entry] = outputs + measurements

    /// All options with their defaults.
    package init() {}

    /// The range of `--surface-tolerance`.
    package func check() throws {
        if let surfaceTolerance, !(0...1000).contains(surfaceTolerance) {
            throw ValidationError("--surface-tolerance takes 0 to 1000 mm, not \(surfaceTolerance).")
        }
    }
}

extension SegmentationOptions {
    private static let outputs: [Entry] = [
        Entry(
            "probabilities",
            \.writesProbabilities,
            ArgumentHelp(
                "Also write the probability of each label (probabilities/LABEL.nii.gz): uint8, with a slope that scales it to 0 "
                    + "to 1."
            )
        ),
        Entry(
            "dicom-seg",
            \.writesSegmentationObject,
            "For DICOM sources, also write a DICOM segmentation (segmentation.dcm)."
        ).concerning(VolumeSource.isDICOM),
        Entry(
            "rtstruct",
            \.writesStructureSet,
            "For DICOM sources, also write a DICOM structure set (rtstruct.dcm)."
        ).concerning(VolumeSource.isDICOM),
    ]

    private static let measurements: [Entry] = [
        Entry(
            path: "compare",
            \.comparePath,
            ArgumentHelp(
                "Compare with reference labels: a NIfTI, NRRD or MetaImage file or DICOM segmentation, or a folder with one per item.",
                valueName: "path"
            ),
            result: "yes"
        ) { try ReferenceInstruction.check($0) }.main,
        Entry(
            "surface-tolerance",
            \.surfaceTolerance,
            ArgumentHelp(
                "With --compare, the distance in mm within which surfaces count as the same, for the surface Dice coefficient "
                    + "(default: 1).",
                valueName: "mm"
            )
        ),
        Entry(
            path: "measure",
            \.measurePath,
            ArgumentHelp(
                "Also measure a second image, such as a PET, on the labels: a NIfTI, NRRD or MetaImage file or a DICOM series, or a folder with one "
                    + "per item.",
                valueName: "path"
            ),
            result: "yes"
        ) { try ReferenceInstruction.check($0, "second images") },
    ]
}

/// Which labels are written, for recipes whose labels have names.
package struct LabelChoice: OptionSection {
    /// The heading of the section in help.
    package static let title = "Choice of labels"

    /// The labels to keep; nil for all.
    package var names: LabelNames?

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            "labels",
            \.names,
            ArgumentHelp(
                "Write only these labels, separated by commas; a comma in a name has a backslash before it.",
                valueName: "labels"
            )
        ).main
    ]

    /// All labels.
    package init() {}
}

/// Names of labels, comma-separated. Their order has no meaning.
package struct LabelNames: ExpressibleByArgument, Hashable, Sendable {
    /// Sorted.
    package let names: [String]

    /// Reads names between commas; spaces around them are left out, and a comma in a name has a backslash before it. Nil for no
    /// name, and for an empty one.
    package init?(argument: String) {
        var texts = [""]
        var isEscaped = false
        for character in argument {
            switch character {
            case "," where !isEscaped: texts.append("")
            case ",": texts[texts.count - 1] = texts[texts.count - 1].dropLast() + ","
            default: texts[texts.count - 1].append(character)
            }
            isEscaped = character == "\\"
        }
        names = texts.filter { !$0.isEmpty }.map { $0.trimmingPrefix { $0 == " " } }.map { name in
            String(name.reversed().trimmingPrefix { $0 == " " }.reversed())
        }.sorted()
        if names.isEmpty || names.contains("") { return nil }
    }

    /// The names as they are written.
    package var defaultValueDescription: String {
        names.map { $0.replacing(",", with: "\\,") }.joined(separator: ",")
    }
}

/// Options for networks that are applied tile by tile, to volumes or photos.
package struct TileOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Segmentation of volumes and photos"

    /// Distance between neighbouring tiles; nil for the package's value.
    package var step: TileStep?
    /// Whether mirrored passes are skipped even if the package asks for them.
    package var disablesMirroring = false
    /// Whether sums and logits are rounded to half precision where nnU-Net does it.
    package var usesReferenceRounding = false

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            "step-size",
            \.step,
            ArgumentHelp(
                "Distance between neighbouring tiles as a share of the patch, above 0 and at most 1. "
                    + "Default: as in the package.",
                valueName: "share"
            )
        ),
        Entry("disable-tta", \.disablesMirroring, "Skip mirrored passes, even if the package asks for them."),
        Entry(
            "reference-rounding",
            \.usesReferenceRounding,
            "Round sums and logits to half precision where nnU-Net does, to compare with it. Slower."
        ),
    ]

    /// As the package states it, without rounding to half precision.
    package init() {}
}

/// A share of the patch, above 0 and at most 1.
package struct TileStep: OptionValue, Hashable, Sendable {
    /// For the message about another text.
    package static var allowed: String { "a number above 0 and at most 1, such as 0.5" }
    /// Above 0 and at most 1.
    package let share: Double

    /// Nil for what is not such a share.
    package init?(argument: String) {
        guard let share = Double(argument), share > 0, share <= 1 else { return nil }
        self.share = share
    }

    /// The share as it is written.
    package var defaultValueDescription: String { "\(share)" }
}
