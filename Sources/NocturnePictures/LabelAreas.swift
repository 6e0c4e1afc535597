/// Blends the colours of labels with the greys of a slice.
struct LabelAreas {
    let colors: [UInt16: SIMD3<UInt8>]
    /// Of the colours, from 0 to 1.
    let opacity: Double

    /// Red, green and blue of every pixel, rounded to the nearest; grey where a pixel has no label or its label no colour.
    func blended(_ greys: [UInt8], _ labels: [UInt16]) -> [UInt8] {
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
