import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Reading photos")
struct PhotoReaderTests {
    static func path(_ name: String) -> String { Fixtures.url("Photos/\(name)").path }

    static let names: [String] = Array(Set(PhotoCase.all.map(\.file))).sorted()

    /// Where a stored pixel belongs, from the table in the Exif standard (which side row 0 and column 0 are).
    static func upright(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ orientation: Int) -> (Int, Int) {
        switch orientation {
        case 2: (width - 1 - x, y)
        case 3: (width - 1 - x, height - 1 - y)
        case 4: (x, height - 1 - y)
        case 5: (y, x)
        case 6: (height - 1 - y, x)
        case 7: (height - 1 - y, width - 1 - x)
        case 8: (y, width - 1 - x)
        default: (x, y)
        }
    }

    @Test("Each of the eight orientations puts every pixel where it belongs", arguments: 1...8)
    func orientations(_ orientation: Int) throws {
        // The eight files store the same pixels.
        let stored = try PhotoReader.read(at: Self.path("jpeg-orientation-1.jpg")).image
        let photo = try PhotoReader.read(at: Self.path("jpeg-orientation-\(orientation).jpg"))
        #expect(photo.facts.orientation == orientation)
        #expect(photo.facts.storedWidth == stored.width && photo.facts.storedHeight == stored.height)
        #expect(photo.facts.uprightWidth == (orientation >= 5 ? stored.height : stored.width))
        var differing = 0
        for y in 0..<stored.height {
            for x in 0..<stored.width {
                let (column, row) = Self.upright(x, y, stored.width, stored.height, orientation)
                if photo.image[column, row] != stored[x, y] { differing += 1 }
            }
        }
        #expect(differing == 0)
    }

