import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// A label map that a person has edited.
enum EditedLabelMap {
    /// The model's label map, next to the edited one.
    static let originalFile = "segmentation-model.nii.gz"

    /// Checks that a file can take the place of an item's label map: it has the same voxels, in any order of the axes, and
    /// no values but those of the item's labels.
    /// - Parameter map: the item's label map.
    /// - Throws: `LabelMapError`; `CancelledError`.
    static func check(_ path: String, against map: String, scope: ComputeScope) throws {
        let own: VolumeFileHeader
        var counts = [Int](repeating: 0, count: 1 << 16)
        let edited: VolumeFileHeader
        do {
            own = try VolumeFileReader.readHeader(at: map)
            let header = try VolumeFileReader.readHeader(at: path)
            guard header.dataPath == path else {
                let detail = "its voxels are in another file. Save it as one file, such as .nii.gz, .nrrd or .mha"
                throw LabelMapError(detail: detail)
            }
            let geometry = header.geometry
            guard GridMapping(of: geometry, in: own.geometry) != nil else {
                throw LabelMapError(detail: LabelVolume.difference(geometry, own.geometry))
            }
            edited = try VolumeFileReader.scanLabels(at: path, scope: scope) { _, _, labels in
                for label in labels { counts[Int(label)] += 1 }
            }
        } catch let error as VolumeFileError {
            throw LabelMapError(detail: error.detail)
        }
        let names = own.labelNames
        for value in 1..<counts.count where counts[value] > 0 {
            guard let name = names[UInt16(value)] else {
                let known = names.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
                throw LabelMapError(
                    detail:
                        "\(counted(counts[value], "voxel has", plural: "voxels have")) the value \(value), which is not a label of the item. "
                        + "Its labels are \(known)"
                )
            }
            if let other = edited.labelNames[UInt16(value)], !LabelName.areSame(other, name) {
                throw LabelMapError(
                    detail:
                        "it calls the value \(value) \(other), the item calls it \(name): the labels have another order"
                )
            }
        }
    }

    /// The labels in the order of the item's voxels.
    static func read(
        _ path: String,
        on geometry: VolumeGeometry,
        _ scope: ComputeScope,
        note: (Note) -> Void = { _ in }
    ) throws -> LabelVolume {
        let labels = try VolumeFileReader.readLabels(at: path, scope: scope, note: note).labels
        guard GridMapping(of: labels.geometry, in: geometry) != nil else {
            throw VolumeError(.otherGrid, path: path, LabelVolume.difference(labels.geometry, geometry))
        }
        return try labels.arranged(on: geometry, nil, scope)
    }
}

extension LabelVolume {
    /// The labels in the order of another grid's voxels, where both have the same voxels in the patient. Otherwise as they are.
    /// - Parameter values: the value that each value becomes, 0 for those that are missing; nil to keep all.
    func arranged(
        on geometry: VolumeGeometry,
        _ values: [UInt16: UInt16]?,
        _ scope: ComputeScope
    ) throws -> LabelVolume {
        guard let mapping = GridMapping(of: self.geometry, in: geometry) else { return self }
        // The item's own grid: files of label maps have positions in single precision.
        if mapping.changesNothing, values == nil { return LabelVolume(geometry: geometry, voxels: voxels) }
        let table = (0...Int(UInt16.max)).map { value in
            values.map { $0[UInt16(value)] ?? 0 } ?? UInt16(value)
        }
        let shape = geometry.shape
        var arranged = try VoxelBuffer<UInt16>(count: shape.count)
        try voxels.withParallelReader { voxels in
            try arranged.withParallelBuffer { target in
                try scope.forEach(shape.z) { k in
                    for j in 0..<shape.y {
                        let (start, step) = mapping.row(j, k)
                        let row = target + shape.offset(0, j, k)
                        for i in 0..<shape.x { row[i] = table[Int(voxels[start + i * step])] }
                    }
                }
            }
        }
        return LabelVolume(geometry: geometry, voxels: arranged.frozen())
    }

