import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Damaged and hostile photos")
struct PhotoHostileTests {
    static func bytes(_ name: String) throws -> [UInt8] { try Fixtures.bytes("Photos/\(name)") }

    static func code(_ body: () throws -> Void) -> PhotoErrorCode? {
        do { try body() } catch { return (error as? PhotoError)?.code }
        return nil
    }

    /// The two bytes after a JPEG's frame marker's length and precision are its height, then its width.
    static func frame(of file: [UInt8]) throws -> Int {
        try #require(file.indices.dropLast(9).first { file[$0] == 0xFF && [0xC0, 0xC2].contains(file[$0 + 1]) })
    }

    /// A JPEG with an Exif block of these bytes in front of everything else.
    static func withExif(_ block: [UInt8]) throws -> [UInt8] {
        let content: [UInt8] = [0x45, 0x78, 0x69, 0x66, 0, 0] + block
        let length = content.count + 2
        let file = try bytes("jpeg-444.jpg")
        return file[..<2] + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + content + file[2...]
    }

    @Test("A PNG whose chunk claims more than the file has is refused before memory is taken for it")
    func claimingChunk() throws {
        let file = try Self.bytes("tiny.png")
        // Behind the header's chunk: 700 MB of Exif.
        let claim: [UInt8] = [0x2C, 0, 0, 0] + Array("eXIf".utf8) + [0x4D, 0x4D]
        try TemporaryFolder.with { folder in
            let path = try folder.write(Array(file[..<33]) + claim + Array(file[33...]), to: "claim.png").path
            let error = #expect(throws: PhotoError.self) { try PhotoReader.readHeader(at: path) }
            #expect(error?.code == .corrupt)
            #expect(error?.description.contains("ends inside a chunk") == true)
        }
    }

    @Test(
        "A file cut anywhere is an error that names it, or gives every pixel and says what is missing",
        arguments: PhotoReaderTests.names
    )
    func cuts(_ name: String) throws {
        try TemporaryFolder.with { folder in
            let file = try Self.bytes(name)
            let whole = try PhotoReader.read(at: PhotoReaderTests.path(name)).image
            var errors = 0
            let lengths = Set(
                (0..<14).map { file.count * $0 / 14 } + [file.count - 1, file.count - 2, file.count - 12]
            )
            for length in lengths where length >= 0 && length < file.count {
                let url = try folder.write(Array(file[..<length]), to: "cut")
                do {
                    let photo = try PhotoReader.read(at: url.path)
                    #expect(photo.image == whole, "\(length) of \(file.count) bytes")
                } catch let error as PhotoError {
                    #expect(error.description.contains(url.path))
                    #expect([.corrupt, .notAPicture, .unsupported].contains(error.code), "\(error)")
                    errors += 1
                }
            }
            #expect(errors >= lengths.count / 3)
        }
    }

    @Test(
        "A picture of a rare coding that is cut is an error, or whole",
        arguments: ["rare-arithmetic.jpg", "rare-old-jpeg.tif"]
    )
    func rareCuts(_ name: String) throws {
        try TemporaryFolder.with { folder in
            let file = try Self.bytes(name)
            let whole = try PhotoReader.read(at: folder.write(file, to: "whole").path).image
            var errors = 0
            for length in stride(from: 0, to: file.count, by: 37) {
                let path = try folder.write(Array(file[..<length]), to: "cut").path
                do {
                    #expect(try PhotoReader.read(at: path).image == whole, "\(length) of \(file.count) bytes")
                } catch is PhotoError {
                    errors += 1
                }
            }
            #expect(errors > file.count / 37 - 4)
        }
    }

