import NocturneCore
import NocturneNumerics
import NocturnePostprocess
import NocturneSystem

/// The photo with every instance tinted, outlined and numbered.
enum OverlayDrawing {
    /// Okabe and Ito's colours, distinguishable with colour blindness; neighbours in reading order never share one.
    private static let colors: [SIMD3<UInt8>] = [
        SIMD3(230, 159, 0), SIMD3(86, 180, 233), SIMD3(0, 158, 115), SIMD3(240, 228, 66), SIMD3(0, 114, 178),
        SIMD3(213, 94, 0), SIMD3(204, 121, 167),
    ]

    /// The size of the overlay of a photo.
    /// - Parameter longestSide: of the overlay; it is never larger than the photo.
    static func size(width: Int, height: Int, longestSide: Int) -> (width: Int, height: Int) {
        let longest = max(width, height)
        guard longest > longestSide else { return (width, height) }
        return (max(width * longestSide / longest, 1), max(height * longestSide / longest, 1))
    }

    /// The photo in the size of its overlay.
    /// - Throws: `CancelledError`.
    static func reduced(
        _ photo: RGBImage,
        longestSide: Int,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> RGBImage {
        let size = size(width: photo.width, height: photo.height, longestSide: longestSide)
        guard size != (photo.width, photo.height) else { return photo }
        return try PillowResize.bilinear(photo, width: size.width, height: size.height, flag: flag)
    }

    /// Blends a third of a colour into a pixel; on an outline the pixel gets the colour itself.
    static func tint(
        _ samples: UnsafeMutableBufferPointer<UInt8>,
        _ pixel: Int,
        with color: SIMD3<UInt8>,
        isOutline: Bool
    ) {
        for channel in 0..<3 {
            let own = UInt16(color[channel])
            let mixed = (UInt16(samples[3 * pixel + channel]) * 2 + own) / 3
            samples[3 * pixel + channel] = UInt8(isOutline ? own : mixed)
        }
    }

    /// - Throws: `CancelledError`.
    static func draw(
        _ instances: [PhotoInstances.FoundInstance],
        on photo: RGBImage,
        longestSide: Int,
        flag: CancellationFlag
    ) throws -> RGBImage {
        var image = try reduced(photo, longestSide: longestSide, flag: flag)
        for instance in instances {
            try flag.check()
            paint(instance, of: (photo.width, photo.height), into: &image)
        }
        for instance in instances { number(instance, of: (photo.width, photo.height), into: &image) }
        return image
    }

    private static func paint(
        _ instance: PhotoInstances.FoundInstance,
        of photo: (width: Int, height: Int),
        into image: inout RGBImage
    ) {
        let color = colors[(instance.id - 1) % colors.count]
        let stepX = Double(image.width) / Double(photo.width)
        let stepY = Double(image.height) / Double(photo.height)
        // The part of the overlay covered by the instance, as a separate mask.
        let left = Int(Double(instance.box.x) * stepX)
        let top = Int(Double(instance.box.y) * stepY)
        let right = min(Int(Double(instance.box.x + instance.box.width) * stepX) + 1, image.width)
        let bottom = min(Int(Double(instance.box.y + instance.box.height) * stepY) + 1, image.height)
        var area = CoveredArea(width: max(right - left, 1), height: max(bottom - top, 1))
        instance.mask.forEachRun { x, rows in
            // The overlay column whose centre lies in this column of the photo.
            let place = Int((Double(x) + 0.5) * stepX)
            let middle = Int((Double(place) + 0.5) / stepX)
            guard middle == x, place >= left, place < right else { return }
            let first = Int((Double(rows.lowerBound) * stepY + 0.5).rounded(.down))
            let last = Int((Double(rows.upperBound) * stepY + 0.5).rounded(.down))
            let from = max(first, top)
            area.cover(column: place - left, rows: from - top..<max(from, min(last, bottom)) - top)
        }
        area.tint(&image, left: left, top: top, with: color)
    }

    /// The part of the overlay that an instance covers, with an empty border, so that every pixel has neighbours.
    private struct CoveredArea {
        /// As wide as the outline, whose test looks two pixels away.
        private static let border = 2

        let width: Int
        let height: Int
        private let rowLength: Int
        /// Row after row, with the border on all sides.
        private var isInside: [Bool]

        init(width: Int, height: Int) {
            (self.width, self.height) = (width, height)
            rowLength = width + 2 * Self.border
            isInside = [Bool](repeating: false, count: rowLength * (height + 2 * Self.border))
        }

        mutating func cover(column: Int, rows: Range<Int>) {
            for y in rows { isInside[(y + Self.border) * rowLength + column + Self.border] = true }
        }

        /// Blends a third of the colour into the pixels, and draws the outline, two pixels wide, in the colour itself.
        func tint(_ image: inout RGBImage, left: Int, top: Int, with color: SIMD3<UInt8>) {
            let imageWidth = image.width
            precondition(left >= 0 && top >= 0 && left + width <= imageWidth && top + height <= image.height)
            isInside.withUnsafeBufferPointer { inside in
                image.samples.withUnsafeMutableBufferPointer { samples in
                    for y in 0..<height {
                        for x in 0..<width {
                            let place = (y + Self.border) * rowLength + x + Self.border
                            guard inside[place] else { continue }
                            let isInner =
                                inside[place - 2] && inside[place - 1] && inside[place + 1] && inside[place + 2]
                                && inside[place - 2 * rowLength] && inside[place - rowLength]
                                && inside[place + rowLength] && inside[place + 2 * rowLength]
                            let pixel = (top + y) * imageWidth + left + x
                            OverlayDrawing.tint(samples, pixel, with: color, isOutline: !isInner)
                        }
                    }
                }
            }
        }
    }

    // MARK: Numbers

    private static let digits: [[String]] = [
        ["###", "#.#", "#.#", "#.#", "###"], [".#.", "##.", ".#.", ".#.", "###"], ["###", "..#", "###", "#..", "###"],
        ["###", "..#", ".##", "..#", "###"], ["#.#", "#.#", "###", "..#", "..#"], ["###", "#..", "###", "..#", "###"],
        ["###", "#..", "###", "#.#", "###"], ["###", "..#", "..#", ".#.", ".#."], ["###", "#.#", "###", "#.#", "###"],
        ["###", "#.#", "###", "..#", "###"],
    ]

    /// Draws the number in white on black, in the middle of the instance, as large as fits.
    private static func number(
        _ instance: PhotoInstances.FoundInstance,
        of photo: (width: Int, height: Int),
        into image: inout RGBImage
    ) {
        let text = Array(String(instance.id)).compactMap { Int(String($0)) }
        let step = Double(image.width) / Double(photo.width)
        let narrow = min(instance.rotated.width, Double(instance.box.width)) * step
        let columns = text.count * 4 + 1
        let scale = min(max(Int(narrow / Double(columns)), 1), max(max(image.width, image.height) / 400, 1))
        let middle = instance.rotated.centre * step
        let left = Int(middle.x) - columns * scale / 2
        let top = Int(middle.y) - 7 * scale / 2
        fill(&image, left, top, columns * scale, 7 * scale, SIMD3(repeating: 0))
        for (place, digit) in text.enumerated() {
            for (row, dots) in digits[digit].enumerated() {
                for (column, dot) in dots.enumerated() where dot == "#" {
                    let x = left + (place * 4 + 1 + column) * scale
                    fill(&image, x, top + (row + 1) * scale, scale, scale, SIMD3(repeating: 255))
                }
            }
        }
    }

    private static func fill(
        _ image: inout RGBImage,
        _ x: Int,
        _ y: Int,
        _ width: Int,
        _ height: Int,
        _ color: SIMD3<UInt8>
    ) {
        for row in max(y, 0)..<max(max(y, 0), min(y + height, image.height)) {
            for column in max(x, 0)..<max(max(x, 0), min(x + width, image.width)) { image[column, row] = color }
        }
    }
}
