import ArgumentParser
package import NocturneRecipeSupport

/// The option for regions of interest, for recipes that measure volumes.
package struct RegionOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Regions of interest"

    /// The file of regions; nil for none.
    package var file: RegionInstruction?

    /// Each option with its help. Results state a digest of the file.
    package static let options: [Entry] = [
        Entry(
            OptionArgument.optional(
                "rois",
                String.self,
                ArgumentHelp("Measure the regions of interest in this JSON file.", valueName: "file")
            ).completed(.file()),
            isPath: true,
            text: { $0.file?.path },
            take: { options, text in
                options.file =
                    try text.isGiven
                    ? RegionInstruction(path: absolutePath(text.text))
                    : RegionInstruction(path: text.text, digest: text.result ?? "")
            }
        ).stated { $0.file?.digest }
    ]

    /// Without a file.
    package init() {}
}
