import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("HEIC and WebP")
struct PhonePhotoTests {
    static let names = [
        "heic.heic", "heic-turned.heic", "heic-lossless.heic", "heic-alpha.heic", "heic-10-bits.heic", "heic-two.heic",
        "webp.webp", "webp-turned.webp", "webp-lossless.webp", "webp-alpha.webp", "webp-lossless-alpha.webp",
        "webp-animated.webp",
    ]

    static func path(_ name: String) -> String { Fixtures.url("PhonePhotos/\(name)").path }

    /// The largest difference of a sample, and the mean one.
    private static func difference(_ a: RGBImage, _ b: RGBImage) -> (largest: Int, mean: Double) {
        let differences = zip(a.samples, b.samples).map { abs(Int($0) - Int($1)) }
        return (differences.max() ?? 0, Double(differences.reduce(0, +)) / Double(max(1, differences.count)))
    }

    @Test("The pixels are those of pillow-heif and Pillow", arguments: names)
    func pixels(_ name: String) throws {
        let photo = try PhotoReader.read(at: Self.path(name))
        let expected = try PhotoReader.read(at: Self.path(name.split(separator: ".")[0] + ".png")).image
        try #require(photo.image.width == expected.width && photo.image.height == expected.height)
        let difference = Self.difference(photo.image, expected)
        // Colours at half the resolution are enlarged in other ways by other releases of libheif.
        let isExact = name.hasPrefix("webp") || name.contains("lossless")
        #expect(isExact ? difference.largest == 0 : difference.mean < 1.5 && difference.largest <= 40, "\(difference)")
    }

    @Test("Header facts are those of the decoded picture, and what it takes is bounded", arguments: names)
    func headers(_ name: String) throws {
        let header = try PhotoReader.readHeader(at: Self.path(name))
        let photo = try PhotoReader.read(at: Self.path(name))
        #expect(photo.facts == header)
        #expect(photo.image.width == header.uprightWidth && photo.image.height == header.uprightHeight)
        #expect(header.format == (name.hasPrefix("heic") ? .heic : .webp))
        #expect(header.hasAlpha == name.contains("alpha"))
        #expect(header.bitDepth == (name.contains("10-bits") ? 10 : 8))
        #expect(header.predictedBytes > photo.image.samples.count)
    }

    @Test("The orientation is applied once: that of HEIC's container, that of WebP's Exif")
    func orientation() throws {
        let heic = try PhotoReader.readHeader(at: Self.path("heic-turned.heic"))
        #expect(heic.orientation == 1 && heic.uprightWidth == 100 && heic.uprightHeight == 120)
        let webp = try PhotoReader.readHeader(at: Self.path("webp-turned.webp"))
        #expect(webp.orientation == 6 && webp.storedWidth == 120 && webp.uprightWidth == 100)
    }

    @Test("Of an animated PNG the picture in its pixels is read, whether or not it is the first frame, with a note")
    func animatedPNG() throws {
        try TemporaryFolder.with { folder in
            let writer = AnimatedPNGWriter(
                width: 120,
                height: 110,
                palette: nil,
                frameCount: 2,
                millisecondsPerFrame: 100
            )
            let path = folder("turn.png").path
            let cover = [UInt8](repeating: 7, count: 120 * 110 * 3)
            try writer.write(to: path, cover: cover, scope: .serial()) { _ in
                [UInt8](repeating: 9, count: 120 * 110 * 3)
            }
            let photo = try PhotoReader.read(at: path)
            #expect(photo.image.samples == cover)
            #expect(photo.facts.pageCount == 3 && photo.facts.notes == [.firstOfPages(3)])
            // With the chunk of a frame between that of the animation and the pixels, these are the first frame.
            let file = try FileSystem.read(path)
            let control = try #require(file.firstRange(of: Array("fcTL".utf8))).lowerBound - 4
            let begun = Array(file[..<53]) + file[control..<control + 38] + file[53...]
            let first = try folder.write(begun, to: "first.png").path
            #expect(try PhotoReader.readHeader(at: first).notes == [.firstOfPages(2)])
        }
    }

    @Test("Of several pictures one is read, with a note")
    func several() throws {
        let heic = try PhotoReader.readHeader(at: Self.path("heic-two.heic"))
        #expect(heic.pageCount == 2 && heic.notes == [.primaryOfPictures(2)])
        let webp = try PhotoReader.readHeader(at: Self.path("webp-animated.webp"))
        #expect(webp.pageCount == 2 && webp.notes == [.firstOfPages(2)])
        #expect(try PhotoReader.readHeader(at: Self.path("webp.webp")).notes.isEmpty)
    }

    @Test("A part of a picture is what it is in the whole", arguments: names)
    func bands(_ name: String) throws {
        let whole = try PhotoReader.read(at: Self.path(name)).image
        let part = PixelBox(x: 7, y: 11, width: 53, height: 79)
        var differing = 0
        var next = part.y
        _ = try PhotoReader.readBands(at: Self.path(name), part: { _ in part }) { band in
            for row in 0..<band.rows.count {
                let start = ((band.rows.lowerBound + row) * whole.width + part.x) * 3
                for sample in 0..<part.width * 3
                where band.samples[row * band.stride + sample] != whole.samples[start + sample] { differing += 1 }
            }
            next = band.rows.upperBound
        }
        #expect(differing == 0 && next == part.y + part.height)
    }

