import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipes
import NocturneSystem

/// The inputs, the models, and every option that can change a result.
struct BatchArguments: ParsableArguments {
    @Argument(help: "Files and folders to work through.")
    var inputs: [String] = []

    @Option(
        name: [.customShort("m"), .long],
        parsing: .singleValue,
        help: "A model package: a folder or a name. May be given again."
    )
    var model: [String] = []

    @Option(help: "A file with one input a line; - for standard input.")
    var list: String?

    @Option(
        parsing: .singleValue,
        help: "Take only files whose name or path below the input fits this pattern. May be given again."
    )
    var include: [String] = []

    @Option(parsing: .singleValue, help: "Leave out files that fit this pattern. May be given again.")
    var exclude: [String] = []

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "That model takes only inputs whose name, or path from the last part of the input on, fits this pattern. May be given again.",
            valueName: "model=pattern"
        )
    )
    var only: [String] = []

    @Option(help: "auto, builtin or openvino.")
    var engine = "auto"

    @Option(help: "exact, float32 or bfloat16.")
    var precision = InferencePrecision.float32.rawValue

    @Option(help: "Only these labels, separated by commas.")
    var labels: String?

    @Option(help: "stl, obj or none.")
    var meshes = SegmentationOptions.Meshes.stl.rawValue

    @Option(help: "The frame of mesh coordinates: lps or ras.")
    var frame = PatientFrame.lps.rawValue

    @Flag(help: "Also write the slices with the labels' outlines as an animation, slices.png.")
    var pictures = false

    @Option(help: "Distance of neighbouring tiles as a share of the patch. Default: the package's own.")
    var stepSize: Double?

    @Flag(name: .customLong("disable-tta"), help: "No mirrored passes, even where the package has them.")
    var disableTTA = false

    @Flag(help: "Round sums and logits to half precision where nnU-Net does, for comparisons with it. Slower.")
    var referenceRounding = false

    @Flag(help: "Resample tilted and unevenly spaced DICOM series onto an upright, even grid instead of refusing them.")
    var fixTilt = false

    @Option(help: "Regions of interest to measure on volumes: a JSON file.")
    var rois: String?

    @Option(
        help:
            "Reference labels to compare with: a NIfTI file or DICOM segmentation, or a folder with one for every item."
    )
    var compare: String?

    @Flag(name: .customLong("dicom-seg"), help: "For DICOM sources, also a DICOM segmentation (segmentation.dcm).")
    var dicomSegmentation = false

    @Flag(help: "For DICOM sources, also a DICOM structure set (rtstruct.dcm).")
    var rtstruct = false

    @Flag(help: "Take DICOM segmentations and structure sets below the inputs as items too. Needs no model.")
    var existingLabels = false

    @Option(help: "What is known of the people on photos: a CSV file (image, age_approx, sex, anatom_site_general).")
    var metadata: String?

    @Flag(help: "A photo in which nothing is found becomes one item as a whole.")
    var singleItemFallback = false

    @Option(help: "What results may say of names of inputs: keep, hash (UIDs as digests) or none.")
    var identifiers = IdentifierPolicy.hash.rawValue

    /// The inputs named directly and in the list, as absolute paths.
    func allInputs() throws -> [String] {
        var all = inputs
        if let list {
            let text: String
            if list == "-" {
                text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
            } else {
                do {
                    text = String(decoding: try FileSystem.read(list, limit: 1 << 30), as: UTF8.self)
                } catch {
                    let detail = "the list cannot be read: \(String(cString: strerror(error.code)))"
                    throw BatchError(.inputMissing, path: list, detail: detail)
                }
            }
            all += InputList.paths(in: text)
        }
        guard !all.isEmpty else { throw ValidationError("name at least one input: a file, a folder, or --list") }
        return all.map(absolutePath)
    }

    func segmentationOptions() throws -> SegmentationOptions {
        guard let meshes = SegmentationOptions.Meshes(rawValue: meshes) else {
            throw ValidationError("--meshes takes stl, obj or none, not \(meshes)")
        }
        guard let frame = PatientFrame(rawValue: frame) else {
            throw ValidationError("--frame takes lps or ras, not \(frame)")
        }
        if let stepSize, !(stepSize > 0 && stepSize <= 1) {
            throw ValidationError("--step-size takes a number above 0 and at most 1, not \(stepSize)")
        }
        return SegmentationOptions(
            labels: labels?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) },
            meshes: meshes,
            frame: frame,
            tileStep: stepSize,
            disablesMirroring: disableTTA,
            usesReferenceRounding: referenceRounding,
            fixesTilt: fixTilt,
            regions: try rois.map { try RegionInstruction(path: absolutePath($0)) },
            comparePath: try compare.map { try ReferenceInstruction.checked(absolutePath($0)) },
            writesSegmentationObject: dicomSegmentation,
            writesStructureSet: rtstruct,
            drawsSlices: pictures
        )
    }

    /// The options by their names; those of tasks that no model is for are left out, or refused where they were given.
    private func words(for tasks: Set<ModelTask>) throws -> [String: String] {
        var words: [String: String] = [:]
        if tasks.contains(.volumeSegmentation) {
            words.merge(try segmentationOptions().words) { $1 }
        } else if rois != nil || compare != nil {
            throw ValidationError("--rois and --compare are for models that segment volumes, and none is given")
        }
        if existingLabels {
            let options = try segmentationOptions()
            words.merge(ExistingLabelsOptions(meshes: options.meshes, frame: options.frame).words) { $1 }
        }
        if tasks.contains(.photoClassification) {
            words.merge(PhotoClassificationOptions(metadataPath: metadata.map(absolutePath)).words) { $1 }
        } else if metadata != nil {
            throw ValidationError("--metadata is for models that classify photos, and none is given")
        }
        if tasks.contains(.photoInstances) {
            words.merge(PhotoInstancesOptions(usesSingleItemFallback: singleItemFallback).words) { $1 }
        } else if singleItemFallback {
            throw ValidationError("--single-item-fallback is for models that take photos apart, and none is given")
        }
        return words
    }

    /// `--only` with the models' ids, each pattern once.
    private func routes(_ packages: [ModelPackage]) throws -> [String]? {
        var routes: [String] = []
        let ids = packages.map(\.id) + (existingLabels ? [ExistingLabels.model] : [])
        for word in only {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                throw ValidationError(
                    "--only takes a model and a pattern, such as \(ids[0])=*.jpg, not \(word)"
                )
            }
            // By the id, or as it was given to --model.
            let named =
                zip(model, packages).first { $0 == parts[0] || $1.id == parts[0] }?.1.id ?? ids.first { $0 == parts[0] }
            guard let named else {
                throw ValidationError(
                    "--only names \(parts[0]); the models are \(ids.joined(separator: ", "))"
                )
            }
            let route = "\(named)=\(parts[1])"
            if !routes.contains(route) { routes.append(route) }
        }
        return routes.isEmpty ? nil : routes
    }

    /// The batch these arguments describe, with its models named by their folders.
    func description() throws -> BatchDescription {
        guard !model.isEmpty || existingLabels else {
            throw ValidationError("name a model with --model, or take what is there with --existing-labels")
        }
        guard InferencePrecision(rawValue: precision) != nil else {
            throw ValidationError("--precision takes exact, float32 or bfloat16, not \(precision)")
        }
        guard ["auto", "builtin", "openvino"].contains(engine) else {
            throw ValidationError("--engine takes auto, builtin or openvino, not \(engine)")
        }
        let packages = try model.map { try LoadedModels.package($0) }
        var words = try words(for: Set(packages.map(\.task)))
        words["engine"] = engine
        words["precision"] = precision
        guard let policy = IdentifierPolicy(rawValue: identifiers) else {
            throw ValidationError("--identifiers takes none, hash or keep, not \(identifiers)")
        }
        words.merge(policy.words) { $1 }
        for package in packages where packages.filter({ $0.id == package.id }).count > 1 {
            throw ValidationError(
                "two models have the id \(package.id): \(packages.map(\.folder).joined(separator: ", "))"
            )
        }
        return BatchDescription(
            version: Nocturne.version,
            models: packages.map { .init(id: $0.id, name: $0.name, version: $0.version, digest: $0.digest.hex) },
            options: words,
            inputs: try allInputs(),
            include: include,
            exclude: exclude,
            only: try routes(packages),
            modelPaths: packages.map { absolutePath($0.folder) }
        )
    }
}

/// A path that does not depend on the folder the command was given in.
func absolutePath(_ path: String) -> String {
    let expanded = (path as NSString).expandingTildeInPath
    let whole = expanded.hasPrefix("/") ? expanded : FileManager.default.currentDirectoryPath + "/" + expanded
    return (whole as NSString).standardizingPath
}
