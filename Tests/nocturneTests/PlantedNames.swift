import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport

/// Files full of what nobody but their owner should read: names, dates, places, wherever their formats have room for it.
enum PlantedNames {
    /// What must not be found anywhere, as it could be written.
    static let secrets = [
        // Text of Exif, PNG, TIFF and DICOM.
        "QuincyArtist", "QuincyOwner", "QuincyAuthor", "QuincyComment", "QuincyMaker", "QuincyThumb", "QuincyTitle",
        "QuincyText", "QuincyZipped", "QuincyTIFF", "QuincyPatient", "QuincyReferrer", "QuincyIdentity",
        "QuincySerial", "QuincyXMP", "QuincyIPTC",
        // Times, as Exif, ISO and DICOM write them.
        "1911:03:07", "1911-03-07", "19110307", "19040229", "1904-02-29",
        // 47° 21' 36.987" N, 8° 32' 30.123" E.
        "47.360", "36987", "36.987", "8.5417", "30123", "30.123",
    ]

    /// A sample photo with Exif, a thumbnail inside it, XMP, IPTC and a comment.
    static func jpeg() throws -> [UInt8] {
        let plain = [UInt8](
            try Data(contentsOf: Checkout.folder.appendingPathComponent("Samples/Photos/lesions/lesion-01.jpg"))
        )
        var bytes = Array(plain[0..<2])
        bytes += segment(0xE1, Array("Exif\0\0".utf8) + exif())
        bytes += segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0<dc:creator>QuincyXMP</dc:creator>".utf8))
        bytes += segment(0xED, Array("Photoshop 3.0\0".utf8) + Array("8BIM QuincyIPTC".utf8))
        bytes += segment(0xFE, Array("QuincyComment by QuincyArtist".utf8))
        return bytes + plain[2...]
    }

    /// A picture with texts, plain and compressed, and an Exif chunk, put in before its pixels.
    static func png() throws -> [UInt8] {
        let folder = try TemporaryFolder()
        var image = RGBImage(width: 160, height: 128)
        for y in 20..<100 { for x in 30..<120 { image[x, y] = SIMD3(180, UInt8(60 + x), UInt8(y)) } }
        try PNGWriter.write(image, to: folder("p.png").path)
        let plain = [UInt8](try Data(contentsOf: folder("p.png")))
        // Signature and header: 8 + 25 bytes.
        var bytes = Array(plain[0..<33])
        bytes += chunk("tEXt", Array("Author\0QuincyText".utf8))
        bytes += chunk("zTXt", Array("Title\0\0".utf8) + Streams.deflated(Array("QuincyZipped QuincyTitle".utf8)))
        bytes += chunk("iTXt", Array("Artist\0\0\0\0\0QuincyArtist".utf8))
        bytes += chunk("eXIf", exif())
        return bytes + plain[33...]
    }

    /// An uncompressed grey TIFF with every tag of people, times and places.
    static func tiff() -> [UInt8] {
        let (width, height) = (120, 100)
        let pixels = (0..<width * height).map { UInt8(truncatingIfNeeded: $0 * 7 / width) }
        var first = Directory()
        first.add(256, short: UInt16(width))
        first.add(257, short: UInt16(height))
        first.add(258, short: 8)
        first.add(259, short: 1)
        first.add(262, short: 1)
        first.add(270, text: "QuincyTIFF QuincyTitle")
        first.add(273, long: 8)
        first.add(277, short: 1)
        first.add(278, short: UInt16(height))
        first.add(279, long: UInt32(pixels.count))
        first.add(306, text: "1911:03:07 05:06:07")
        first.add(315, text: "QuincyArtist")
        first.add(700, bytes: Array("<dc:creator>QuincyXMP</dc:creator>".utf8))
        first.add(0x8825, below: gps())
        let start = 8 + pixels.count
        return Array("II".utf8) + little(UInt16(42)) + little(UInt32(start)) + pixels + first.encoded(at: start)
    }

    /// Twenty neighbouring slices of a sample series in a folder, their patient's elements filled in.
    static func addSeries(to folder: TemporaryFolder, _ name: String) throws {
        let source = Checkout.folder.appendingPathComponent("Samples/Volumes/dicom-axial-head-first")
        for file in try FileManager.default.contentsOfDirectory(atPath: source.path) {
            var bytes = [UInt8](try Data(contentsOf: source.appendingPathComponent(file)))
            // Numbered along the body; the text follows its length, of two bytes.
            guard let number = bytes.firstRange(of: [0x20, 0, 0x13, 0] + Array("IS".utf8))?.upperBound,
                (17...36).contains(Int(String(decoding: bytes[number + 2..<number + 4], as: UTF8.self)) ?? 0)
            else { continue }
            // Explicit, little-endian: patient's name, and the elements after it up to the sex are put in its place.
            guard let start = bytes.firstRange(of: [0x10, 0, 0x10, 0] + Array("PN".utf8))?.lowerBound,
                let end = bytes.firstRange(of: [0x10, 0, 0x40, 0] + Array("CS".utf8))?.lowerBound
            else { continue }
            let patient =
                element(0x10, 0x10, "PN", "QuincyPatient^Rose") + element(0x10, 0x20, "LO", "QuincyIdentity")
                + element(0x10, 0x30, "DA", "19040229")
            bytes.replaceSubrange(start..<end, with: patient)
            try folder.write(bytes, to: "\(name)/\(file)")
        }
    }

