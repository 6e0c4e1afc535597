import Foundation
import NocturneSystem
import NocturneTestSupport

/// Writes DICOM data sets byte by byte, so that the tests do not lean on the library under test. Little endian only.
struct DICOMDataSet {
    enum Encoding { case explicit, implicit }

    private(set) var elements: [UInt32: (vr: String, value: [UInt8])] = [:]

    mutating func remove(_ tag: UInt32) { elements[tag] = nil }

    mutating func bytes(_ tag: UInt32, _ vr: String, _ value: [UInt8]) { elements[tag] = (vr, value) }

    mutating func text(_ tag: UInt32, _ vr: String, _ value: String) { bytes(tag, vr, Array(value.utf8)) }

    mutating func short(_ tag: UInt32, _ value: Int) {
        bytes(tag, "US", littleEndian(UInt16(truncatingIfNeeded: value)))
    }

    /// A sequence of explicit syntax.
    mutating func sequence(_ tag: UInt32, _ items: [DICOMDataSet]) {
        bytes(
            tag,
            "SQ",
            items.flatMap { item in
                let content = item.encoded(.explicit)
                return [0xFE, 0xFF, 0x00, 0xE0] + littleEndian(UInt32(content.count)) + content
            }
        )
    }

    /// A file with its pixels replaced by compressed fragments.
    func file(syntax: String, fragments: [[UInt8]]) -> [UInt8] {
        var set = self
        set.remove(0x7FE0_0010)
        var out = DICOMDataSet.preamble(syntax) + set.encoded(.explicit)
        out += [0xE0, 0x7F, 0x10, 0x00] + Array("OB".utf8) + [0, 0, 0xFF, 0xFF, 0xFF, 0xFF]
        for fragment in [[]] + fragments {
            let even = fragment.count % 2 == 0 ? fragment : fragment + [0]
            out += [0xFE, 0xFF, 0x00, 0xE0] + littleEndian(UInt32(even.count)) + even
        }
        return out + [0xFE, 0xFF, 0xDD, 0xE0, 0, 0, 0, 0]
    }

    func encoded(_ encoding: Encoding) -> [UInt8] {
        elements.sorted { $0.key < $1.key }.flatMap { tag, element in
            Self.element(tag, element.vr, element.value, encoding)
        }
    }

    static func element(_ tag: UInt32, _ vr: String, _ value: [UInt8], _ encoding: Encoding) -> [UInt8] {
        var value = value
        if value.count % 2 == 1 { value.append(vr == "UI" || vr == "OB" ? 0 : 32) }
        var out = littleEndian(UInt16(tag >> 16)) + littleEndian(UInt16(tag & 0xFFFF))
        switch encoding {
        case .implicit: out += littleEndian(UInt32(value.count))
        case .explicit where ["OB", "OW", "OF", "OD", "SQ", "UN", "UT"].contains(vr):
            out += Array(vr.utf8) + [0, 0] + littleEndian(UInt32(value.count))
        case .explicit: out += Array(vr.utf8) + littleEndian(UInt16(value.count))
        }
        return out + value
    }

    /// Preamble, "DICM" and the group that names the transfer syntax.
    static func preamble(_ syntax: String) -> [UInt8] {
        let group = element(0x0002_0010, "UI", Array(syntax.utf8), .explicit)
        let length = element(0x0002_0000, "UL", littleEndian(UInt32(group.count)), .explicit)
        return [UInt8](repeating: 0, count: 128) + Array("DICM".utf8) + length + group
    }
}

func littleEndian<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
}

/// One slice with all a volume needs; every fact can be changed.
struct TestSlice {
    enum Syntax: String, CaseIterable {
        case explicit = "1.2.840.10008.1.2.1"
        case implicit = "1.2.840.10008.1.2"
    }

    static let ctClass = "1.2.840.10008.5.1.4.1.1.2"
    static let columns = 8
    static let rows = 6

