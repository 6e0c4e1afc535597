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

    /// Blends a third of a label's colour into its pixels; its outline, two pixels wide, gets the colour itself.
    /// - Parameters:
    ///   - map: row after row; 0 for pixels without a label.
    ///   - area: the part of the image that the map covers.
    ///   - colors: by label.
    ///   - beyond: whether pixels beyond the map count as the same label.
    /// - Throws: `CancelledError`.
    static func tint(
        _ image: inout RGBImage,
        _ map: [UInt16],
        in area: PixelBox,
        colors: [SIMD3<UInt8>],
        beyond: Bool,
        flag: CancellationFlag
    ) throws {
        let (imageWidth, width, height) = (image.width, area.width, area.height)
        precondition(area.fits(width: image.width, height: image.height) && map.count == width * height)
        try map.withUnsafeBufferPointer { map in
            try image.samples.withUnsafeMutableBufferPointer { samples in
                for y in 0..<height {
                    try flag.check()
                    for x in 0..<width {
                        let place = y * width + x
                        let value = map[place]
                        guard value != 0 else { continue }
                        let isInner = (1...2).allSatisfy { step in
                            (x < step ? beyond : map[place - step] == value)
                                && (x + step >= width ? beyond : map[place + step] == value)
                                && (y < step ? beyond : map[place - step * width] == value)
                                && (y + step >= height ? beyond : map[place + step * width] == value)
                        }
                        let pixel = 3 * ((area.y + y) * imageWidth + area.x + x)
                        for channel in 0..<3 {
                            let own = UInt16(colors[Int(value)][channel])
                            let mixed = (UInt16(samples[pixel + channel]) * 2 + own) / 3
                            samples[pixel + channel] = UInt8(isInner ? mixed : own)
                        }
                    }
                }
            }
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
            try paint(instance, of: (photo.width, photo.height), into: &image, flag: flag)
        }
        for instance in instances { number(instance, of: (photo.width, photo.height), into: &image) }
        return image
    }

    private static func paint(
        _ instance: PhotoInstances.FoundInstance,
        of photo: (width: Int, height: Int),
        into image: inout RGBImage,
        flag: CancellationFlag
    ) throws {
        let color = colors[(instance.id - 1) % colors.count]
        let stepX = Double(image.width) / Double(photo.width)
        let stepY = Double(image.height) / Double(photo.height)
        // The part of the overlay around the instance.
        let left = Int(Double(instance.box.x) * stepX)
        let top = Int(Double(instance.box.y) * stepY)
        let right = min(Int(Double(instance.box.x + instance.box.width) * stepX) + 1, image.width)
        let bottom = min(Int(Double(instance.box.y + instance.box.height) * stepY) + 1, image.height)
        let area = PixelBox(x: left, y: top, width: max(right - left, 1), height: max(bottom - top, 1))
        var covered = [UInt16](repeating: 0, count: area.width * area.height)
        instance.mask.forEachRun { x, rows in
            // The overlay column whose centre lies in this column of the photo.
            let place = Int((Double(x) + 0.5) * stepX)
            let middle = Int((Double(place) + 0.5) / stepX)
            guard middle == x, place >= left, place < right else { return }
            let first = Int((Double(rows.lowerBound) * stepY + 0.5).rounded(.down))
            let last = Int((Double(rows.upperBound) * stepY + 0.5).rounded(.down))
            let from = max(first, top)
            for y in from..<max(from, min(last, bottom)) { covered[(y - top) * area.width + place - left] = 1 }
        }
        // What lies beyond the area is not the instance's.
        try tint(&image, covered, in: area, colors: [.zero, color], beyond: false, flag: flag)
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
