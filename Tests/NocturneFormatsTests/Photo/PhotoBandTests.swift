import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Pictures that come some rows at a time")
struct PhotoBandTests {
    static let pictures: [String] = {
        let samples = Checkout.folder.appendingPathComponent("Samples/Photos/lesions")
        let folders = [Fixtures.url("Photos"), samples]
        return folders.flatMap { folder in
            FileSystem.names(folder.path).filter { !$0.hasSuffix(".json") && !$0.hasSuffix(".csv") }
                .map { folder.appendingPathComponent($0).path }
        }
    }()

    private enum FileSystem {
        static func names(_ path: String) -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
        }
    }

    private func part(_ path: String, _ part: PixelBox) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var next = part.y
        _ = try PhotoReader.readBands(at: path, part: { _ in part }) { band in
            #expect(band.rows.lowerBound == next)
            next = band.rows.upperBound
            for row in 0..<band.rows.count {
                let start = band.samples + row * band.stride
                bytes += UnsafeBufferPointer(start: start, count: part.width * 3)
            }
        }
        #expect(next == part.y + part.height)
        return bytes
    }

    @Test("Every part of every kind of picture is what it is in the whole", arguments: pictures)
    func parts(_ path: String) throws {
        guard let whole = try? PhotoReader.read(at: path).image else { return }
        let (width, height) = (whole.width, whole.height)
        var random = SplitMix64(seed: UInt64(width * 10_000 + height))
        func range(_ length: Int) -> Range<Int> {
            let first = Int(random.next() % UInt64(length))
            return first..<first + 1 + Int(random.next() % UInt64(length - first))
        }
        var parts = [
            PixelBox(x: 0, y: 0, width: width, height: height),
            PixelBox(x: width / 2, y: 0, width: width - width / 2, height: 1),
            PixelBox(x: 0, y: height - 1, width: (width + 1) / 2, height: 1),
        ]
        for _ in 0..<12 {
            let (columns, rows) = (range(width), range(height))
            let (x, y) = (columns.lowerBound, rows.lowerBound)
            parts.append(PixelBox(x: x, y: y, width: columns.count, height: rows.count))
        }
        for part in parts {
            let expected = (part.y..<part.y + part.height).flatMap { row in
                let first = row * width + part.x
                return whole.samples[first * 3..<(first + part.width) * 3]
            }
            #expect(try self.part(path, part) == expected, "\(part)")
        }
    }

    @Test("Resized row by row it is the same picture, for any size and any number of rows at a time", arguments: 0..<24)
    func resizing(_ seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        func number(_ most: Int) -> Int { 1 + Int(random.next() % UInt64(most)) }
        let (width, height) = (number(300), number(300))
        let (newWidth, newHeight) =
            seed % 3 == 0 ? (width, number(90)) : (number(90), seed % 3 == 1 ? height : number(400))
        var image = RGBImage(width: width, height: height)
        for index in image.samples.indices { image.samples[index] = UInt8(truncatingIfNeeded: random.next()) }
        let expected = try PillowResize.bilinear(image, width: newWidth, height: newHeight)
        var resize = try PillowResize(sourceWidth: width, sourceHeight: height, width: newWidth, height: newHeight)
        var row = 0
        while row < height {
            let count = min(number(40), height - row)
            // A copy without a byte to spare, so that a sanitizer would see a read behind it.
            let rows = Array(image.samples[row * width * 3..<(row + count) * width * 3])
            rows.withUnsafeBufferPointer { resize.add($0.baseAddress!, stride: width * 3, count: count) }
            row += count
        }
        #expect(try resize.finish() == expected)
    }

    @Test("Rows that are missing, a damaged file and a raised flag are errors, not half a picture")
    func faults() throws {
        let path = try #require(Self.pictures.first { $0.hasSuffix("lesion-01.jpg") })
        let short = try PillowResize(sourceWidth: 4, sourceHeight: 4, width: 2, height: 2)
        #expect(throws: NumericsError.self) { try short.finish() }
        try TemporaryFolder.with { folder in
            // The part lies above the damage, and still there is one.
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            let cut = try folder.write(Array(bytes.prefix(bytes.count * 3 / 4)), to: "cut.jpg")
            #expect(throws: PhotoError.self) { try part(cut.path, PixelBox(x: 0, y: 0, width: 20, height: 20)) }
        }
        let flag = CancellationFlag()
        #expect(throws: CancelledError.self) {
            try PhotoReader.readBands(
                at: path,
                flag: flag,
                part: { _ in PixelBox(x: 0, y: 0, width: 9, height: 400) }
            ) {
                _ in
                flag.cancel()
            }
        }
    }
}
