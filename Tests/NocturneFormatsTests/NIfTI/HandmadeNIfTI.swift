import NocturneCore
import NocturneFormats
import NocturneSystem

/// NIfTI files put together byte by byte, without the writer under test.
struct HandmadeNIfTI {
    var version = VolumeFileHeader.NIfTIVersion.nifti1
    var byteOrder = VolumeFileHeader.ByteOrder.little
    var isPair = false
    /// `dim`, the number of dimensions first.
    var dimensions: [Int] = [3, 5, 4, 3]
    var dataType = StoredVoxelType.int16.rawValue
    var pixelDimensions: [Double] = [1, 0.5, 0.75, 2]
    var slope = 0.0
    var intercept = 0.0
    var units = 2
    /// `toffset`.
    var timeOffset = 0.0
    /// `cal_max` and `cal_min`.
    var displayRange: [Double] = [0, 0]
    var qformCode = 0
    var sformCode = 2
    var quaternion: [Double] = [0, 0, 0]
    var quaternionOffset: [Double] = [0, 0, 0]
    var sform: [[Double]] = [[-0.5, 0, 0, 10], [0, 0.75, 0, -20], [0, 0, 2, 30]]
    var intentCode = 0
    var extensions: [VolumeFileHeader.Extension] = []
    /// Nil for right behind header and extensions.
    var dataOffset: Double?

    /// Header, flag and extensions.
    func header() -> [UInt8] {
        let first = version == .nifti1
        let size = first ? 348 : 540
        var blocks: [UInt8] = []
        for block in extensions {
            blocks += integer(block.bytes.count + 8, 4) + integer(block.code, 4) + block.bytes
        }
        var bytes = [UInt8](repeating: 0, count: size + 4)
        func put(_ content: [UInt8], _ offset: Int) {
            bytes.replaceSubrange(offset..<offset + content.count, with: content)
        }
        func reals(_ values: [Double], _ offset: Int) { put(values.flatMap { real($0) }, offset) }
        let offset = dataOffset ?? (isPair ? 0 : Double(size + 4 + blocks.count))
        put(integer(size, 4), 0)
        let mark = (isPair ? "ni" : "n+") + (first ? "1" : "2")
        if first {
            put(Array(mark.utf8), 344)
            put(dimensions.flatMap { integer($0, 2) }, 40)
            put(integer(intentCode, 2), 68)
            put(integer(dataType, 2), 70)
            reals(pixelDimensions, 76)
            reals([offset, slope, intercept], 108)
            bytes[123] = UInt8(units)
            reals(displayRange, 124)
            reals([timeOffset], 136)
            put(integer(qformCode, 2) + integer(sformCode, 2), 252)
            reals(quaternion + quaternionOffset + sform.flatMap { $0 }, 256)
        } else {
            put(Array(mark.utf8) + [0, 13, 10, 26, 10], 4)
            put(integer(dataType, 2), 12)
            put(dimensions.flatMap { integer($0, 8) }, 16)
            reals(pixelDimensions, 104)
            put(integer(Int(offset), 8), 168)
            reals([slope, intercept], 176)
            reals(displayRange, 192)
            reals([timeOffset], 224)
            put(integer(qformCode, 4) + integer(sformCode, 4), 344)
            reals(quaternion + quaternionOffset + sform.flatMap { $0 }, 352)
            put(integer(units, 4) + integer(intentCode, 4), 500)
        }
        if !blocks.isEmpty { bytes[size] = 1 }
        return bytes + blocks
    }

    /// Numbers as they are stored; integer types take them exactly.
    func voxels(_ values: [Double]) -> [UInt8] {
        values.flatMap { value -> [UInt8] in
            switch dataType {
            case 16: ordered(UInt64(Float(value).bitPattern), 4)
            case 64: ordered(value.bitPattern, 8)
            case 1280: ordered(UInt64(value), 8)
            default: integer(Int(value), StoredVoxelType(rawValue: dataType)?.bytesPerVoxel ?? 4)
            }
        }
    }

    var voxelCount: Int { dimensions.dropFirst().prefix(3).reduce(1, *) }

    /// A whole single file.
    func file(_ values: [Double]) -> [UInt8] { header() + voxels(values) }

    private func integer(_ value: Int, _ size: Int) -> [UInt8] { ordered(UInt64(bitPattern: Int64(value)), size) }

    private func real(_ value: Double) -> [UInt8] {
        version == .nifti1 ? ordered(UInt64(Float(value).bitPattern), 4) : ordered(value.bitPattern, 8)
    }

    private func ordered(_ bits: UInt64, _ size: Int) -> [UInt8] {
        let little = (0..<size).map { UInt8(bits >> (8 * $0) & 0xff) }
        return byteOrder == .little ? little : little.reversed()
    }
}

/// A gzip member of stored blocks: what gzip is, without a compressor.
func storedGzip(_ content: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var start = 0
    repeat {
        let end = min(content.count, start + 65535)
        let count = end - start
        bytes.append(end == content.count ? 1 : 0)
        bytes += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8 & 255)]
        bytes += content[start..<end]
        start = end
    } while start < content.count
    for word in [checksum(content), UInt32(truncatingIfNeeded: content.count)] {
        bytes += (0..<4).map { UInt8(word >> (8 * $0) & 0xff) }
    }
    return bytes
}

/// CRC-32, bit by bit.
func checksum(_ content: [UInt8]) -> UInt32 {
    var state: UInt32 = 0xffff_ffff
    for byte in content {
        state ^= UInt32(byte)
        for _ in 0..<8 { state = state & 1 == 1 ? state >> 1 ^ 0xedb8_8320 : state >> 1 }
    }
    return ~state
}

/// The code with which `body` fails, and the text; nil when it does not.
func niftiFault(_ body: () throws -> Void) -> VolumeFileError? {
    do {
        try body()
        return nil
    } catch {
        return error as? VolumeFileError
    }
}