    private static func element(_ group: UInt16, _ number: UInt16, _ kind: String, _ text: String) -> [UInt8] {
        let value = Array(text.utf8) + (text.utf8.count % 2 == 1 ? [0x20] : [])
        return little(group) + little(number) + Array(kind.utf8) + little(UInt16(value.count)) + value
    }

    // MARK: Exif

    private static func exif() -> [UInt8] {
        var details = Directory()
        details.add(0x9003, text: "1911:03:07 05:06:07")
        details.add(0x927C, bytes: Array("QuincyMaker made it".utf8))
        details.add(0x9286, bytes: Array("ASCII\0\0\0QuincyComment".utf8))
        details.add(0xA430, text: "QuincyOwner")
        details.add(0xA431, text: "QuincySerial")
        var first = Directory()
        first.add(0x010E, text: "QuincyTitle")
        first.add(0x0112, short: 3)
        first.add(0x0132, text: "1911:03:07 05:06:07")
        first.add(0x013B, text: "QuincyArtist")
        first.add(0x8769, below: details)
        first.add(0x8825, below: gps())
        // Windows' tags are UTF-16.
        first.add(0x9C9D, bytes: Array("QuincyAuthor".utf16).flatMap(little) + [0, 0])
        let head = Array("II".utf8) + little(UInt16(42)) + little(UInt32(8))
        // A second directory with a picture of its own, which names somebody too.
        let thumbnail = [0xFF, 0xD8] + segment(0xFE, Array("QuincyThumb".utf8)) + [0xFF, 0xD9]
        return first.encoded(at: 8, head: head, thumbnail: thumbnail)
    }

    private static func gps() -> Directory {
        var gps = Directory()
        gps.add(1, text: "N")
        gps.add(2, fractions: [(47, 1), (21, 1), (36987, 1000)])
        gps.add(3, text: "E")
        gps.add(4, fractions: [(8, 1), (32, 1), (30123, 1000)])
        gps.add(29, text: "1911:03:07")
        return gps
    }

    /// A directory of TIFF, little-endian.
    private struct Directory {
        private enum Value {
            case bytes([UInt8])
            case below(Directory)
        }
        private var entries: [(tag: UInt16, type: UInt16, count: Int, value: Value)] = []

        mutating func add(_ tag: UInt16, short: UInt16) { entries.append((tag, 3, 1, .bytes(little(short)))) }
        mutating func add(_ tag: UInt16, long: UInt32) { entries.append((tag, 4, 1, .bytes(little(long)))) }
        mutating func add(_ tag: UInt16, bytes: [UInt8]) { entries.append((tag, 7, bytes.count, .bytes(bytes))) }
        mutating func add(_ tag: UInt16, below: Directory) { entries.append((tag, 4, 1, .below(below))) }
        mutating func add(_ tag: UInt16, text: String) {
            let bytes = Array(text.utf8) + [0]
            entries.append((tag, 2, bytes.count, .bytes(bytes)))
        }
        mutating func add(_ tag: UInt16, fractions: [(UInt32, UInt32)]) {
            entries.append((tag, 5, fractions.count, .bytes(fractions.flatMap { little($0.0) + little($0.1) })))
        }

        /// With what does not fit into the entries after them; `thumbnail` in a directory that follows.
        func encoded(at start: Int, head: [UInt8] = [], thumbnail: [UInt8] = []) -> [UInt8] {
            var table = little(UInt16(entries.count))
            var heap: [UInt8] = []
            let heapStart = start + 2 + entries.count * 12 + 4
            for entry in entries {
                table += little(entry.tag) + little(entry.type) + little(UInt32(entry.count))
                switch entry.value {
                case .bytes(let bytes) where bytes.count <= 4:
                    table += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
                case .bytes(let bytes):
                    table += little(UInt32(heapStart + heap.count))
                    heap += bytes + (bytes.count % 2 == 1 ? [0] : [])
                case .below(let directory):
                    table += little(UInt32(heapStart + heap.count))
                    heap += directory.encoded(at: heapStart + heap.count)
                }
            }
            guard !thumbnail.isEmpty else { return head + table + little(UInt32(0)) + heap }
            let next = heapStart + heap.count
            var second = Directory()
            second.add(0x0103, short: 6)
            second.add(0x0201, long: UInt32(next + 2 + 3 * 12 + 4))
            second.add(0x0202, long: UInt32(thumbnail.count))
            return head + table + little(UInt32(next)) + heap + second.encoded(at: next) + thumbnail
        }
    }

    private static func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count + 2
        return [0xFF, marker, UInt8(length >> 8), UInt8(length & 255)] + content
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        return little(UInt32(content.count)).reversed() + body + little(Streams.checksum(body)).reversed()
    }
}

private func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
}
