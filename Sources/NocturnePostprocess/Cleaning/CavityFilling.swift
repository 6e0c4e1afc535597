internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension LabelCleaner {
    /// Finds background that is enclosed by one label, and assigns that label to it.
    ///
    /// One search over the background inside the common bounding box of the labels serves all of them: background that
    /// reaches the box's border has a neighbour outside every label, so it is not a cavity of any label. Two cavities never
    /// touch through a face, so filling one does not change another.
    /// - Parameter isPlane: whether the map is a picture of one slice, which is not open above and below.
    /// - Returns: the number of voxels that each label was assigned to.
    static func fillCavities(
        _ values: Set<UInt16>,
        in box: VoxelBox,
        of labels: inout VoxelBuffer<UInt16>,
        shape: VolumeShape,
        isPlane: Bool,
        scope: ComputeScope
    ) throws(CancelledError) -> [UInt16: Int] {
        let background = try labels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            try ConnectedComponents(voxels, shape, box, .value(0), .faces, scope)
        }
        // First the border, which excludes most of the background and makes the neighbours below safe to read.
        var around = [EnclosingRegion](repeating: .unseen, count: background.components.count)
        background.forEachRun { component, _, run, row in
            let (j, k) = background.runs.place(ofRow: row)
            if Int(run.begin) == box.lower.x || Int(run.end) == box.upper.x || j == box.lower.y || j == box.upper.y - 1
                || !isPlane && (k == box.lower.z || k == box.upper.z - 1)
            {
                around[component] = .open
            }
        }
        guard around.contains(.unseen) else { return [:] }
        try scope.check()

        labels.withUnsafeBufferPointer { voxels in
            background.forEachRun { component, run, _, _ in
                guard around[component] != .open else { return }
                // The voxels next to the ends of a run are never background: the run would be longer.
                around[component].add(voxels[run.lowerBound - 1])
                around[component].add(voxels[run.upperBound])
                for step in [-shape.x, shape.x] + (isPlane ? [] : [-shape.sliceCount, shape.sliceCount]) {
                    for voxel in run where voxels[voxel + step] != 0 { around[component].add(voxels[voxel + step]) }
                }
            }
        }
        try scope.check()

        var filled: [UInt16: Int] = [:]
        for (component, enclosing) in zip(background.components, around) {
            guard case .one(let value) = enclosing, values.contains(value) else { continue }
            filled[value, default: 0] += component.voxelCount
        }
        labels.withUnsafeMutableBufferPointer { voxels in
            background.forEachRun { component, run, _, _ in
                if case .one(let value) = around[component], values.contains(value) {
                    voxels[run].update(repeating: value)
                }
            }
        }
        return filled
    }

    /// What surrounds a background component.
    private enum EnclosingRegion: Equatable {
        case unseen
        case one(UInt16)
        /// Different labels, or the border of the box.
        case open

        mutating func add(_ value: UInt16) {
            switch self {
            case .unseen: self = .one(value)
            case .one(let seen) where seen != value: self = .open
            default: break
            }
        }
    }
}
