internal import CNocturneDeflate
internal import CZlib
public import NocturneConcurrency
import NocturneSystem

/// Writes animated pictures as PNG (ISO/IEC 15948, third edition: the chunks acTL, fcTL and fdAT): 8-bit palette, every
/// frame whole, shown without end.
///
/// Programs that know no animation show a picture of its own, the cover, which is not part of it. The same frames have the
/// same bytes whenever and by however many threads they are written.
public struct AnimatedPNGWriter: Sendable {
    public let width: Int
    public let height: Int
    /// 1 to 256 colours.
    public let palette: [SIMD3<UInt8>]
    public let frameCount: Int
    public let millisecondsPerFrame: Int

    public init(width: Int, height: Int, palette: [SIMD3<UInt8>], frameCount: Int, millisecondsPerFrame: Int) {
        self.width = width
        self.height = height
        self.palette = palette
        self.frameCount = frameCount
        self.millisecondsPerFrame = millisecondsPerFrame
    }

    private static let framesAtOnce = 8

    /// The most bytes held while writing frames of so many pixels, beside what draws a frame.
    public static func predictedBytes(pixels: Int) -> Int {
        framesAtOnce * (4 * pixels + nocturne_deflater_bytes() + (1 << 12))
    }

    /// Writes the file, over any that is there. It is not flushed to the disk.
    ///
    /// Frames are drawn and compressed by all threads, eight at a time.
    /// - Parameters:
    ///   - cover: places in the palette, row by row from the top.
    ///   - written: is told after every frame how many are in the file.
    ///   - frame: the same of a frame; called on several threads, for each once and in no order.
    /// - Throws: ``PNGError``, and ``CancelledError`` when the flag is raised, which is looked at before every frame; what
    ///   was written of the file until then stays.
    public func write(
        to path: String,
        cover: [UInt8],
        scope: ComputeScope,
        written: (Int) -> Void = { _ in },
        frame: @Sendable (Int) -> [UInt8]
    ) throws {
        guard width > 0, height > 0, width < 1 << 15, height < 1 << 15, (1...256).contains(palette.count),
            frameCount > 0,
            (0...60_000).contains(millisecondsPerFrame), cover.count == width * height
        else {
            throw PNGError(.invalidImage, path: path, "\(frameCount) frames of \(width)×\(height) cannot be written")
        }
        do {
            var output = try FileDescriptor(creating: path)
            try output.write(
                PNGFile.signature + PNGFile.header(width: width, height: height, .palette)
                    + PNGFile.chunk("acTL", PNGFile.bigEndian(frameCount) + PNGFile.bigEndian(0))
                    + PNGFile.chunk("PLTE", palette.flatMap { [$0.x, $0.y, $0.z] })
                    + PNGFile.chunk("IDAT", try packed(cover, for: path))
            )
            var sequence = 0
            for start in stride(from: 0, to: frameCount, by: Self.framesAtOnce) {
                for packed in try frames(start..<min(frameCount, start + Self.framesAtOnce), path, scope, frame) {
                    let content = PNGFile.bigEndian(sequence + 1) + packed
                    try output.write(control(sequence) + PNGFile.chunk("fdAT", content))
                    sequence += 2
                    written(sequence / 2)
                }
            }
            try output.write(PNGFile.chunk("IEND", []))
            try output.close()
        } catch let error as FileSystemError {
            throw PNGError(.cannotWrite, writing: error)
        }
    }

    /// What comes before a frame: its size and place, the time it is shown, and that it replaces all there is.
    private func control(_ sequence: Int) -> [UInt8] {
        func two(_ value: Int) -> [UInt8] { Array(PNGFile.bigEndian(value).suffix(2)) }
        return PNGFile.chunk(
            "fcTL",
            [sequence, width, height, 0, 0].flatMap(PNGFile.bigEndian) + two(millisecondsPerFrame) + two(1000) + [0, 0]
        )
    }

    private func frames(
        _ range: Range<Int>,
        _ path: String,
        _ scope: ComputeScope,
        _ frame: @Sendable (Int) -> [UInt8]
    ) throws -> [[UInt8]] {
        var results = [Result<[UInt8], PNGError>?](repeating: nil, count: range.count)
        try results.withUnsafeMutableBufferPointer { results throws(CancelledError) in
            nonisolated(unsafe) let results = results
            try scope.forEach(range.count) { place in
                results[place] = Result { () throws(PNGError) in
                    let pixels = frame(range.lowerBound + place)
                    guard pixels.count == width * height else {
                        throw PNGError(.invalidImage, path: path, "a frame of \(pixels.count) pixels cannot be written")
                    }
                    return try packed(pixels, for: path)
                }
            }
        }
        return try results.compactMap { try $0?.get() }
    }

    /// A zlib stream of the rows as they are: neighbouring places in a palette need not be neighbouring colours, and rows
    /// repeat better than their differences.
    private func packed(_ pixels: [UInt8], for path: String) throws(PNGError) -> [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity((width + 1) * height)
        for y in 0..<height {
            rows.append(0)
            rows += pixels[y * width..<(y + 1) * width]
        }
        guard let deflater = nocturne_deflater_new() else {
            throw PNGError(.outOfMemory, path: path, "no memory to compress the picture")
        }
        defer { nocturne_deflater_free(deflater) }
        let body = [UInt8](unsafeUninitializedCapacity: nocturne_deflate_bound(rows.count)) { target, count in
            count = nocturne_deflate(deflater, rows, rows.count, 1, width + 1, 1, target.baseAddress!)
        }
        return [0x78, 0x01] + body + PNGFile.bigEndian(Int(adler32(1, rows, uInt(rows.count))))
    }
}
