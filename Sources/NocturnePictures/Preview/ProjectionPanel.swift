import NocturneCore

/// One maximum-intensity projection with the silhouettes of the labels; nearer labels hide farther ones.
struct ProjectionPanel {
    private let columns: [Sample]
    private let rows: [Sample]
    private let grid: SlicedGrid
    private let across: Int
    private let down: Int

    init(_ grid: SlicedGrid, across: Int, down: Int, width: Int, height: Int) {
        columns = Sample.along(grid.axes[across].count, pixels: width)
        rows = Sample.along(grid.axes[down].count, pixels: height)
        self.grid = grid
        self.across = across
        self.down = down
    }

    /// The projection at the image's pixels, row by row: the largest of the voxels that a pixel overlaps, interpolated
    /// where voxels are larger than pixels.
    func values(of projections: MaximumProjections) -> [Float] {
        let (source, reversed) = (grid.orientation.source, grid.orientation.reversed)
        let map = projections.maps[source[3 - across - down]]
        let isFast = source[across] < source[down]
        func places(_ axis: Int, stride: Int) -> [Int] {
            let count = grid.axes[axis].count
            return (0..<count).map { (reversed[axis] ? count - 1 - $0 : $0) * stride }
        }
        let columnPlaces = places(across, stride: isFast ? 1 : grid.axes[down].count)
        let rowPlaces = places(down, stride: isFast ? grid.axes[across].count : 1)
        // First across, one row of voxels after another; then down.
        var lines: [Float] = []
        lines.reserveCapacity(rowPlaces.count * columns.count)
        for row in rowPlaces {
            for column in columns { lines.append(Self.value(column) { map[row + columnPlaces[$0]] }) }
        }
        let width = columns.count
        return rows.flatMap { row in
            (0..<width).map { x in Self.value(row) { lines[x + width * $0] } }
        }
    }

    private static func value(_ sample: Sample, _ voxel: (Int) -> Float) -> Float {
        guard let touched = sample.touched else { return sample.mixed(voxel(sample.first), voxel(sample.second)) }
        var largest = -Float.infinity
        for place in touched {
            let value = voxel(place)
            if value > largest { largest = value }
        }
        return largest
    }

    /// The first label along the line of sight at each pixel's centre, row by row, with smooth borders.
    func labels(of labels: LabelVolume, _ first: FirstLabels) -> [UInt16] {
        let box = first.box
        let through = grid.axes[first.axis].offsets
        let (columnOffsets, rowOffsets) = (grid.axes[across].offsets, grid.axes[down].offsets)
        let (origin, lower, upper) = (
            grid.origin, (box.lower[across], box.lower[down]), (box.upper[across], box.upper[down])
        )
        return labels.voxels.withUnsafeBufferPointer { voxels in
            LabelDrawing.smoothed(columns, rows) { x, y in
                guard x >= lower.0, x < upper.0, y >= lower.1, y < upper.1 else { return 0 }
                let depth = first[x - lower.0, y - lower.1]
                guard depth >= 0 else { return 0 }
                return voxels[origin + columnOffsets[x] + rowOffsets[y] + through[depth]]
            }
        }
    }
}
