internal import CPhotoKernels
import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// ``PillowResize`` for a picture that is delivered some rows at a time and never held completely: the same bytes.
///
/// Needs 3 bytes × `width` × source rows, plus the result.
public struct PillowRowResize {
    private let sourceWidth: Int
    private let taps: PillowTaps
    private let grouped: GroupedTaps
    private let height: Int
    private var middle: RGBImage
    private var filled = 0
    /// Space for one row: the kernel reads whole groups of weights, including zero weights beyond the last column.
    private var padded: [UInt8]

    /// - Throws: ``NumericsError`` for a size without pixels, or one that is too large.
    public init(sourceWidth: Int, sourceHeight: Int, width: Int, height: Int) throws {
        let sizes = [sourceWidth, sourceHeight, width, height]
        guard sizes.allSatisfy({ $0 > 0 && $0 < 1 << 20 }) else {
            throw NumericsError.shape(
                "\(sourceWidth)×\(sourceHeight) pixels cannot be resized to \(width)×\(height) pixels"
            )
        }
        self.sourceWidth = sourceWidth
        self.height = height
        taps = PillowTaps(from: sourceWidth, to: width)
        grouped = GroupedTaps(taps)
        middle = RGBImage(width: width, height: sourceHeight)
        padded = [UInt8](repeating: 0, count: sourceWidth * 3 + grouped.groups * 12 + 6)
    }

    /// Adds the next rows, `stride` bytes apart, 3 bytes per pixel. Rows beyond the picture are ignored.
    public mutating func add(_ rows: UnsafePointer<UInt8>, stride: Int, count: Int) {
        let width = middle.width
        let taken = min(count, middle.height - filled)
        middle.samples.withUnsafeMutableBufferPointer { target in
            for row in 0..<max(taken, 0) {
                var source = rows + row * stride
                let out = target.baseAddress! + (filled + row) * width * 3
                if width == sourceWidth {
                    out.update(from: source, count: width * 3)
                    continue
                }
                padded.withUnsafeMutableBufferPointer { line in
                    // The bytes after a row belong to the next row, except for the last rows.
                    if (count - 1 - row) * stride < line.count - sourceWidth * 3 {
                        line.baseAddress!.update(from: source, count: sourceWidth * 3)
                        source = UnsafePointer(line.baseAddress!)
                    }
                    photo_resize_row(source, taps.starts, grouped.weights, grouped.groups, width, out)
                }
            }
        }
        filled += max(taken, 0)
    }

    /// The resized picture, once all rows were added.
    /// - Throws: ``NumericsError`` when rows are missing; `CancelledError`.
    public consuming func finish(flag: CancellationFlag = CancellationFlag()) throws -> RGBImage {
        guard filled == middle.height else {
            throw NumericsError.shape("\(filled) of \(middle.height) rows received; the picture is incomplete")
        }
        if height == middle.height { return middle }
        var result = RGBImage(width: middle.width, height: height)
        try PillowResize.mixRows(of: middle, into: &result, flag: flag)
        return result
    }
}