    /// How the grid of a label map differs from an item's, for a person.
    static func difference(_ other: VolumeGeometry, _ own: VolumeGeometry) -> String {
        let (counts, others) = ([own.shape.x, own.shape.y, own.shape.z], other.shape)
        guard counts.sorted() == [others.x, others.y, others.z].sorted() else {
            return "it has \(text(others)) voxels, but the item's image has \(text(own.shape))"
        }
        // With as many decimals as show a difference: steps add up over the voxels.
        func texts(_ text: (VolumeGeometry, _ decimals: Int) -> String) -> (other: String, own: String)? {
            (2...8).map { (other: text(other, $0), own: text(own, $0)) }.first { $0.other != $0.own }
        }
        let fact = "its voxels are not at the positions of the item's image, in any order of the axes: "
        if length(other.affine(.zero) - own.affine(.zero)) > 1e-3, let firsts = texts(first) {
            return fact + "the first one is at \(firsts.other) mm (RAS), that of the image at \(firsts.own) mm"
        }
        guard let found = texts(steps) else {
            return fact + "it has \(text(others)) voxels, the item's image has \(text(own.shape))"
        }
        return fact + "the first one of both is at \(first(own, 2)) mm (RAS), but the steps to the next ones are "
            + "\(found.other) mm, those of the image \(found.own) mm"
    }

    /// The position of the first voxel.
    private static func first(_ geometry: VolumeGeometry, _ decimals: Int) -> String {
        text(geometry.affine(.zero), decimals)
    }

    /// Along i, j and k.
    private static func steps(_ geometry: VolumeGeometry, _ decimals: Int) -> String {
        (0..<3).map { "(" + text(geometry.affine.column($0), decimals) + ")" }.joined(separator: ", ")
    }

    private static func text(_ place: SIMD3<Double>, _ decimals: Int) -> String {
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        // Adding zero makes 0 of -0.
        return (0..<3).map { "\((place[$0] * scale).rounded() / scale + 0)" }.joined(separator: ", ")
    }

    private static func text(_ shape: VolumeShape) -> String { "\(shape.x) x \(shape.y) x \(shape.z)" }
}

/// Compares the label maps of two results of one volume.
enum LabelMapComparison {
    /// Agreement of the labels that both maps have, matched by their names.
    /// - Parameters:
    ///   - first: the folder of the result that is the reference, of which the grid and the names are taken: differences are the second
    ///     minus the first.
    ///   - second: the folder of the other.
    /// - Throws: ``LabelMapError`` when they cannot be compared; `CancelledError`; `AllocationError`.
    static func rows(_ first: String, _ second: String, scope: ComputeScope) throws -> [Statistic] {
        let file = "/" + SegmentationWriter.labelFile
        do {
            let own = try VolumeFileReader.readLabels(at: first + file, scope: scope)
            let other = try VolumeFileReader.readLabels(at: second + file, scope: scope)
            guard GridMapping(of: other.labels.geometry, in: own.labels.geometry) != nil else {
                throw LabelMapError(detail: LabelVolume.difference(other.labels.geometry, own.labels.geometry))
            }
            let (names, others) = (own.header.labelNames, other.header.labelNames)
            let matched = names.sorted { $0.key < $1.key }.compactMap { value, name in
                others.first { LabelName.areSame($0.value, name) }.map {
                    (value: value, other: $0.key, name: name)
                }
            }
            guard !matched.isEmpty else { throw LabelMapError(detail: "they have no label with the same name") }
            let table = Dictionary(matched.map { ($0.other, $0.value) }) { first, _ in first }
            let compared = try LabelComparison.compare(
                labels: try other.labels.arranged(on: own.labels.geometry, table, scope),
                reference: own.labels,
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
        } catch let error as VolumeFileError where error.code != .outOfMemory {
            throw LabelMapError(detail: "\(error)")
        }
    }
}
