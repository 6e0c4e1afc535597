import ArgumentParser
import NocturneRecipeSupport

/// Options for which inputs are volumes, for all recipes that read volumes.
package struct VolumeInputArguments: RecipeArguments {
    package static let title = "Reading of volumes"

    @Flag(help: "Resample tilted and unevenly spaced DICOM series onto an upright, even grid instead of refusing them.")
    var fixTilt = false

    @Flag(help: "Also process DICOM images computed from others: diffusion and perfusion maps, reformatted planes.")
    var includeDerived = false

    @Flag(
        help: ArgumentHelp(
            "Read NIfTI files without q-form and s-form as nibabel does (first axis to the left, origin in the middle) "
                + "instead of refusing them."
        )
    )
    var assumeOrientation = false

    package init() {}

    package var given: [String] {
        let names = [
            (fixTilt, "--fix-tilt"), (includeDerived, "--include-derived"), (assumeOrientation, "--assume-orientation"),
        ]
        return names.filter(\.0).map(\.1)
    }
}
