package import NocturneCore
package import NocturneInference

/// Which intensities are drawn from black to white.
package enum PreviewWindow: Hashable, Sendable {
    case fixed(lower: Float, upper: Float)
    /// From the 0.5 to the 99.5 percentile of the three slices (of an even choice of about 4,000 of their voxels).
    case percentiles
}

/// What a person looks at first: an axial, a coronal and a sagittal slice with the outlines of the labels, side by side
/// on black.
///
/// Drawn as radiologists look at patients: the right side on the image's left, seen from the feet (axial, the front
/// on top) and from the front (coronal, the head on top); the sagittal slice has the front on the left, the head on top.
/// The slices are those of the grid, so of an oblique grid they are oblique. All share one scale: the volume's longest
/// side takes 256 pixels, or less where a voxel would become larger than 8 pixels.
///
/// Only voxels that are drawn are read, in place and through the orientation, so the time does not grow with the volume,
/// and nothing is allocated beyond the image (at most 900 kB) and the labels of a panel.
package struct Preview {
    package let volume: Volume
    /// On the volume's own grid.
    package let labels: LabelVolume
    /// A label without a colour gets no outline.
    package let colors: [UInt16: LabelColor]
    package let window: PreviewWindow
    /// The box of all labels in stored indices; nil when there are none.
    package let labelled: VoxelBox?

    package init(
        volume: Volume,
        labels: LabelVolume,
        colors: [UInt16: LabelColor],
        window: PreviewWindow,
        labelled: VoxelBox?
    ) {
        precondition(volume.geometry.shape == labels.geometry.shape, "labels and image lie on one grid")
        self.volume = volume
        self.labels = labels
        self.colors = colors
        self.window = window
        self.labelled = labelled
    }

    private static let longestSide = 256.0
    private static let largestVoxel = 8.0
    private static let letterScale = 2
    private static let gap = 3
    private static let letterColor = SIMD3<UInt8>(repeating: 200)
    private static var margin: Int { PreviewLetters.height * letterScale + 2 * gap }

    /// The strip of the three panels, drawn.
    package func image() -> RGBImage {
        let grid = SlicedGrid(volume.geometry, through: labelled)
        let extents = (0..<3).map { Double(grid.axes[$0].count) * grid.axes[$0].spacing }
        let scale = min(
            Preview.longestSide / (extents.max() ?? 1),
            Preview.largestVoxel / (grid.axes.map(\.spacing).min() ?? 1)
        )
        let lines = (0..<3).map { grid.axes[$0].sampled(pixels: max(1, Int((extents[$0] * scale).rounded()))) }
        let panels = [(0, 1, "RLAP"), (0, 2, "RLSI"), (1, 2, "APSI")]
        let margin = Preview.margin
        let height = panels.map { lines[$0.1].count }.max() ?? 0
        var image = RGBImage(
            width: panels.reduce(0) { $0 + lines[$1.0].count + 2 * margin },
            height: height + 2 * margin
        )
        let window = Window(window, over: sampledVoxels(of: grid))
        var x = margin
        for (across, down, letters) in panels {
            let panel = Panel(
                columns: lines[across],
                rows: lines[down],
                base: grid.base(across: across, down: down),
                x: x,
                y: margin + (height - lines[down].count) / 2
            )
            drawSlice(panel, window, in: &image)
            drawOutlines(panel, in: &image)
            drawLetters(Array(letters), around: panel, in: &image)
            x += panel.columns.count + 2 * margin
        }
        return image
    }

    // MARK: Drawing

    /// One slice: where its pixels take their voxels from, and its upper left corner in the image.
    private struct Panel {
        let columns: [Sample]
        let rows: [Sample]
        let base: Int
        let x: Int
        let y: Int
    }

    private func drawSlice(_ panel: Panel, _ window: Window, in image: inout RGBImage) {
        let width = image.width
        volume.voxels.withUnsafeBufferPointer { voxels in
            image.samples.withUnsafeMutableBufferPointer { samples in
                for (y, row) in panel.rows.enumerated() {
                    let first = panel.base + row.first
                    let second = panel.base + row.second
                    var place = (panel.x + width * (panel.y + y)) * 3
                    for column in panel.columns {
                        let above = Preview.mixed(voxels[first + column.first], voxels[first + column.second], column)
                        let below = Preview.mixed(voxels[second + column.first], voxels[second + column.second], column)
                        let grey = window.grey(Preview.mixed(above, below, row))
                        samples[place] = grey
                        samples[place + 1] = grey
                        samples[place + 2] = grey
                        place += 3
                    }
                }
            }
        }
    }

    private static func mixed(_ first: Float, _ second: Float, _ sample: Sample) -> Float {
        first + (second - first) * sample.weight
    }

    /// The outline is drawn in pixels, not in voxels: it is thin in every panel, whatever the scale.
    private func drawOutlines(_ panel: Panel, in image: inout RGBImage) {
        let (width, height) = (panel.columns.count, panel.rows.count)
        let values = labels.voxels.withUnsafeBufferPointer { voxels in
            panel.rows.flatMap { row in panel.columns.map { voxels[panel.base + row.nearest + $0.nearest] } }
        }
        for y in 0..<height {
            for x in 0..<width {
                let place = x + width * y
                let value = values[place]
                guard value != 0 else { continue }
                let isInside =
                    (x == 0 || values[place - 1] == value) && (x == width - 1 || values[place + 1] == value)
                    && (y == 0 || values[place - width] == value) && (y == height - 1 || values[place + width] == value)
                guard !isInside, let color = colors[value] else { continue }
                image[panel.x + x, panel.y + y] = SIMD3(color.red, color.green, color.blue)
            }
        }
    }

    /// `letters`: left, right, top, bottom.
    private func drawLetters(_ letters: [Character], around panel: Panel, in image: inout RGBImage) {
        let width = PreviewLetters.width * Preview.letterScale
        let height = PreviewLetters.height * Preview.letterScale
        let middle = (x: panel.x + (panel.columns.count - width) / 2, y: panel.y + (panel.rows.count - height) / 2)
        let places = [
            (panel.x - Preview.gap - width, middle.y),
            (panel.x + panel.columns.count + Preview.gap, middle.y),
            (middle.x, panel.y - Preview.gap - height),
            (middle.x, panel.y + panel.rows.count + Preview.gap),
        ]
        for (letter, place) in zip(letters, places) {
            PreviewLetters.draw(
                letter,
                in: &image,
                x: place.0,
                y: place.1,
                scale: Preview.letterScale,
                color: Preview.letterColor
            )
        }
    }

    // MARK: The window

    /// Intensities of voxels that lie evenly in the three slices; none where the window is given.
    private func sampledVoxels(of grid: SlicedGrid) -> [Float] {
        guard window == .percentiles else { return [] }
        let pairs = [(0, 1), (0, 2), (1, 2)]
        let total = pairs.reduce(0) { $0 + grid.axes[$1.0].count * grid.axes[$1.1].count }
        // The same step along both axes: of any shape, an even choice.
        let step = max(1, Int((Double(total) / 4096).squareRoot().rounded(.up)))
        var found: [Float] = []
        volume.voxels.withUnsafeBufferPointer { voxels in
            for (across, down) in pairs {
                let base = grid.base(across: across, down: down)
                for row in stride(from: 0, to: grid.axes[down].count, by: step) {
                    for column in stride(from: 0, to: grid.axes[across].count, by: step) {
                        let value = voxels[base + grid.axes[across].offsets[column] + grid.axes[down].offsets[row]]
                        if value.isFinite { found.append(value) }
                    }
                }
            }
        }
        return found
    }

    private struct Window {
        let lower: Double
        let scale: Double

        init(_ window: PreviewWindow, over sampled: [Float]) {
            var bounds: (Float, Float) = (0, 1)
            switch window {
            case .fixed(let lower, let upper): bounds = (lower, upper)
            case .percentiles:
                let sorted = sampled.sorted()
                if let last = sorted.indices.last {
                    let cut = Int((Double(last) * 0.005).rounded())
                    bounds = (sorted[cut], sorted[last - cut])
                }
            }
            lower = Double(bounds.0)
            let width = Double(bounds.1) - lower
            scale = width > 0 ? 255 / width : 0
        }

        /// What is not a number is black.
        func grey(_ value: Float) -> UInt8 {
            let grey = (Double(value) - lower) * scale
            return grey > 0 ? UInt8(min(grey, 255).rounded()) : 0
        }
    }
}

extension IntensityNormalization {
    /// The bounds that the network sees are a window too; the other schemes know none.
    package var previewWindow: PreviewWindow {
        if case .ct(let lower, let upper, _, _) = self { return .fixed(lower: lower, upper: upper) }
        return .percentiles
    }
}
