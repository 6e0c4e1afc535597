/// Draws a label image over greys: outlines and areas.
enum LabelDrawing {
    /// Calls `draw` with every pixel, row by row, whose label is not 0 and differs from a neighbour's above, below,
    /// left or right. The border of the image itself is not an outline.
    ///
    /// Outlines consist of pixels, not of voxels: they are thin in every image, whatever its scale.
    static func forEachOutline(_ labels: [UInt16], width: Int, _ draw: (_ x: Int, _ y: Int, _ label: UInt16) -> Void) {
        let height = width > 0 ? labels.count / width : 0
        for y in 0..<height {
            for x in 0..<width {
                let place = x + width * y
                let label = labels[place]
                guard label != 0 else { continue }
                let isInside =
                    (x == 0 || labels[place - 1] == label) && (x == width - 1 || labels[place + 1] == label)
                    && (y == 0 || labels[place - width] == label) && (y == height - 1 || labels[place + width] == label)
                if !isInside { draw(x, y, label) }
            }
        }
    }

    /// Red, green and blue of every pixel, rounded to the nearest; grey where a pixel has no label or its label no colour.
    /// - Parameter opacity: of the colours, from 0 to 1.
    static func blended(
        _ greys: [UInt8],
        _ labels: [UInt16],
        colors: [UInt16: SIMD3<UInt8>],
        opacity: Double
    ) -> [UInt8] {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(greys.count * 3)
        let share = Int((min(max(opacity, 0), 1) * 256).rounded())
        var (last, color) = (UInt16(0), SIMD3<UInt8>?.none)
        for (grey, label) in zip(greys, labels) {
            if label != last { (last, color) = (label, colors[label]) }
            guard let color, share > 0 else {
                pixels.append(contentsOf: repeatElement(grey, count: 3))
                continue
            }
            for channel in 0..<3 {
                pixels.append(UInt8((Int(grey) * (256 - share) + Int(color[channel]) * share + 128) >> 8))
            }
        }
        return pixels
    }
}