    @Test("A flipped bit never crashes, and in a PNG is always seen", arguments: PhotoReaderTests.names)
    func flips(_ name: String) throws {
        try TemporaryFolder.with { folder in
            var file = try Self.bytes(name)
            let whole = try PhotoReader.read(at: PhotoReaderTests.path(name)).image
            var generator = SplitMix64(seed: 71)
            for _ in 0..<20 {
                let place = Int(generator.next() % UInt64(min(file.count, 900)))
                let bit = UInt8(1) << (generator.next() % 8)
                file[place] ^= bit
                let url = try folder.write(file, to: "flipped")
                do {
                    let photo = try PhotoReader.read(at: url.path, limits: PhotoLimits(bytes: 64 << 20))
                    // The one kind of chunk whose checksum may be wrong without harm here is the orientation's.
                    if photo.facts.format == .png { #expect(photo.image == whole || name == "png-turned.png") }
                } catch {
                    #expect(error is PhotoError)
                }
                file[place] ^= bit
            }
        }
    }

    @Test("Pictures of impossible sizes are refused by their headers")
    func bombs() throws {
        try TemporaryFolder.with { folder in
            func refusal(_ file: [UInt8]) throws -> PhotoErrorCode? {
                let url = try folder.write(file, to: "bomb")
                let header = Self.code { _ = try PhotoReader.readHeader(at: url.path) }
                #expect(Self.code { _ = try PhotoReader.read(at: url.path) } == header)
                return header
            }
            var jpeg = try Self.bytes("jpeg-444.jpg")
            let frame = try Self.frame(of: jpeg)
            jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
            #expect(try refusal(jpeg) == .tooLarge)
            // 16 384 squared: few enough pixels, but a progressive one is held whole.
            var progressive = try Self.bytes("jpeg-progressive.jpg")
            let second = try Self.frame(of: progressive)
            progressive.replaceSubrange(second + 5..<second + 9, with: [0x40, 0, 0x40, 0])
            let url = try folder.write(progressive, to: "progressive")
            let limits = PhotoLimits(bytes: 256 << 20)
            #expect(Self.code { _ = try PhotoReader.read(at: url.path, limits: limits) } == .tooLarge)
            // PNG: width and height from byte 16, with the header's checksum made to fit.
            let png: [UInt8] = [
                0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52,
                0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 8, 2, 0, 0, 0,
            ]
            let sum = PNGWriterTests.slowChecksum(Array(png[12...]))
            let tail = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
            #expect(
                try refusal(png + tail + [0, 0, 0, 0, 0x49, 0x44, 0x41, 0x54, 0x35, 0xAF, 0x06, 0x1E]) == .tooLarge
            )
            for entries in [[(256, 0x7FFF_FFFF), (257, 0x7FFF_FFFF)], [(256, 400_000_000), (257, 1), (277, 65535)]] {
                let refused = try refusal(Self.tiff(entries.map { (UInt16($0.0), UInt32($0.1)) }))
                #expect(refused == .tooLarge || refused == .unsupported || refused == .corrupt)
            }
            let small = PhotoLimits(storedPixels: 1000)
            #expect(
                Self.code { _ = try PhotoReader.read(at: PhotoReaderTests.path("png-rgb-8.png"), limits: small) }
                    == .tooLarge
            )
        }
    }

    /// A little-endian TIFF with these entries of one 32-bit number, no pixels, and `next` as its second directory.
    static func tiff(_ entries: [(UInt16, UInt32)], next: UInt32 = 0) -> [UInt8] {
        func little(_ value: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        var file: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0] + little(UInt32(entries.count), 2)
        for (tag, value) in entries { file += little(UInt32(tag), 2) + little(4, 2) + little(1, 4) + little(value, 4) }
        return file + little(next, 4)
    }

    @Test("A TIFF whose directories run in a circle ends")
    func circle() throws {
        try TemporaryFolder.with { folder in
            var file = Self.tiff([(256, 2), (257, 2), (258, 8), (262, 1), (273, 0), (279, 4)], next: 8)
            let pixels = UInt32(file.count)
            // The strip's offset is the fifth entry.
            file.replaceSubrange(10 + 4 * 12 + 8..<10 + 4 * 12 + 10, with: [UInt8(pixels & 255), UInt8(pixels >> 8)])
            let url = try folder.write(file + [1, 2, 3, 4], to: "circle.tif")
            let photo = try PhotoReader.read(at: url.path)
            #expect(photo.image[1, 1] == SIMD3(4, 4, 4))
            #expect(photo.facts.pageCount == 10_000)
        }
    }

    @Test("What is no picture is told apart: nothing, text, a folder, a pipe, a missing file")
    func others() throws {
        try TemporaryFolder.with { folder in
            let empty = try folder.write([], to: "empty.jpg")
            let text = try folder.write("not a picture", to: "text.png")
            let mark = try folder.write([], to: "complete")
            #expect(Self.code { _ = try PhotoReader.read(at: empty.path) } == .corrupt)
            #expect(Self.code { _ = try PhotoReader.read(at: mark.path) } == .notAPicture)
            #expect(Self.code { _ = try PhotoReader.readHeader(at: text.path) } == .notAPicture)
            #expect(Self.code { _ = try PhotoReader.read(at: folder.path) } == .cannotOpen)
            #expect(Self.code { _ = try PhotoReader.read(at: folder("none.tif").path) } == .cannotOpen)
            mkfifo(folder("pipe.jpg").path, 0o600)
            #expect(Self.code { _ = try PhotoReader.read(at: folder("pipe.jpg").path) } == .cannotOpen)
        }
    }

    @Test("A disk's refusal is told with the system's number, so that it can be tried again; a damaged file has none")
    func refusals() throws {
        // Nothing is mapped at its beginning, and reading there is an input/output error.
        #expect { try PhotoReader.read(at: "/proc/self/mem") } throws: {
            ($0 as? PhotoError)?.systemCode == EIO && ($0 as? PhotoError)?.code == .cannotOpen
        }
        #expect { try PhotoReader.read(at: "/nowhere/at.jpg") } throws: { ($0 as? PhotoError)?.systemCode == ENOENT }
        try TemporaryFolder.with { folder in
            let cut = try folder.write([0xFF, 0xD8, 0xFF, 0xE0, 0, 16], to: "cut.jpg")
            #expect { try PhotoReader.read(at: cut.path) } throws: {
                ($0 as? PhotoError)?.systemCode == nil && ($0 as? PhotoError)?.code == .corrupt
            }
        }
    }

    static let blocks: [([UInt8], Int)] = [
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0], 6),
        ([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 3, 0, 0], 3),
        // A long, as some write it.
        ([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2], 2),
        // No such orientation; a text for a number; a directory outside; more entries than bytes; nothing; no order.
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0], 1),
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 2, 0, 1, 0, 0, 0, 6, 0, 0, 0], 1),
        ([0x49, 0x49, 42, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0], 1),
        ([0x49, 0x49, 42, 0, 8, 0, 0, 0, 0xFF, 0xFF, 0x0F, 1, 3, 0], 1),
        ([0x49, 0x49, 42], 1),
        ([0x58, 0x58, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0], 1),
    ]

    @Test("Orientation is found in whole Exif blocks and passed over in broken ones", arguments: blocks)
    func exif(_ block: [UInt8], _ orientation: Int) throws {
        try TemporaryFolder.with { folder in
            let url = try folder.write(Self.withExif(block), to: "a.jpg")
            #expect(try PhotoReader.readHeader(at: url.path).orientation == orientation)
        }
    }

    @Test("A JPEG that lacks only its end marker is read and noted")
    func endMarker() throws {
        try TemporaryFolder.with { folder in
            let url = try folder.write(Self.bytes("jpeg-444.jpg").dropLast(2), to: "a.jpg")
            let photo = try PhotoReader.read(at: url.path)
            #expect(photo.facts.notes.contains(.noEndMarker))
            #expect(try photo.image == PhotoReader.read(at: PhotoReaderTests.path("jpeg-444.jpg")).image)
        }
    }

    @Test("No picture of the fuzz corpora crashes, hangs or goes through without its pixels")
    func corpora() throws {
        guard let folder = SharedData.url("fuzz") else { return }
        var read = 0
        var refused = 0
        for kind in ["jpeg", "png", "tiff"] {
            let files = FileManager.default.enumerator(atPath: folder.appendingPathComponent(kind).path)
            while let name = files?.nextObject() as? String {
                let path = folder.appendingPathComponent("\(kind)/\(name)").path
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                    continue
                }
                do {
                    _ = try PhotoReader.read(at: path)
                    read += 1
                } catch {
                    refused += 1
                }
            }
        }
        #expect(refused > 400)
        #expect(read > 10)
    }
}

extension TemporaryFolder {
    fileprivate func write(_ bytes: ArraySlice<UInt8>, to name: String) throws -> URL {
        try write(Array(bytes), to: name)
    }
}
