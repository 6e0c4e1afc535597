internal import CNocturneDeflate
internal import CZlib
public import NocturneConcurrency
import NocturneSystem

/// Writes animated images as PNG (ISO/IEC 15948, third edition: the chunks acTL, fcTL and fdAT): 8-bit palette or RGB,
/// complete frames, repeated endlessly.
///
/// Programs that do not support animation show a separate image, the cover, which is not part of the animation. The
/// same frames give the same bytes at any time and for any number of threads.
public struct AnimatedPNGWriter: Sendable {
    /// In pixels, 1 to 32,767.
    public let width: Int
    /// In pixels, 1 to 32,767.
    public let height: Int
    /// 1 to 256 colours, of which frames have indices; nil for frames of red, green and blue.
    public let palette: [SIMD3<UInt8>]?
    /// At least 1.
    public let frameCount: Int
    /// 0 to 60,000; viewers show 0 as fast as they can.
    public let millisecondsPerFrame: Int

    /// - Parameters:
    ///   - width: of the cover and of every frame, in pixels.
    ///   - height: of the cover and of every frame, in pixels.
    ///   - palette: 1 to 256 colours; nil for frames of red, green and blue.
    ///   - frameCount: at least 1, without the cover.
    ///   - millisecondsPerFrame: 0 to 60,000.
    public init(width: Int, height: Int, palette: [SIMD3<UInt8>]?, frameCount: Int, millisecondsPerFrame: Int) {
        self.width = width
        self.height = height
        self.palette = palette
        self.frameCount = frameCount
        self.millisecondsPerFrame = millisecondsPerFrame
    }

    private static let framesAtOnce = 8

    private var bytesPerPixel: Int { palette == nil ? 3 : 1 }
    private var frameBytes: Int { width * height * bytesPerPixel }

    /// The peak memory in bytes while writing frames of this number of pixels, in addition to the memory for drawing a frame.
    public static func predictedBytes(pixels: Int, hasPalette: Bool = true) -> Int {
        framesAtOnce * (4 * pixels * (hasPalette ? 1 : 3) + nocturne_deflater_bytes() + (1 << 12))
    }

    /// Writes the file, replacing an existing one. It is not flushed to the disk.
    ///
    /// Frames are drawn and compressed by all threads, eight at a time.
    /// - Parameters:
    ///   - cover: palette indices, or red, green and blue; row by row from the top.
    ///   - frame: the same of a frame; called on several threads, once for each frame and in no fixed order.
    /// - Throws: ``PictureError``, and ``CancelledError`` when the flag is raised, which is checked before every frame; the
    ///   part of the file already written stays.
    public func write(
        to path: String,
        cover: [UInt8],
        scope: ComputeScope,
        frame: @Sendable (Int) -> [UInt8]
    ) throws {
        guard width > 0, height > 0, width < 1 << 15, height < 1 << 15, (1...256).contains(palette?.count ?? 1),
            frameCount > 0, (0...60_000).contains(millisecondsPerFrame), cover.count == frameBytes
        else {
            throw PictureError(
                .invalidImage,
                path: path,
                "\(frameCount) frames of \(width)×\(height) cannot be written"
            )
        }
        do {
            var output = try FileDescriptor(creating: path)
            try output.write(
                PNGWriter.File.signature
                    + PNGWriter.File.header(width: width, height: height, palette == nil ? .rgb : .palette)
                    + PNGWriter.File.chunk("acTL", PNGWriter.File.bigEndian(frameCount) + PNGWriter.File.bigEndian(0))
                    + (palette.map { PNGWriter.File.chunk("PLTE", $0.flatMap { [$0.x, $0.y, $0.z] }) } ?? [])
                    + PNGWriter.File.chunk("IDAT", try packed(cover, for: path))
            )
            // fcTL and fdAT share one count, without gaps.
            var sequence = 0
            for start in stride(from: 0, to: frameCount, by: Self.framesAtOnce) {
                for packed in try frames(start..<min(frameCount, start + Self.framesAtOnce), path, scope, frame) {
                    let content = PNGWriter.File.bigEndian(sequence + 1) + packed
                    try output.write(control(sequence) + PNGWriter.File.chunk("fdAT", content))
                    sequence += 2
                }
            }
            try output.write(PNGWriter.File.chunk("IEND", []))
            try output.close()
        } catch let error as FileSystemError {
            throw PictureError(.cannotWrite, writing: error)
        }
    }

    /// The chunk before a frame: its size and position, its duration, and that it replaces the whole image.
    private func control(_ sequence: Int) -> [UInt8] {
        func two(_ value: Int) -> [UInt8] { Array(PNGWriter.File.bigEndian(value).suffix(2)) }
        return PNGWriter.File.chunk(
            "fcTL",
            [sequence, width, height, 0, 0].flatMap(PNGWriter.File.bigEndian) + two(millisecondsPerFrame) + two(1000)
                + [0, 0]
        )
    }

    private func frames(
        _ range: Range<Int>,
        _ path: String,
        _ scope: ComputeScope,
        _ frame: @Sendable (Int) -> [UInt8]
    ) throws -> [[UInt8]] {
        let results = try scope.map(range.count) { index in
            Result { () throws(PictureError) in
                let pixels = frame(range.lowerBound + index)
                guard pixels.count == frameBytes else {
                    throw PictureError(.invalidImage, path: path, "a frame of \(pixels.count) bytes cannot be written")
                }
                return try packed(pixels, for: path)
            }
        }
        return try results.map { try $0.get() }
    }

    /// A zlib stream. Rows of a palette are not filtered: neighbouring indices need not be similar colours, and rows repeat
    /// better than their differences. Of other rows, the difference to the row above is stored.
    private func packed(_ pixels: [UInt8], for path: String) throws(PictureError) -> [UInt8] {
        let rowBytes = width * bytesPerPixel
        let rows = PNGWriter.File.rows(pixels, of: rowBytes, palette == nil ? .up : .none)
        guard let deflater = nocturne_deflater_new() else {
            throw PictureError(.outOfMemory, path: path, "no memory to compress the picture")
        }
        defer { nocturne_deflater_free(deflater) }
        let body = [UInt8](unsafeUninitializedCapacity: nocturne_deflate_bound(rows.count)) { target, count in
            let voxels = nocturne_voxels(width: 1, row: rowBytes + 1)
            count = nocturne_deflate(deflater, rows, rows.count, voxels, 1, target.baseAddress!)
        }
        // The header of zlib for a window of 32 KiB (RFC 1950); the checksum is of the rows with their filter types.
        return [0x78, 0x01] + body + PNGWriter.File.bigEndian(Int(adler32(1, rows, uInt(rows.count))))
    }
}