    @Test("A file cut anywhere is an error, or gives every pixel", arguments: names)
    func cuts(_ name: String) throws {
        try TemporaryFolder.with { folder in
            let file = [UInt8](try Data(contentsOf: Fixtures.url("PhonePhotos/\(name)")))
            let whole = try PhotoReader.read(at: Self.path(name)).image
            var errors = 0
            let lengths = Set((0..<24).map { file.count * $0 / 24 } + [file.count - 1, file.count - 2])
            for length in lengths where length < file.count {
                let url = try folder.write(Array(file[..<length]), to: "cut")
                do {
                    let photo = try PhotoReader.read(at: url.path)
                    #expect(photo.image == whole, "\(length) of \(file.count) bytes")
                } catch let error as PhotoError {
                    #expect([.corrupt, .notAPicture, .unsupported].contains(error.code), "\(error)")
                    let isNamed =
                        error.detail.contains("is not a complete HEIC picture") || error.detail.contains("WebP")
                    #expect(error.code != .corrupt || isNamed, "\(error)")
                    errors += 1
                }
            }
            #expect(errors >= lengths.count - 2)
        }
    }

    @Test("A flipped bit never crashes", arguments: names)
    func flips(_ name: String) throws {
        try TemporaryFolder.with { folder in
            var file = [UInt8](try Data(contentsOf: Fixtures.url("PhonePhotos/\(name)")))
            var generator = SplitMix64(seed: 71)
            for _ in 0..<60 {
                let place = Int(generator.next() % UInt64(file.count))
                let bit = UInt8(1) << (generator.next() % 8)
                file[place] ^= bit
                let path = try folder.write(file, to: "flipped").path
                do {
                    _ = try PhotoReader.read(at: path, limits: PhotoLimits(bytes: 64 << 20))
                } catch {
                    #expect(error is PhotoError)
                }
                file[place] ^= bit
            }
        }
    }

    @Test("Pictures above the limits are refused by their headers", arguments: ["heic.heic", "webp.webp"])
    func limits(_ name: String) throws {
        let path = Self.path(name)
        let few = #expect(throws: PhotoError.self) {
            try PhotoReader.readHeader(at: path, limits: PhotoLimits(storedPixels: 1000))
        }
        #expect(few?.code == .tooLarge)
        let little = #expect(throws: PhotoError.self) {
            try PhotoReader.read(at: path, limits: PhotoLimits(bytes: 10_000))
        }
        #expect(little?.code == .tooLarge)
    }

    @Test("A raised flag stops decoding", arguments: ["heic.heic", "webp.webp"])
    func cancelled(_ name: String) throws {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try PhotoReader.read(at: Self.path(name), flag: flag) }
    }

    @Test("Pictures of types that are not read are refused as such; files with the same letters are not pictures")
    func otherTypes() throws {
        let zeros = [UInt8](repeating: 0, count: 20)
        let bitmap = Array("BM".utf8) + [70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0] + zeros
        let pictures: [(String, [UInt8], String)] = [
            ("a.gif", Array("GIF89a".utf8) + zeros, "GIF"), ("a", bitmap, "BMP"),
            ("a.avif", [0, 0, 0, 28] + Array("ftypavif".utf8) + zeros, "AVIF"),
            ("b.jxl", [0xFF, 0x0A] + zeros, "JPEG XL"),
            ("c.jxl", [0, 0, 0, 12] + Array("JXL ".utf8) + [0x0D, 0x0A, 0x87, 0x0A] + zeros, "JPEG XL"),
        ]
        try TemporaryFolder.with { folder in
            for (name, bytes, type) in pictures {
                let path = try folder.write(bytes, to: name).path
                let error = #expect(throws: PhotoError.self) { try PhotoReader.readHeader(at: path) }
                #expect(error?.code == .unsupported && error?.detail.contains(type) == true, "\(name)")
            }
            let table = Array("BMI,age\n21.5,40\n22.1,38\n".utf8)
            for (name, bytes) in [("table.csv", table), ("a.raw", [0xFF, 0x0A] + zeros)] {
                let path = try folder.write(bytes, to: name).path
                let error = #expect(throws: PhotoError.self) { try PhotoReader.readHeader(at: path) }
                #expect(error?.code == .notAPicture, "\(name)")
            }
        }
    }

    @Test("Other files in the same containers are not pictures")
    func foreign() throws {
        try TemporaryFolder.with { folder in
            let video = [0, 0, 0, 24] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 40)
            let sound = Array("RIFF".utf8) + [36, 0, 0, 0] + Array("WAVEfmt ".utf8) + [UInt8](repeating: 0, count: 40)
            for file in [video, sound] {
                let path = try folder.write(file, to: "file").path
                let error = #expect(throws: PhotoError.self) { try PhotoReader.readHeader(at: path) }
                #expect(error?.code == .notAPicture)
            }
        }
    }
}
