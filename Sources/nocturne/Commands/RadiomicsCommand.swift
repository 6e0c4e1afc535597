import ArgumentParser
import Foundation
import NocturneConcurrency
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
        let given = try settings.map { try RadiomicsSettings(named: $0, path: absolutePath($0)) }
        let report = try await ComputeScope.withPool(of: compute.width) { scope in
            let pair = try RadiomicsPair(image: paths.image, labels: paths.mask, scope: scope)
            return try pair.report(given, scope: scope)
        }
        if json {
            try Terminal.printJSON(report)
        } else {
            for note in report.notes { Terminal.printError(note) }
            for region in report.regions { Terminal.printResult(text(region)) }
        }
        if report.regions.isEmpty { throw NocturneExit.nothingMatched }
    }

    private func text(_ region: RadiomicsReport.Region) -> String {
        let name = region.name.map { " (\($0))" } ?? ""
        let counts = "\(region.voxels) voxels, \(region.intensityVoxels) after re-segmentation"
        let rows = region.features.map { feature in
            [feature.name ?? "", feature.code, feature.value.map { "\($0)" } ?? "none: \(feature.absence ?? "")"]
        }
        return "label \(region.label)\(name): \(counts)\n" + Terminal.table(rows)
    }
}
