import NocturneCore
import NocturneRadiomics
import NocturneTestSupport

/// The standard's digital phantom, and its reference values.
enum DigitalPhantom {
    static let shape = VolumeShape(x: 5, y: 4, z: 4)
    static let spacing = SIMD3(2.0, 2, 2)

    /// The grey levels, and 1 in the mask.
    static func voxels() throws -> (levels: [Float], mask: [UInt8]) {
        let words = String(decoding: try Fixtures.bytes("IBSI/digital-phantom.txt"), as: UTF8.self).split {
            $0 == " " || $0 == "\n"
        }
        let levels = words.compactMap { Float($0.split(separator: "-")[0]) }
        return (levels, words.map { $0.hasSuffix("-") ? 0 : 1 })
    }

    static func region() throws -> RadiomicsRegion? {
        let (levels, mask) = try voxels()
        return RadiomicsRegion(shape: shape, spacing: spacing, intensities: levels, mask: mask)
    }

    /// Without processing: intensities are the grey levels.
    static var settings: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.discretisation = RadiomicsSettings.Discretisation(method: .identity)
        settings.texture.aggregations = Aggregation.allCases
        return settings
    }

    struct Reference {
        let name: String
        /// nil where the standard has none.
        let value: Double?
        let tolerance: Double
        let text: Substring
    }

    static func references() throws -> [Reference] {
        let lines = String(decoding: try Fixtures.bytes("IBSI/digital-phantom.csv"), as: UTF8.self)
            .split(whereSeparator: \.isNewline).dropFirst()
        return lines.map { line in
            let fields = line.split(separator: ";", omittingEmptySubsequences: false)
            let tolerance = Double(fields[1]) ?? 0
            return Reference(name: String(fields[2]), value: Double(fields[0]), tolerance: tolerance, text: fields[0])
        }
    }
}
