import Foundation
import NocturneCore
import NocturneTestSupport

/// Writes PET series into the folder of a bench.
struct PETBench {
    let batch: BatchBench
    /// By element; an empty text leaves it out.
    var changes: [UInt32: String] = [:]
    var frameOfReference = "1.2.99"
    var modality = "PT"
    var series = "1.2.3.5"

    /// 2 mm, in the space of the boxes of ``BatchBench/addBox(_:shape:at:edge:affine:)``: the centre of voxel (i, j, k) is at
    /// (3 + 2i, 3 + 2j, 3 + 2k) mm, RAS.
    static let shape = VolumeShape(x: 8, y: 7, z: 10)

    /// By hand: 2^(-3600/6586.2) = 0.684633; 70000 g / (370e6 Bq · 0.684633) = 2.763367e-4.
    static let factor = 2.763367e-4

    /// Writes a series of fluorine-18: 370 MBq, 70 kg, 60 minutes. The values are 10 (i + 10 j + 100 k) Bq/ml.
    func addSeries(_ folder: String) throws {
        for k in 0..<Self.shape.z { try batch.folder.write(slice(k), to: "\(folder)/\(k).dcm") }
    }

    private func slice(_ k: Int) -> [UInt8] {
        let shape = Self.shape
        // Rows and columns go to the left and back, so the first pixel is the one at the right and front.
        var pixels: [UInt16] = []
        for row in 0..<shape.y {
            for column in 0..<shape.x {
                let (i, j) = (shape.x - 1 - column, shape.y - 1 - row)
                let stored: Int = i + 10 * j + 100 * k
                pixels.append(UInt16(stored))
            }
        }
        let corner = [-(3 + 2 * (shape.x - 1)), -(3 + 2 * (shape.y - 1)), 3 + 2 * k]
        let position = corner.map { String($0) }.joined(separator: "\\")
        let dose =
            text(0x0018_1072, "TM", "090000") + text(0x0018_1074, "DS", "370000000")
            + text(0x0018_1075, "DS", "6586.2")
        let item: [UInt8] = [0xFE, 0xFF, 0x00, 0xE0] + bytes(UInt32(dose.count)) + dose
        let syntax = text(0x0002_0010, "UI", "1.2.840.10008.1.2.1")
        var file = [UInt8](repeating: 0, count: 128) + Array("DICM".utf8)
        file += element(0x0002_0000, "UL", bytes(UInt32(syntax.count))) + syntax
        file += text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY")
        let kind = "1.2.840.10008.5.1.4.1.1." + (modality == "PT" ? "128" : "2")
        file += text(0x0008_0016, "UI", kind) + text(0x0008_0018, "UI", "\(series).\(k + 1)")
        file += text(0x0008_0021, "DA", "20010203") + text(0x0008_0022, "DA", "20010203")
        file += text(0x0008_0031, "TM", "100000") + text(0x0008_0032, "TM", "100130")
        file += text(0x0008_0060, "CS", modality)
        file += text(0x0010_0010, "PN", "Nobody^At All") + text(0x0010_1030, "DS", "70")
        file += text(0x0020_000D, "UI", "1.2.3") + text(0x0020_000E, "UI", series)
        file += text(0x0020_0011, "IS", "5") + text(0x0020_0013, "IS", "\(k + 1)")
        file += text(0x0020_0032, "DS", position) + text(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0")
        file += text(0x0020_0052, "UI", frameOfReference)
        file += short(0x0028_0002, 1) + text(0x0028_0004, "CS", "MONOCHROME2")
        file += short(0x0028_0010, shape.y) + short(0x0028_0011, shape.x) + text(0x0028_0030, "DS", "2\\2")
        file += text(0x0028_0051, "CS", "DECY\\ATTN")
        file += short(0x0028_0100, 16) + short(0x0028_0101, 16) + short(0x0028_0102, 15) + short(0x0028_0103, 0)
        file += text(0x0028_1052, "DS", "0") + text(0x0028_1053, "DS", "10")
        file += element(0x0054_0016, "SQ", item) + text(0x0054_1001, "CS", "BQML") + text(0x0054_1102, "CS", "START")
        return file + element(0x7FE0_0010, "OW", pixels.flatMap { bytes($0) })
    }

    private func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private func element(_ tag: UInt32, _ vr: String, _ content: [UInt8]) -> [UInt8] {
        let value = content.count % 2 == 0 ? content : content + [vr == "UI" ? 0 : 32]
        let head = bytes(UInt16(tag >> 16)) + bytes(UInt16(tag & 0xFFFF)) + Array(vr.utf8)
        let isLong = ["OW", "SQ"].contains(vr)
        return head + (isLong ? [0, 0] + bytes(UInt32(value.count)) : bytes(UInt16(value.count))) + value
    }

    private func text(_ tag: UInt32, _ vr: String, _ value: String) -> [UInt8] {
        let value = changes[tag] ?? value
        return value.isEmpty ? [] : element(tag, vr, Array(value.utf8))
    }

    private func short(_ tag: UInt32, _ value: Int) -> [UInt8] { element(tag, "US", bytes(UInt16(value))) }
}
