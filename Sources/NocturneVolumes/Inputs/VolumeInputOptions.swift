import ArgumentParser
import NocturneFormats
package import NocturneRecipeSupport

/// Options for which inputs are volumes, for all recipes that read volumes.
package struct VolumeInputOptions: OptionSection, RecipeOptions {
    /// The heading of the section in help.
    package static let title = "Reading of volumes"

    /// Whether a tilted or unevenly spaced series is resampled onto an upright, even grid instead of refused.
    package var fixesTilt = false
    /// Whether DICOM images computed from others are processed.
    package var includesDerived = false
    /// Whether a file that states no orientation is read instead of refused: NIfTI as nibabel does, NRRD and MetaImage as ITK does.
    package var assumesOrientation = false
    /// Whether each volume of a 4-D file becomes an item of a model for single volumes.
    package var takesTimeSeries = false

    /// Each option with its help.
    package static let options: [Entry] = [
        Entry(
            "fix-tilt",
            \.fixesTilt,
            "Resample tilted and unevenly spaced DICOM series onto an upright, even grid instead of refusing them."
        ).concerning { (source: VolumeSource?) in
            // A series that is upright and even stays as it is.
            source?.isCorrected ?? false
        },
        Entry(
            "include-derived",
            \.includesDerived,
            "Also process DICOM images computed from others: diffusion and perfusion maps, reformatted planes."
        ).concerning(VolumeSource.isDICOM),
        Entry(
            "assume-orientation",
            \.assumesOrientation,
            ArgumentHelp(
                "Read files that state no orientation instead of refusing them: NIfTI without q-form and s-form as nibabel does "
                    + "(first axis to the left, origin in the middle), NRRD and MetaImage as ITK does."
            )
        ).concerning { (source: VolumeSource?) in source.map { $0.format.isVolumeFile } ?? true },
        Entry(
            "time-series",
            \.takesTimeSeries,
            "Let models for single volumes process each volume of a time series (a 4-D NIfTI file) instead of refusing it."
        ).absentFromResults,
    ]

    /// Refuses what is tilted, derived, without an orientation, or a time series.
    package init() {}

    /// Which DICOM series become volumes.
    var seriesRules: DICOMSeries.Rules {
        DICOMSeries.Rules(correctsStacks: fixesTilt, includesDerived: includesDerived)
    }
}

extension VolumeSource {
    /// Whether an option for DICOM files concerns a source; also one that is refused.
    static func isDICOM(_ source: VolumeSource?) -> Bool { source.map { $0.format == .dicom } ?? true }
}
