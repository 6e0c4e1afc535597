import CZlib
import NocturneCore
import NocturneFormats

/// Photos, each of its kind: what begins otherwise is another target's.
enum FuzzPhotos {
    private static let limits = PhotoLimits(storedPixels: 1 << 18, side: 300, bytes: 16 << 20)

    static func jpeg(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: [0xFF, 0xD8, 0xFF]) && read(InputFile.write(bytes, "input.jpg"))
    }

    static func tiff(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let heads: [[UInt8]] = [[0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42], [0x49, 0x49, 43, 0], [0x4D, 0x4D, 0, 43]]
        guard heads.contains(where: bytes.starts(with:)) else { return false }
        let path = InputFile.write(bytes, "input.tif")
        FuzzVolumes.stack(path)
        return read(path)
    }

    static func heic(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) && read(InputFile.write(bytes, "input.heic"))
    }

    static func webp(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: Array("RIFF".utf8)) && read(InputFile.write(bytes, "input.webp"))
    }

    static func dicom(_ bytes: UnsafeRawBufferPointer) -> Bool { read(InputFile.write(bytes, "input.dcm")) }

    /// Checksums are put right, so that changes get past them.
    static func png(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var file = Array(bytes)
        guard file.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return false }
        var place = 8
        while place + 12 <= file.count {
            let length = file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= file.count - place - 12 else { break }
            let sum = file[place + 4..<place + 8 + length].withUnsafeBufferPointer {
                crc32(0, $0.baseAddress, UInt32($0.count))
            }
            for index in 0..<4 { file[place + 8 + length + index] = UInt8(sum >> (24 - 8 * index) & 255) }
            place += 12 + length
        }
        let path = InputFile.write(file, "input.png")
        _ = try? LabelPNG.read(path, pixels: limits.storedPixels)
        return read(path)
    }

    private static func read(_ path: String) -> Bool {
        guard let facts = try? PhotoReader.readHeader(at: path, limits: limits) else { return true }
        _ = try? PhotoReader.read(at: path, limits: limits)
        let (width, height) = (facts.uprightWidth, facts.uprightHeight)
        let (x, y) = (width / 3, height / 3)
        let part = PixelBox(x: x, y: y, width: (width + 1) / 2, height: height - y)
        var sum = 0
        _ = try? PhotoReader.readBands(at: path, limits: limits, part: { _ in part }) { band in
            for row in 0..<band.rows.count {
                sum &+= Int(band.samples[row * band.stride])
                sum &+= Int(band.samples[row * band.stride + part.width * 3 - 1])
            }
        }
        return sum >= 0
    }
}
