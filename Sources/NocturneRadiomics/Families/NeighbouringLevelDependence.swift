internal import NocturneCore

private let features =
    FeatureDefinition.shared(
        "ngl",
        [
            ("lde", "SODN", "Low dependence emphasis"), ("hde", "IMOQ", "High dependence emphasis"),
            ("lgce", "TL9H", "Low grey level count emphasis"), ("hgce", "OAE7", "High grey level count emphasis"),
            ("ldlge", "EQ3F", "Low dependence low grey level emphasis"),
            ("ldhge", "JA6D", "Low dependence high grey level emphasis"),
            ("hdlge", "NBZI", "High dependence low grey level emphasis"),
            ("hdhge", "9QMG", "High dependence high grey level emphasis"),
            ("glnu", "FP8K", "Grey level non-uniformity"),
            ("glnu_norm", "5SPA", "Normalised grey level non-uniformity"),
            ("dcnu", "Z87G", "Dependence count non-uniformity"),
            ("dcnu_norm", "OKJI", "Normalised dependence count non-uniformity"),
            ("dc_perc", "6XV8", "Dependence count percentage"), ("gl_var", "1PFV", "Grey level variance"),
            ("dc_var", "DNX2", "Dependence count variance"), ("dc_entr", "FCBV", "Dependence count entropy"),
        ]
    ) + [FeatureDefinition("ngl_dc_energy", "CAS9", "Dependence count energy") { $0.squares / ($0.total * $0.total) }]

extension FeatureFamily {
    /// The neighbouring grey level dependence matrix (section 3.11, REK0): how many neighbours have nearly the same level.
    static let levelDependence = FeatureFamily(.ngldm, features) { source, grid in
        { slices, inSpace in
            let texture = source.settings.texture
            let offsets = LevelGrid.offsets(within: texture.neighbourDistance, inSpace: inSpace)
            return LevelSizeMatrix.dependences(
                of: grid,
                slices: slices,
                offsets: offsets,
                coarseness: texture.coarseness
            )
        }
    }
}

extension LevelSizeMatrix {
    /// Counts the dependent neighbours of a row of voxels offset by offset, which the compiler turns into vectors.
    fileprivate static func dependences(
        of grid: LevelGrid,
        slices: Range<Int>,
        offsets: [SIMD3<Int>],
        coarseness: Int
    ) -> LevelSizeMatrix {
        var matrix = LevelSizeMatrix(grid, width: offsets.count + 1, voxels: grid.voxels(in: slices))
        let shape = grid.shape
        let most = Int32(coarseness)
        var dependent = [Int32](repeating: 0, count: shape.x)
        grid.levels.withUnsafeBufferPointer { levels in
            for slice in slices {
                for row in 1..<shape.y - 1 {
                    let first = shape.offset(0, row, slice)
                    // The manual counts the voxel itself as dependent: sizes begin at 1.
                    for i in 0..<shape.x { dependent[i] = 1 }
                    for offset in offsets {
                        let (j, k) = (row + offset.y, slice + offset.z)
                        // The layer around the box has no levels: rows in it or beyond it add nothing.
                        guard j > 0, k > 0, j < shape.y - 1, k < shape.z - 1 else { continue }
                        let other = shape.offset(offset.x, j, k)
                        for i in max(1, 1 - offset.x)..<max(1, 1 - offset.x, min(shape.x - 1, shape.x - 1 - offset.x)) {
                            // Signed, as a difference of unsigned levels would trap below 0.
                            let (a, b) = (Int32(levels[first + i]), Int32(levels[other + i]))
                            dependent[i] &+= b != 0 && abs(a &- b) <= most ? 1 : 0
                        }
                    }
                    for i in 1..<shape.x - 1 where levels[first + i] != 0 {
                        matrix.count(level: Int(levels[first + i]), size: Int(dependent[i]))
                    }
                }
            }
        }
        return matrix
    }
}
