import NocturneCore

/// Draws a label image over greys: outlines and areas.
enum LabelDrawing {
    /// How many labels are drawn along a pixel's side, so that outlines between pixels are smooth.
    static let fineness = 3

    /// The weights of a voxel's lower neighbour, of itself and of its higher neighbour in a quadratic B-spline.
    /// - Parameter t: the distance from the voxel's middle, -0.5 to 0.5.
    static func splineWeights(_ t: Double) -> SIMD3<Double> {
        SIMD3((0.5 - t) * (0.5 - t) / 2, 0.75 - t * t, (0.5 + t) * (0.5 + t) / 2)
    }

    /// The label with the greatest weight at each pixel, where every voxel of a plane spreads as a quadratic B-spline, as the
    /// surfaces of labels do: borders of voxels that are larger than pixels become smooth, and those along an axis keep their places.
    /// The nearest label was rejected, since thick slices have steps. A single voxel is drawn at six tenths of its size.
    /// - Parameter label: at a position of the columns and one of the rows.
    static func smoothed(_ columns: [Sample], _ rows: [Sample], _ label: (Int, Int) -> UInt16) -> [UInt16] {
        rows.flatMap { row in
            var near = SIMD3<Int>(repeating: -1)
            var labels = InlineArray<9, UInt16>(repeating: 0)
            var isUniform = true
            return columns.map { column in
                // Most columns have the voxels of the one before.
                if column.near != near {
                    near = column.near
                    labels = InlineArray(repeating: label(near.y, row.near.y))
                    isUniform = true
                    // Where voxels are not larger than pixels, there is only one.
                    for place in 0..<9 where near.x != near.z || row.near.x != row.near.z {
                        labels[place] = label(near[place % 3], row.near[place / 3])
                        if labels[place] != labels[0] { isUniform = false }
                    }
                }
                return isUniform ? labels[4] : heaviest(labels, column.nearWeights, row.nearWeights)
            }
        }
    }

    /// The label with the greatest weight; the nearest of equal ones.
    private static func heaviest(
        _ labels: InlineArray<9, UInt16>,
        _ columnWeights: SIMD3<Float>,
        _ rowWeights: SIMD3<Float>
    ) -> UInt16 {
        var best = (label: labels[4], weight: Float(0))
        for step in 0..<9 {
            let candidate = step == 0 ? 4 : step <= 4 ? step - 1 : step
            guard step == 0 || labels[candidate] != best.label else { continue }
            var weight: Float = 0
            for place in 0..<9 where labels[place] == labels[candidate] {
                weight += columnWeights[place % 3] * rowWeights[place / 3]
            }
            if weight > best.weight { best = (labels[candidate], weight) }
        }
        return best.label
    }

    /// Draws outlines one pixel wide, along the inside of the labels' borders, as far as they cover each pixel.
    /// - Parameters:
    ///   - labels: ``fineness`` × ``fineness`` for each pixel, row by row.
    ///   - width: of the panel, in pixels.
    static func drawOutlines(
        _ labels: [UInt16],
        width: Int,
        colors: [UInt16: SIMD3<UInt8>],
        at corner: (x: Int, y: Int),
        in image: inout RGBImage
    ) {
        let side = width * fineness
        let total = fineness * fineness
        var sums = [SIMD4<Int>](repeating: .zero, count: labels.count / total)
        forEachOutline(labels, width: side, thickness: fineness) { x, y, label in
            guard let color = colors[label] else { return }
            sums[x / fineness + width * (y / fineness)] &+= SIMD4(Int(color.x), Int(color.y), Int(color.z), 1)
        }
        for (place, sum) in sums.enumerated() where sum.w > 0 {
            let (x, y) = (corner.x + place % width, corner.y + place / width)
            var pixel = image[x, y]
            for channel in 0..<3 {
                pixel[channel] = UInt8((sum[channel] + Int(pixel[channel]) * (total - sum.w) + total / 2) / total)
            }
            image[x, y] = pixel
        }
    }

    /// The label in the middle of each pixel, of finer ones.
    static func middles(_ labels: [UInt16], width: Int) -> [UInt16] {
        let height = labels.count / (width * fineness * fineness)
        return (0..<width * height).map { place in
            labels[
                place % width * fineness + fineness / 2 + width * fineness * (place / width * fineness + fineness / 2)
            ]
        }
    }

    /// Calls `draw` with every pixel, row by row, whose label is not 0 and differs from that of a pixel above, below,
    /// left or right at the distance of `thickness`. The border of the image itself is not an outline.
    ///
    /// Outlines consist of pixels, not of voxels: they are thin in every image, whatever its scale.
    static func forEachOutline(
        _ labels: [UInt16],
        width: Int,
        thickness: Int = 1,
        _ draw: (_ x: Int, _ y: Int, _ label: UInt16) -> Void
    ) {
        let height = width > 0 ? labels.count / width : 0
        for y in 0..<height {
            for x in 0..<width {
                let place = x + width * y
                let label = labels[place]
                guard label != 0 else { continue }
                let row = width * thickness
                let isInside =
                    (x < thickness || labels[place - thickness] == label)
                    && (x >= width - thickness || labels[place + thickness] == label)
                    && (y < thickness || labels[place - row] == label)
                    && (y >= height - thickness || labels[place + row] == label)
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
