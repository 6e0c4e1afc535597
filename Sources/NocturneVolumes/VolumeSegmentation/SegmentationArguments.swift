public import ArgumentParser
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport

/// Options for surfaces and previews, for all recipes that write some.
package struct SurfaceArguments: RecipeArguments {
    package static let title = "Surfaces and previews of volumes"

    @Option(help: "Format of the surface of each label, or none.")
    var meshes = SegmentationOptions.Meshes.stl

    @Option(help: "Coordinate frame of surfaces.")
    var frame = PatientFrame.lps

    @Option(help: "Content of preview.png: slices and projections, full for the surfaces as well, or none.")
    var preview = PreviewContent.full

    @Option(
        help: ArgumentHelp(
            "Window of the pictures: soft-tissue, lung, bone, brain, or centre and width, such as 40,400 "
                + "(write --window=-600,1500 for a negative centre). Default: as in the image's header.",
            valueName: "name or C,W"
        )
    )
    var window: WindowChoice?

    @Option(
        help: ArgumentHelp(
            "Opacity of the labels' areas in the slices, from 0 for outlines only to 1.",
            valueName: "share"
        )
    )
    var labelOpacity = PictureOptions.standardOpacity

    package init() {}

    package func validate() throws {
        guard (0...1).contains(labelOpacity) else {
            throw ValidationError("--label-opacity takes a number from 0 to 1, not \(labelOpacity).")
        }
    }

    package var given: [String] {
        let names = [
            (meshes != .stl, "--meshes"), (frame != .lps, "--frame"), (preview != .full, "--preview"),
            (window != nil, "--window"), (labelOpacity != PictureOptions.standardOpacity, "--label-opacity"),
        ]
        return names.filter(\.0).map(\.1)
    }

    var pictures: PictureOptions { PictureOptions(window: window, labelOpacity: labelOpacity) }
}

/// Options for the segmentation of volumes.
package struct SegmentationArguments: RecipeArguments {
    package static let title = "Segmentation of volumes"

    @Option(help: ArgumentHelp("Write only these labels, separated by commas.", valueName: "labels"))
    var labels: LabelNames?

    @Flag(help: "Also write the slices with the outlines of the labels as an animation, slices.png.")
    var pictures = false

    @Option(
        help: ArgumentHelp(
            "With --pictures, the planes of the slices: as acquired, or all for one animation of each of the three planes."
        )
    )
    var planes = SlicePlanes.acquired

    @Option(
        help: ArgumentHelp(
            "Also draw the volume as if one could look into it, rendering.png and rendering-turn.png: the bones or the soft "
                + "tissue of a CT, or an MR image. May show a face."
        )
    )
    var rendering = RenderingContent.none

    @Option(
        help: ArgumentHelp(
            "What index.html shows of a volume: none, its pictures, or volumes for a reduced volume with labels and surfaces "
                + "as well, which holds pixels of the input and may show a face."
        )
    )
    var review = ReviewContent.pictures

    @Flag(
        help: ArgumentHelp(
            "Also write the probability of each label (probabilities/LABEL.nii.gz): uint8, with a slope that scales it to 0 "
                + "to 1."
        )
    )
    var probabilities = false

    @Option(
        help: ArgumentHelp("Measure the regions of interest in this JSON file.", valueName: "file"),
        completion: .file()
    )
    var rois: String?

    @Option(
        help: ArgumentHelp(
            "Compare with reference labels: a NIfTI file or DICOM segmentation, or a folder with one per item.",
            valueName: "path"
        ),
        completion: .file()
    )
    var compare: String?

    @Option(
        help: ArgumentHelp(
            "With --compare, the distance in mm within which surfaces count as the same, for the surface Dice coefficient "
                + "(default: 1).",
            valueName: "mm"
        )
    )
    var surfaceTolerance: Double?

    @Option(
        help: ArgumentHelp(
            "Also measure a second image, such as a PET, on the labels: a NIfTI file or a DICOM series, or a folder with one "
                + "per item.",
            valueName: "path"
        ),
        completion: .file()
    )
    var measure: String?

    @Flag(
        name: .customLong("dicom-seg"),
        help: "For DICOM sources, also write a DICOM segmentation (segmentation.dcm)."
    )
    var dicomSegmentation = false

    @Flag(help: "For DICOM sources, also write a DICOM structure set (rtstruct.dcm).")
    var rtstruct = false

    package init() {}

    package func validate() throws {
        guard pictures || planes == .acquired else {
            throw ValidationError("--planes is about the slices of --pictures; add --pictures.")
        }
        if let surfaceTolerance, !(0...1000).contains(surfaceTolerance) {
            throw ValidationError("--surface-tolerance takes 0 to 1000 mm, not \(surfaceTolerance).")
        }
    }

    package var given: [String] {
        let names = [
            (labels != nil, "--labels"), (pictures, "--pictures"), (planes != .acquired, "--planes"),
            (probabilities, "--probabilities"), (rois != nil, "--rois"),
            (compare != nil, "--compare"), (surfaceTolerance != nil, "--surface-tolerance"),
            (measure != nil, "--measure"),
            (dicomSegmentation, "--dicom-seg"),
            (rtstruct, "--rtstruct"), (review != .pictures, "--review"),
            (rendering != .none, "--rendering"),
        ]
        return names.filter(\.0).map(\.1)
    }

    /// - Throws: `BatchError` for files that cannot be used.
    func options(
        _ surfaces: SurfaceArguments,
        _ inputs: VolumeInputArguments,
        _ tiles: TileArguments
    ) throws -> SegmentationOptions {
        var options = SegmentationOptions(
            labels: labels?.names,
            meshes: surfaces.meshes,
            frame: surfaces.frame,
            tileStep: tiles.tileStep,
            disablesMirroring: tiles.disableTTA,
            usesReferenceRounding: tiles.referenceRounding,
            fixesTilt: inputs.fixTilt,
            includesDerived: inputs.includeDerived,
            assumesOrientation: inputs.assumeOrientation,
            regions: try rois.map { try RegionInstruction(path: absolutePath($0)) },
            comparePath: try compare.map { try ReferenceInstruction.checked(absolutePath($0)) },
            surfaceTolerance: surfaceTolerance,
            writesSegmentationObject: dicomSegmentation,
            writesStructureSet: rtstruct,
            review: review,
            preview: surfaces.preview,
            drawsSlices: pictures,
            rendering: rendering
        )
        options.measurePath = try measure.map { try ReferenceInstruction.checked(absolutePath($0), "second images") }
        options.planes = planes
        options.writesProbabilities = probabilities
        options.pictures = surfaces.pictures
        return options
    }
}

/// Names, comma-separated.
package struct LabelNames: ExpressibleByArgument, Sendable {
    let names: [String]

    package init?(argument: String) {
        names = argument.split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }.map { name in
            String(name.reversed().trimmingPrefix { $0 == " " }.reversed())
        }
    }
}

extension SegmentationOptions.Meshes: ExpressibleByArgument {}

extension PreviewContent: ExpressibleByArgument {}

extension WindowChoice: ExpressibleByArgument {}

extension SlicePlanes: ExpressibleByArgument {}

extension ReviewContent: ExpressibleByArgument {}

extension RenderingContent: ExpressibleByArgument {}
