internal import NocturneCore

private let features = FeatureDefinition.shared(
    "rlm",
    [
        ("sre", "22OV", "Short runs emphasis"), ("lre", "W4KF", "Long runs emphasis"),
        ("lgre", "V3SW", "Low grey level run emphasis"), ("hgre", "G3QZ", "High grey level run emphasis"),
        ("srlge", "HTZT", "Short run low grey level emphasis"),
        ("srhge", "GD3A", "Short run high grey level emphasis"),
        ("lrlge", "IVPO", "Long run low grey level emphasis"),
        ("lrhge", "3KUM", "Long run high grey level emphasis"),
        ("glnu", "R5YN", "Grey level non-uniformity"),
        ("glnu_norm", "OVBL", "Normalised grey level non-uniformity"),
        ("rlnu", "W92Y", "Run length non-uniformity"),
        ("rlnu_norm", "IC23", "Normalised run length non-uniformity"),
        ("r_perc", "9ZK5", "Run percentage"), ("gl_var", "8CE5", "Grey level variance"),
        ("rl_var", "SXLW", "Run length variance"), ("rl_entr", "HJ9O", "Run entropy"),
    ]
)

extension FeatureFamily {
    /// The grey level run length matrix (section 3.7, TP0I): how long levels continue in a direction.
    static let runLength = FeatureFamily(.glrlm, features, distance: { _ in 1 }) { _, grid in
        { slices, offset in LevelSizeMatrix.runs(of: grid, slices: slices, offset: offset) }
    }
}

extension LevelSizeMatrix {
    /// Counts each run at its first voxel, from which it is followed to its end.
    fileprivate static func runs(of grid: LevelGrid, slices: Range<Int>, offset: SIMD3<Int>) -> LevelSizeMatrix {
        let longest = max(grid.shape.x, grid.shape.y, grid.shape.z)
        var matrix = LevelSizeMatrix(grid, width: longest, voxels: grid.voxels(in: slices))
        let step = grid.step(offset)
        let shape = grid.shape
        var starts = [Int32](repeating: 0, count: shape.x)
        // The layer around the box ends every run.
        grid.levels.withUnsafeBufferPointer { levels in
            starts.withUnsafeMutableBufferPointer { starts in
                for slice in slices {
                    for row in 1..<shape.y - 1 {
                        let first = shape.offset(0, row, slice)
                        var found = 0
                        // Without branches: a processor cannot predict where runs begin.
                        for i in 1..<shape.x - 1 {
                            let (level, before) = (levels[first + i], levels[first + i - step])
                            starts[found] = Int32(i)
                            found += (level != 0 ? 1 : 0) & (level != before ? 1 : 0)
                        }
                        for number in 0..<found {
                            let start = first + Int(starts[number])
                            let level = levels[start]
                            var end = start + step
                            var length = 1
                            while levels[end] == level {
                                length += 1
                                end += step
                            }
                            matrix.count(level: Int(level), size: length)
                        }
                    }
                }
            }
        }
        return matrix
    }
}
