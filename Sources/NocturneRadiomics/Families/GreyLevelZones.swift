internal import NocturneConcurrency
internal import NocturneCore
package import NocturnePostprocess
package import NocturneSystem

private let sizeFeatures = FeatureDefinition.shared(
    "szm",
    [
        ("sze", "5QRC", "Small zone emphasis"), ("lze", "48P8", "Large zone emphasis"),
        ("lgze", "XMSY", "Low grey level zone emphasis"), ("hgze", "5GN9", "High grey level zone emphasis"),
        ("szlge", "5RAI", "Small zone low grey level emphasis"),
        ("szhge", "HW1V", "Small zone high grey level emphasis"),
        ("lzlge", "YH51", "Large zone low grey level emphasis"),
        ("lzhge", "J17V", "Large zone high grey level emphasis"), ("glnu", "JNSA", "Grey level non-uniformity"),
        ("glnu_norm", "Y1RO", "Normalised grey level non-uniformity"), ("zsnu", "4JP3", "Zone size non-uniformity"),
        ("zsnu_norm", "VB3A", "Normalised zone size non-uniformity"), ("z_perc", "P30P", "Zone percentage"),
        ("gl_var", "BYLV", "Grey level variance"), ("zs_var", "3NSA", "Zone size variance"),
        ("zs_entr", "GU8N", "Zone size entropy"),
    ]
)

private let distanceFeatures = FeatureDefinition.shared(
    "dzm",
    [
        ("sde", "0GBI", "Small distance emphasis"), ("lde", "MB4I", "Large distance emphasis"),
        ("lgze", "S1RA", "Low grey level zone emphasis"), ("hgze", "K26C", "High grey level zone emphasis"),
        ("sdlge", "RUVG", "Small distance low grey level emphasis"),
        ("sdhge", "DKNJ", "Small distance high grey level emphasis"),
        ("ldlge", "A7WM", "Large distance low grey level emphasis"),
        ("ldhge", "KLTH", "Large distance high grey level emphasis"), ("glnu", "VFT7", "Grey level non-uniformity"),
        ("glnu_norm", "7HP3", "Normalised grey level non-uniformity"),
        ("zdnu", "V294", "Zone distance non-uniformity"),
        ("zdnu_norm", "IATH", "Normalised zone distance non-uniformity"), ("z_perc", "VIWW", "Zone percentage"),
        ("gl_var", "QK93", "Grey level variance"), ("zd_var", "7WT1", "Zone distance variance"),
        ("zd_entr", "GBDU", "Zone distance entropy"),
    ]
)

extension FeatureFamily {
    /// The grey level size zone matrix (section 3.8, 9SAK): how large the connected parts of a level are.
    static let sizeZone = FeatureFamily(.glszm, sizeFeatures) { source, grid in
        { slices, _ in LevelSizeMatrix(grid, slices, source.flag) }
    }

    /// The grey level distance zone matrix (section 3.9, VMDZ): how far the connected parts of a level are from the edge of
    /// the morphological mask.
    static let distanceZone = FeatureFamily(.gldzm, distanceFeatures) { source, grid in
        let extents = source.settings.extents
        // Once for all slices and aggregations, as distances depend on the mask alone.
        let inSlices = extents.contains { $0 != .volume } ? source.region.edgeDistances(inSpace: false) : []
        let inVolume = extents.contains(.volume) ? source.region.edgeDistances(inSpace: true) : []
        return { slices, inSpace in
            LevelSizeMatrix(grid, slices, distances: inSpace ? inVolume : inSlices, source.flag)
        }
    }
}

extension LevelGrid {
    /// The zones of some slices: voxels of equal level that touch by a face, an edge or a corner.
    /// - Throws: ``CancelledError``
    package func zones(in slices: Range<Int>, _ flag: CancellationFlag) throws(CancelledError) -> ConnectedComponents {
        let box = VoxelBox(
            lower: SIMD3(0, 0, slices.lowerBound),
            upper: SIMD3(shape.x, shape.y, slices.upperBound)
        )
        return try levels.withUnsafeBufferPointer { levels throws(CancelledError) in
            try ConnectedComponents(levels, shape, box, .everyLabel, .corners, .serial(flag))
        }
    }
}

extension LevelSizeMatrix {
    /// Counts zones by their voxels or, with distances, by the least distance of their voxels. Most are small, and few are far
    /// from the edge: the table has 64 sizes.
    fileprivate init(
        _ grid: LevelGrid,
        _ slices: Range<Int>,
        distances: [UInt16]? = nil,
        _ flag: CancellationFlag
    ) {
        self.init(grid, width: 64, voxels: grid.voxels(in: slices))
        // Cancelled: what the family has then is thrown away.
        guard let zones = try? grid.zones(in: slices, flag) else { return }
        guard let distances else {
            for zone in zones.components { count(level: Int(zone.value), size: zone.voxelCount) }
            return
        }
        var least = [UInt16](repeating: .max, count: zones.components.count)
        zones.forEachRun { zone, voxels, _, _ in
            for voxel in voxels { least[zone] = min(least[zone], distances[voxel]) }
        }
        for (zone, distance) in zip(zones.components, least) { count(level: Int(zone.value), size: Int(distance)) }
    }
}

extension RadiomicsRegion {
    /// The distance of the voxels of the morphological mask from its edge: the number of steps through faces to a voxel
    /// outside, which may be outside the image. In the order of a ``LevelGrid``; 0 outside the mask.
    /// - Complexity: two passes for each axis.
    fileprivate func edgeDistances(inSpace: Bool) -> [UInt16] {
        let inner = self.shape
        // One layer around the box, whose distance is 0: beyond the image counts as outside.
        let shape = VolumeShape(x: inner.x + 2, y: inner.y + 2, z: inner.z + 2)
        var distances = [UInt16](repeating: 0, count: shape.count)
        for k in 0..<inner.z {
            for j in 0..<inner.y {
                let target = shape.offset(1, j + 1, k + 1)
                for i in 0..<inner.x where morphology[inner.offset(i, j, k)] != 0 {
                    // Larger than every distance, and 1 can be added to it.
                    distances[target + i] = .max - 1
                }
            }
        }
        distances.withUnsafeMutableBufferPointer { distances in
            // Distances through faces add up over the axes, so that one pass in each direction of an axis is exact.
            for step in [1, shape.x] + (inSpace ? [shape.sliceCount] : []) {
                for place in step..<shape.count {
                    distances[place] = min(distances[place], distances[place - step] + 1)
                }
                for place in (0..<shape.count - step).reversed() {
                    distances[place] = min(distances[place], distances[place + step] + 1)
                }
            }
        }
        return distances
    }
}
