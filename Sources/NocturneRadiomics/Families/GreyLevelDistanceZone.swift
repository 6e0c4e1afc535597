internal import NocturneCore

/// The grey level distance zone matrix (section 3.9, VMDZ): how far the connected parts of a level are from the edge of
/// the morphological mask.
enum GreyLevelDistanceZone: FeatureFamily {
    static let family = RadiomicsSettings.Family.gldzm
    static let section = "3.9"
    static let matrices = FeatureMatrices.undirected

    private static let features = FeatureDefinition<LevelSizeMeasures>.shared(
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

    static var descriptions: [FeatureDescription] { features.map(\.description) }

    static func values(of source: FeatureSource) -> [FeatureValue] {
        switch source.levels {
        case .failure(let error): return absent(error.absence, source.settings)
        case .success(let grid):
            let extents = source.settings.extents
            let inSlices = extents.contains { $0 != .volume } ? EdgeDistance.map(of: source.region, inSpace: false) : []
            let inVolume = extents.contains(.volume) ? EdgeDistance.map(of: source.region, inSpace: true) : []
            let texturing = UndirectedTexture(grid: grid, features: features) { slices, inSpace in
                var matrix = LevelSizeMatrix(grid, width: 64, voxels: grid.voxels(in: slices))
                let distances = inSpace ? inVolume : inSlices
                for zone in LevelZones.zones(of: grid, slices: slices, inSpace: inSpace, distances: distances) {
                    matrix.count(level: zone.level, size: zone.distance)
                }
                return matrix
            }
            return texturing.values(extents)
        }
    }
}

/// The distance of the voxels of the morphological mask from its edge: the number of steps through faces to a voxel
/// outside, which may be outside the image.
enum EdgeDistance {
    /// In the order of a ``LevelGrid``; 0 outside the mask.
    /// - Complexity: two passes for each axis.
    static func map(of region: RadiomicsRegion, inSpace: Bool) -> [UInt16] {
        let inner = region.shape
        let shape = VolumeShape(x: inner.x + 2, y: inner.y + 2, z: inner.z + 2)
        var distances = [UInt16](repeating: 0, count: shape.count)
        for k in 0..<inner.z {
            for j in 0..<inner.y {
                let target = shape.offset(1, j + 1, k + 1)
                for i in 0..<inner.x where region.morphology[inner.offset(i, j, k)] != 0 {
                    distances[target + i] = .max - 1
                }
            }
        }
        distances.withUnsafeMutableBufferPointer { distances in
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
