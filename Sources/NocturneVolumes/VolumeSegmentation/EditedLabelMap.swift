import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

/// A label map that a person has edited.
enum EditedLabelMap {
    /// The model's label map, beside the edited one.
    static let originalFile = "segmentation-model.nii.gz"

    /// Checks that a file can take the place of an item's label map: it has the same voxels, in any order of the axes, and
    /// no values but those of the item's labels.
    /// - Parameter map: the item's label map.
    /// - Throws: `LabelMapError`; `CancelledError`.
    static func check(_ path: String, against map: String, scope: ComputeScope) throws {
        let own: NIfTIHeader
        var counts = [Int](repeating: 0, count: 1 << 16)
        let edited: NIfTIHeader
        do {
            own = try NIfTIReader.readHeader(at: map)
            let geometry = try NIfTIReader.readHeader(at: path).geometry
            guard GridMapping(of: geometry, in: own.geometry) != nil else {
                throw LabelMapError(detail: LabelVolume.difference(geometry, own.geometry))
            }
            edited = try NIfTIReader.scanLabels(at: path, scope: scope) { _, _, labels in
                for label in labels { counts[Int(label)] += 1 }
            }
        } catch let error as NIfTIError {
            throw LabelMapError(detail: error.detail)
        }
        let names = own.labelNames
        for value in 1..<counts.count where counts[value] > 0 {
            guard let name = names[UInt16(value)] else {
                let known = names.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
                throw LabelMapError(
                    detail: "\(counts[value]) voxels have the value \(value), which is not a label of the item. "
                        + "Its labels are \(known)"
                )
            }
            if let other = edited.labelNames[UInt16(value)], !ReferenceNames.areSame(other, name) {
                throw LabelMapError(
                    detail:
                        "it calls the value \(value) \(other), the item calls it \(name): the labels have another order"
                )
            }
        }
    }

    /// The labels in the order of the item's voxels.
    static func read(_ path: String, on geometry: VolumeGeometry, _ scope: ComputeScope) throws -> LabelVolume {
        let labels = try NIfTIReader.readLabels(at: path, scope: scope).labels
        guard GridMapping(of: labels.geometry, in: geometry) != nil else {
            throw VolumeError(code: .otherGrid, path: path, detail: LabelVolume.difference(labels.geometry, geometry))
        }
        return try labels.arranged(on: geometry, nil, scope)
    }
}
