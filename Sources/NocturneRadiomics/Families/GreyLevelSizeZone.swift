/// The grey level size zone matrix (section 3.8, 9SAK): how large the connected parts of a level are.
enum GreyLevelSizeZone: FeatureFamily {
    static let family = RadiomicsSettings.Family.glszm
    static let section = "3.8"
    static let matrices = FeatureMatrices.undirected

    private static let features = FeatureDefinition<LevelSizeMeasures>.shared(
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

    static var descriptions: [FeatureDescription] { features.map(\.description) }

    static func values(of source: FeatureSource) -> [FeatureValue] {
        switch source.levels {
        case .failure(let error): return absent(error.absence, source.settings)
        case .success(let grid):
            let texturing = UndirectedTexture(grid: grid, features: features) { slices, inSpace in
                // Most zones are small.
                var matrix = LevelSizeMatrix(grid, width: 64, voxels: grid.voxels(in: slices))
                for zone in LevelZones.zones(of: grid, slices: slices, inSpace: inSpace) {
                    matrix.count(level: zone.level, size: zone.voxels)
                }
                return matrix
            }
            return texturing.values(source.settings.extents)
        }
    }
}