    var series = "1.2.3.4"
    var instanceUID = ""
    var sopClass = TestSlice.ctClass
    var instance = 1
    var position = SIMD3<Double>(0, 0, 0)
    var row = SIMD3<Double>(1, 0, 0)
    var column = SIMD3<Double>(0, 1, 0)
    /// Between rows, between columns.
    var spacing = (2.0, 0.5)
    var bits = (allocated: 16, stored: 16, high: 15, signed: 0)
    var slope: (Double, Double)? = (1, 0)
    var photometric = "MONOCHROME2"
    /// The cells, row by row.
    var cells: [UInt16] = TestSlice.ramp
    /// Replaces the cells.
    var pixelBytes: [UInt8]?
    var change: (inout DICOMDataSet) -> Void = { _ in }

    /// Distinct values, none of them 0.
    static let ramp = (0..<48).map { UInt16($0 * 7 + 1) }

    var dataSet: DICOMDataSet {
        var set = DICOMDataSet()
        set.text(0x0008_0016, "UI", sopClass)
        set.text(0x0008_0018, "UI", instanceUID.isEmpty ? "\(series).\(instance)" : instanceUID)
        set.text(0x0008_0060, "CS", "CT")
        set.text(0x0010_0010, "PN", "Nobody^At All")
        set.text(0x0020_000D, "UI", "1.2.3")
        set.text(0x0020_000E, "UI", series)
        set.text(0x0020_0013, "IS", "\(instance)")
        set.text(0x0020_0032, "DS", Self.decimals([position.x, position.y, position.z]))
        set.text(0x0020_0037, "DS", Self.decimals([row.x, row.y, row.z, column.x, column.y, column.z]))
        set.short(0x0028_0002, 1)
        set.text(0x0028_0004, "CS", photometric)
        set.short(0x0028_0010, Self.rows)
        set.short(0x0028_0011, Self.columns)
        set.text(0x0028_0030, "DS", Self.decimals([spacing.0, spacing.1]))
        set.short(0x0028_0100, bits.allocated)
        set.short(0x0028_0101, bits.stored)
        set.short(0x0028_0102, bits.high)
        set.short(0x0028_0103, bits.signed)
        if let slope {
            set.text(0x0028_1052, "DS", "\(slope.1)")
            set.text(0x0028_1053, "DS", "\(slope.0)")
        }
        set.bytes(0x7FE0_0010, "OW", pixelBytes ?? cells.flatMap { littleEndian($0) })
        change(&set)
        return set
    }

    func file(_ syntax: Syntax = .explicit) -> [UInt8] {
        DICOMDataSet.preamble(syntax.rawValue) + dataSet.encoded(syntax == .explicit ? .explicit : .implicit)
    }

    /// The file with a data set in the other representation than the one stated.
    func misstatedFile(_ stated: Syntax) -> [UInt8] {
        DICOMDataSet.preamble(stated.rawValue) + dataSet.encoded(stated == .explicit ? .implicit : .explicit)
    }

    /// The file with its pixels replaced by compressed fragments.
    func file(syntax: String, fragments: [[UInt8]]) -> [UInt8] {
        dataSet.file(syntax: syntax, fragments: fragments)
    }

    /// Decimal strings, of which the standard allows 16 bytes each.
    static func decimals(_ values: [Double]) -> String {
        values.map { String(String(format: "%.12f", $0).prefix(16)) }.joined(separator: "\\")
    }

    /// `count` slices along the normal, `step` mm apart, the first at `origin`.
    static func stack(
        _ count: Int,
        step: Double = 1.5,
        origin: SIMD3<Double> = SIMD3(-10, 20, 30),
        row: SIMD3<Double> = SIMD3(1, 0, 0),
        column: SIMD3<Double> = SIMD3(0, 1, 0)
    ) -> [TestSlice] {
        let normal = SIMD3(
            row.y * column.z - row.z * column.y,
            row.z * column.x - row.x * column.z,
            row.x * column.y - row.y * column.x
        )
        return (0..<count).map { k in
            var slice = TestSlice(
                instance: k + 1,
                position: origin + normal * (step * Double(k)),
                row: row,
                column: column
            )
            slice.cells = ramp.map { $0 + UInt16(1000 * (k % 60)) }
            return slice
        }
    }
}
