import Foundation
package import NocturneBatch
package import NocturneConcurrency
package import NocturneInference
package import NocturneJournal
import NocturneNumerics
import NocturneOutput
package import NocturneRecipeSupport
package import NocturneSystem

/// Segmentation of volumes: the entry in the registry.
extension VolumeSegmentation: RecipeKind {
    package static let task = "volume-segmentation"
    /// Also programs, which apply several packages.
    package static let packageTasks = [task, VolumeModelSettings.programTask]
    package static let purpose = "segment volumes"
    package static let settings: (any ModelSettings.Type)? = VolumeModelSettings.self
    /// Nil: results of this recipe are older than the `task` key.
    package static let resultTask: String? = nil
    /// `Schemas/result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.result_schema_json)
    package static var result: any InspectableResult.Type { SegmentationResult.self }

    /// Loads the networks.
    /// - Throws: `BatchError` for a package that cannot be used, and for a label of `--labels` that no model has.
    package static func make(_ models: [ChosenModel], options: SegmentationOptions) throws -> any Recipe {
        let models = try load(models) {
            try SegmentationModel(package: $0.package, engine: $0.engine, precision: $0.precision)
        }
        let known = Set(models.flatMap { $0.package.labels.map(\.name) })
        for label in options.labels?.names ?? [] where !known.contains(label) {
            let meant = Spelling.nearest(to: label, among: known.sorted()).map { " Did you mean \($0)?" } ?? ""
            throw BatchError(
                .modelUnusable,
                path: "",
                detail: "no model has a label \"\(label)\".\(meant) Labels: \(known.sorted().joined(separator: ", "))"
            )
        }
        return try VolumeSegmentation(models: models, options: options)
    }

    /// The inputs, the steps of a program, and each level of each member.
    package static func details(of package: ModelPackage) throws -> [String] {
        let settings = try VolumeModelSettings(package)
        let inputs =
            settings.inputFormat == .tiff
            ? "TIFFs whose pages are slices" : "DICOM series, NIfTI, NRRD and MetaImage files"
        return ["Inputs: \(inputs)"] + settings.programDetails(package)
            + settings.members.flatMap { member in
                member.settings.levels.enumerated().map { index, level in
                    let place = member.path.isEmpty ? "Cascade level" : "\(member.path), cascade level"
                    return "\(place) \(index + 1): " + level.details
                }
            }
    }

    /// The networks of all levels, with the shape of a patch.
    package static func networks(of model: ChosenModel) throws -> [NetworkInputs] {
        let model = try SegmentationModel(package: model.package, engine: model.engine, precision: model.precision)
        return model.networks.map { NetworkInputs(file: $0.file, shape: $0.inputShape) }
    }

    /// The pictures and the labels; a result that a person has edited is marked.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(SegmentationResult.Shown.self, from: Data(result))
        var parts = ReviewParts(
            volumeWith: result.files,
            options: result.options,
            titles: SegmentationResult.pictureTitles
        )
        parts.labels = result.labels.map {
            ReviewParts.Label(value: $0.value, name: $0.name, color: $0.color, mesh: $0.mesh?.reviewFile)
        }
        parts.isEdited = result.edited != nil
        parts.facts = LabelFacts.text(result.labels.map { ($0.name, $0.voxelCount, $0.volumeMl) })
        return parts
    }

    /// Of both label maps, by label.
    package static func agreement(_ folder: String, _ other: String, scope: ComputeScope) throws -> [Statistic] {
        try LabelMapComparison.rows(folder, other, scope: scope)
    }

    /// The edited label map must have the voxels and the labels of `segmentation.nii.gz` in the folder.
    package static func checkEdit(_ path: String, of folder: String, scope: ComputeScope) throws -> String {
        let map = folder + "/" + SegmentationWriter.labelFile
        try EditedLabelMap.check(path, against: map, scope: scope)
        return map
    }
}

extension VolumeModelSettings {
    /// Lines about a program for `models show`; none for a package that is not a program.
    fileprivate func programDetails(_ package: ModelPackage) -> [String] {
        guard package.task == Self.programTask else { return [] }
        var lines: [String] = []
        if let grid {
            let spacing = grid.spacing?.map { "\($0)" }.joined(separator: "×")
            lines.append(
                "Grid of the program: RAS, spacing "
                    + (spacing.map { "\($0) mm, resampled by \(grid.resampling.method)" } ?? "of the volume")
            )
        }
        if let region {
            lines.append(
                "Region: \(region.labels.count) labels of \(region.member.path), \(region.margin.text)"
            )
        }
        for (index, part) in parts.enumerated() {
            let members = part.members.map(\.path).joined(separator: ", ")
            let kind = part.members.count > 1 ? "ensemble of " : ""
            lines.append("Part \(index + 1): \(kind)\(members), labels: \(part.labels.count)")
        }
        return lines
    }
}

extension CascadeLevel {
    /// What `models show` prints about a level.
    fileprivate var details: String {
        let spacing = spacing.map { $0.map { $0.map { "\($0)" } ?? "own" }.joined(separator: "×") + " mm" }
        return "spacing \(spacing ?? "the volume's own"), patch "
            + patchSize.map(String.init).joined(separator: "×")
            + ", step \(tileStep), networks: \(networks.count), mirrored axes: \(mirroringAxes.count)"
    }
}

extension Margin {
    /// For `models show` and errors.
    var text: String {
        let parts = [
            millimetres > 0 || voxels == 0 && share == 0 ? "\(millimetres) mm" : nil,
            voxels > 0 ? "\(voxels) voxels" : nil, share > 0 ? "\(share * 100) % of the extent" : nil,
        ]
        return "margin " + parts.compactMap(\.self).joined(separator: " + ")
    }
}