    @Test("A PNG is turned by Exif behind its pixels, too")
    func lateExif() throws {
        let bytes = try FileSystem.read(Self.path("png-turned.png"))
        let name = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("eXIf".utf8)) })
        let length = bytes[(name - 4)..<name].reduce(0) { $0 << 8 | Int($1) }
        // With length and checksum. The last chunk, which has no content, takes 12 bytes.
        let chunk = name - 4..<name + 8 + length
        var plain = bytes
        plain.removeSubrange(chunk)
        // 70,000 zeros in a chunk that no reader knows, and its checksum.
        var unknown: [UInt8] = [0x00, 0x01, 0x11, 0x70] + Array("prVt".utf8)
        unknown += [UInt8](repeating: 0, count: 70_000)
        unknown += [0x37, 0x7D, 0x05, 0xB6]
        try TemporaryFolder.with { folder in
            for more in [[], unknown] {
                var moved = plain
                moved.insert(contentsOf: bytes[chunk] + more, at: moved.count - 12)
                let photo = try PhotoReader.read(at: try folder.write(moved, to: "a.png").path)
                #expect(photo.facts.orientation == 8)
                #expect(try photo.image == PhotoReader.read(at: Self.path("png-turned.png")).image)
                // What follows the picture in the file is not part of it.
                let two = try PhotoReader.read(at: try folder.write(plain + moved, to: "b.png").path)
                #expect(two.facts.orientation == 1)
            }
        }
    }

    @Test("Header facts are those of the decoded picture, and what it takes is bounded", arguments: names)
    func headers(_ name: String) throws {
        let header = try PhotoReader.readHeader(at: Self.path(name))
        let photo = try PhotoReader.read(at: Self.path(name))
        #expect(photo.facts == header)
        #expect(photo.image.width == header.uprightWidth && photo.image.height == header.uprightHeight)
        #expect(header.predictedBytes > photo.image.samples.count)
        #expect(header.predictedBytes < photo.image.samples.count * 8 + 4 << 20)
        let kind: PhotoFacts.Format =
            name.hasPrefix("jpeg") || name == "portrait.jpg" ? .jpeg : name.hasPrefix("tiff") ? .tiff : .png
        #expect(header.format == kind, "by content, not by name")
    }

    @Test("Depth, colours, alpha and pages are told")
    func facts() throws {
        func facts(_ name: String) throws -> PhotoFacts { try PhotoReader.readHeader(at: Self.path(name)) }
        #expect(try facts("png-grey-16.png").bitDepth == 16)
        #expect(try facts("png-palette-2.png").bitDepth == 2)
        #expect(try facts("png-palette-2.png").colourModel == .palette)
        #expect(try facts("png-palette-clear.png").hasAlpha)
        #expect(try facts("png-palette-clear.png").notes == [.transparent])
        #expect(try facts("png-grey-alpha-8.png").colourModel == .greyAlpha)
        #expect(try facts("jpeg-ycck.jpg").colourModel == .ycck)
        #expect(try facts("jpeg-cmyk.jpg").colourModel == .cmyk)
        #expect(try facts("jpeg-rgb.jpg").colourModel == .rgb)
        #expect(try facts("tiff-fax4.tif").bitDepth == 1)
        #expect(try facts("tiff-pages.tif").pageCount == 3)
        #expect(try facts("tiff-pages.tif").notes == [.firstOfPages(3)])
        #expect(try facts("tiff-turned.tif").orientation == 5)
        #expect(try facts("png-turned.png").orientation == 8)
        #expect(try facts("tiny.png").notes == [.small(width: 3, height: 2)])
        #expect(try facts("jpeg-444.jpg").notes == [.small(width: 130, height: 97)])
    }

    @Test("A picture over the longest side is the mean of the stored pixels", arguments: [2, 3, 7])
    func reduction(_ factor: Int) throws {
        let name = "tiff-turned.tif"
        let whole = try PhotoReader.read(at: Self.path(name)).image
        let side = (max(whole.width, whole.height) + factor - 1) / factor
        let photo = try PhotoReader.read(at: Self.path(name), limits: PhotoLimits(side: side))
        #expect(photo.facts.scaleDenominator == factor)
        #expect(photo.facts.notes.contains(.reduced(denominator: factor)))
        #expect(photo.image.width == (whole.width + factor - 1) / factor)
        for y in 0..<photo.image.height {
            for x in 0..<photo.image.width {
                var sum = SIMD3<Int>(repeating: 0)
                var count = 0
                for row in y * factor..<min((y + 1) * factor, whole.height) {
                    for column in x * factor..<min((x + 1) * factor, whole.width) {
                        sum &+= SIMD3(truncatingIfNeeded: whole[column, row])
                        count += 1
                    }
                }
                let mean = (sum &+ count / 2) / SIMD3(repeating: count)
                try #require(photo.image[x, y] == SIMD3(truncatingIfNeeded: mean), "\(x), \(y)")
            }
        }
    }

    @Test("A large JPEG is reduced by the decoder and beyond it", arguments: [(70, 2), (60, 4), (20, 8), (10, 16)])
    func reducedJPEG(_ side: Int, _ denominator: Int) throws {
        let whole = try PhotoReader.read(at: Self.path("jpeg-444.jpg")).image
        let photo = try PhotoReader.read(at: Self.path("jpeg-444.jpg"), limits: PhotoLimits(side: side))
        #expect(photo.facts.scaleDenominator == denominator)
        #expect(photo.image.width == (whole.width + denominator - 1) / denominator)
        #expect(photo.image.height == (whole.height + denominator - 1) / denominator)
        for channel in 0..<3 {
            func mean(_ image: RGBImage) -> Double {
                let values = stride(from: channel, to: image.samples.count, by: 3).map { Double(image.samples[$0]) }
                return values.reduce(0, +) / Double(values.count)
            }
            #expect(abs(mean(photo.image) - mean(whole)) < 6)
        }
    }

    @Test("Pictures decoded side by side are those decoded alone")
    func together() async throws {
        let names = Self.names
        let alone = try names.map { try PhotoReader.read(at: Self.path($0)).image }
        try await withThrowingTaskGroup(of: (Int, RGBImage).self) { group in
            for turn in 0..<names.count * 3 {
                let index = turn % names.count
                group.addTask { (index, try PhotoReader.read(at: Self.path(names[index])).image) }
            }
            for try await (index, image) in group { #expect(image == alone[index], "\(names[index])") }
        }
    }

    @Test("Limits of any size are lived with")
    func limits() throws {
        let path = Self.path("tiff-lzw.tif")
        let open = PhotoLimits(storedPixels: .max, side: .max, bytes: .max)
        #expect(try PhotoReader.read(at: path, limits: open).image == PhotoReader.read(at: path).image)
        #expect(try PhotoReader.read(at: path, limits: PhotoLimits(side: 0)).image.samples.count == 3)
        for closed in [PhotoLimits(storedPixels: 0), PhotoLimits(bytes: 0), PhotoLimits(storedPixels: -1, bytes: -1)] {
            let error = #expect(throws: PhotoError.self) { try PhotoReader.readHeader(at: path, limits: closed) }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test("A raised flag stops every kind of picture", arguments: names)
    func cancelled(_ name: String) {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try PhotoReader.read(at: Self.path(name), flag: flag) }
    }

    @Test("The real photos beside the checkout come out in the sizes and colours that Pillow gives")
    func realPhotos() throws {
        guard let folder = SharedData.url("photos"), let facts = SharedData.url("facts.json") else { return }
        let root = try JSONSerialization.jsonObject(with: Data(contentsOf: facts)) as? [String: Any]
        let images = try #require(root?["images"] as? [String: [String: Any]])
        var compared = 0
        for (name, image) in images where name.hasPrefix("photos/") {
            guard let size = image["display"] as? [Int], let mode = image["mode"] as? String,
                // Alpha is left out there, Lab converted differently; planes of 16 bits Pillow mixes up.
                ["RGB", "L", "YCbCr", "CMYK", "1"].contains(mode), !name.contains("planar-16"), !name.contains("trns"),
                let means = image["mean_rgb_pillow"] as? [Double], means.count == 3,
                let photo = try? PhotoReader.read(at: folder.appendingPathComponent(String(name.dropFirst(7))).path),
                !photo.facts.hasAlpha
            else { continue }
            compared += 1
            #expect([photo.image.width, photo.image.height] == size, "\(name)")
            for channel in 0..<3 {
                var sum = 0
                for place in stride(from: channel, to: photo.image.samples.count, by: 3) {
                    sum += Int(photo.image.samples[place])
                }
                let mean = Double(sum) / Double(photo.image.width * photo.image.height)
                #expect(abs(mean - means[channel]) < 0.5, "\(name)")
            }
        }
        #expect(compared > 150)
    }
}
