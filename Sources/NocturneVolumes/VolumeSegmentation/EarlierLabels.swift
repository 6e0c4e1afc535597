import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The label map in an earlier result of the same item, where nothing that it depends on has changed since: other surfaces,
/// pictures, measures or files are made from it, and no network runs.
struct EarlierLabels: Sendable {
    /// What the networks ran on; it may have been another machine.
    let engine: ResultEngine
    /// What the cleaning rules have done to the labels.
    let cleaning: [LabelCleaning]
    let confidence: [UInt16: LabelConfidence]
    private let folder: String
    private var path: String { folder + "/" + SegmentationWriter.labelFile }

    /// - Parameters:
    ///   - folder: the earlier result.
    ///   - wanted: the labels that the new result has.
    ///   - hasProbabilities: whether it has maps of their probabilities too.
    ///   - flag: once it is raised, the result is nil.
    /// - Returns: nil when the labels depend on something that has changed, when the result has not all that is wanted or was
    ///   edited, and when a map is not the one that was written.
    /// - Complexity: reads `result.json` and the maps once.
    init?(
        in folder: String,
        for source: VolumeSource,
        wanted: [ModelLabel],
        hasProbabilities: Bool,
        flag: CancellationFlag
    ) {
        guard
            let result = Self.result(in: folder, for: source, wanted: wanted, hasProbabilities: hasProbabilities)
        else { return nil }
        let maps = [SegmentationWriter.labelFile] + (hasProbabilities ? wanted.map(ProbabilityMaps.file) : [])
        let areIntact = maps.allSatisfy { map in
            guard let file = result.files.first(where: { $0.path == map }),
                let digest = try? FileSystem.digest(folder + "/" + map, while: { !flag.isCancelled })
            else { return false }
            return digest.digest.hex == file.sha256
        }
        guard areIntact else { return nil }
        self.folder = folder
        engine = result.engine
        let known = result.labels.compactMap { label in
            label.confidence.map { (UInt16(label.value), $0) }
        }
        confidence = Dictionary(known) { first, _ in first }
        cleaning = result.labels.compactMap { label in
            label.cleaning.map { earlier in
                var cleaning = earlier
                cleaning.value = UInt16(label.value)
                return cleaning
            }
        }
    }

    /// The earlier result; nil as above, but for its maps, which are not read.
    static func result(
        in folder: String,
        for source: VolumeSource,
        wanted: [ModelLabel],
        hasProbabilities: Bool
    ) -> SegmentationResult? {
        guard let fingerprint = source.labelsFingerprint,
            let bytes = try? FileSystem.read(folder + "/result.json"),
            let result = try? JSONDecoder().decode(SegmentationResult.self, from: Data(bytes)),
            result.labelsFingerprint == fingerprint, result.edited == nil,
            Set(wanted.map(\.name)).isSubset(of: result.labels.map(\.name)),
            !hasProbabilities
                || Set(wanted.map(ProbabilityMaps.file)).isSubset(of: result.labels.compactMap(\.probabilityFile))
        else { return nil }
        return result
    }

    /// Copies a file of the result.
    func copy(_ file: String, to path: String) throws { try FileSystem.copy(folder + "/" + file, to: path) }

    /// - Throws: `VolumeFileError`, ``VolumeError`` when the file was replaced meanwhile, `CancelledError`.
    func read(on geometry: VolumeGeometry, _ scope: ComputeScope) throws -> LabelVolume {
        try EditedLabelMap.read(path, on: geometry, scope)
    }
}

extension VolumeSource {
    /// Identifies everything that the label map of this volume depends on, before labels are selected.
    /// - Parameter stamp: of the source files.
    mutating func setLabelsFingerprint(_ stamp: String, _ model: SegmentationModel, _ options: SegmentationOptions) {
        // The other options choose among volumes, among labels, or what is made from them.
        var texts = options.tiles.fingerprintTexts()
        let used = model.partsInUse(options)
        // Of a program, only some parts may run, and those that do not cannot replace labels of others.
        if used.count < model.parts.count {
            texts.append("parts=" + used.flatMap(\.members).map(\.member.path).joined(separator: ","))
        }
        let grid = "\(geometry.shape) \(geometry.affine.rows) \(isCorrected)"
        let parts =
            ["nocturne labels 1", model.package.digest.hex, model.engineIdentity, model.precision.rawValue] + texts
            + [grid, stamp]
        labelsFingerprint = ContentDigest.of(parts.joined(separator: "\n")).hex
    }
}
