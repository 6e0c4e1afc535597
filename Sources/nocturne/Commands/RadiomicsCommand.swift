import ArgumentParser
import Foundation
import NocturneConcurrency
import NocturneOutput
import NocturneRadiomics
import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes

struct RadiomicsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "radiomics",
        abstract: "Show the radiomic features of the labels of one image, as IBSI defines them.",
        discussion: """
            Computes the 169 features of IBSI 1 (arXiv 1612.07003) with the settings of a preset or a file. Research software: \
            not for diagnosis or treatment.
            """
    )

    @Argument(
        help: "The image: a NIfTI, NRRD or MetaImage file, or a folder with one DICOM series.",
        completion: .file()
    )
    var image: String

    @Argument(
        help: "Labels on the image's grid: a label map or mask in such a file, a DICOM segmentation or structure set.",
        completion: .file()
    )
    var mask: String

    @Option(
        help: ArgumentHelp(
            """
            A preset (\(RadiomicsSettings.presets.map(\.name).joined(separator: ", "))) or a settings file. Default: ct or pet \
            for a DICOM series of that modality, else mr.
            """,
            valueName: "preset-or-file"
        ),
        completion: .file()
    )
    var settings: String?

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var compute: ThreadArguments

    func run() async throws {
        let paths = (image: absolutePath(image), mask: absolutePath(mask))
        // Read before the image, so that a wrong preset or file is reported at once.
        let given = try settings.map { try RadiomicsSettings(named: $0, path: absolutePath($0)) }
        // The pair is read in the same pool that computes: there is one limit for the threads of both.
        let report = try await ComputeScope.withPool(of: compute.width) { scope in
            let pair = try RadiomicsPair(image: paths.image, labels: paths.mask, scope: scope)
            return try pair.report(given, scope: scope)
        }
        if json {
            try Terminal.printJSON(report)
        } else {
            // Notes go to standard error, so that standard output has only the features.
            for note in report.notes { Terminal.printError(note) }
            for region in report.regions { try Terminal.printResult(text(region)) }
        }
        // After the notes, which may state the reason.
        if report.regions.isEmpty {
            throw BatchError(
                .nothingMatched,
                path: paths.mask,
                detail: "no voxel has a label, so there is nothing to measure. Give labels of this image"
            )
        }
    }

    /// One region as a head line and a table of name, code and value.
    ///
    /// Values are printed with all digits, as in JSON.
    private func text(_ region: RadiomicsReport.Region) -> String {
        let name = region.name.map { " (\($0))" } ?? ""
        let counts = "\(region.voxels) voxels, \(region.intensityVoxels) after re-segmentation"
        let rows = region.features.map { feature in
            // A feature without a value stays in the table with its reason, such as a region that is too small.
            [feature.name ?? "", feature.code, feature.value.map { "\($0)" } ?? "none: \(feature.absence ?? "")"]
        }
        return "label \(region.label)\(name): \(counts)\n" + Terminal.table(rows)
    }
}
