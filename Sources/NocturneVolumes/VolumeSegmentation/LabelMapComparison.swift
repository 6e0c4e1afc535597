import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Compares the label maps of two results of one volume.
enum LabelMapComparison {
    /// Agreement of the labels that both maps have, matched by their names.
    /// - Parameters:
    ///   - first: the folder of a result, of which the grid and the names are taken.
    ///   - second: the folder of the other.
    /// - Throws: ``LabelMapError`` when they cannot be compared; `CancelledError`; `AllocationError`.
    static func rows(_ first: String, _ second: String, scope: ComputeScope) throws -> [Statistic] {
        let file = "/segmentation.nii.gz"
        do {
            let own = try NIfTIReader.readLabels(at: first + file, scope: scope)
            let other = try NIfTIReader.readLabels(at: second + file, scope: scope)
            guard GridMapping(of: other.labels.geometry, in: own.labels.geometry) != nil else {
                throw LabelMapError(detail: LabelVolume.difference(other.labels.geometry, own.labels.geometry))
            }
            let (names, others) = (own.header.labelNames, other.header.labelNames)
            let matched = names.sorted { $0.key < $1.key }.compactMap { value, name in
                others.first { ReferenceNames.areSame($0.value, name) }.map {
                    (value: value, other: $0.key, name: name)
                }
            }
            guard !matched.isEmpty else { throw LabelMapError(detail: "they have no label with the same name") }
            let table = Dictionary(matched.map { ($0.other, $0.value) }) { first, _ in first }
            let compared = try LabelComparer.compare(
                labels: own.labels,
                reference: try other.labels.arranged(on: own.labels.geometry, table, scope),
                values: matched.map(\.value),
                scope: scope
            )
            return zip(matched, compared).flatMap { label, found in
                SegmentationResult.Comparison.Label(
                    found,
                    name: label.name,
                    voxelVolume: own.labels.geometry.voxelVolume
                ).statistics
            }
        } catch let error as NIfTIError where error.code != .outOfMemory {
            throw LabelMapError(detail: "\(error)")
        }
    }
}
