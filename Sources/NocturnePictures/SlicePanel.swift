import NocturneCore

/// One slice of a volume with the outlines of its labels.
///
/// Reads only voxels that are drawn, without a copy and through the orientation.
struct SlicePanel {
    private let columns: [Sample]
    private let rows: [Sample]
    private let base: Int

    /// The slice spanned by two of the grid's axes, through the centre of the third axis or at its `index`.
    init(_ grid: SlicedGrid, across: Int, down: Int, width: Int, height: Int, index: Int? = nil) {
        columns = Sample.along(grid.axes[across].count, pixels: width).map { $0.placed(grid.axes[across].offsets) }
        rows = Sample.along(grid.axes[down].count, pixels: height).map { $0.placed(grid.axes[down].offsets) }
        let through = grid.axes[3 - across - down]
        base =
            grid.base(across: across, down: down)
            + (index.map { through.offsets[$0] - through.offsets[through.centre] } ?? 0)
    }

    /// Grey values, row by row.
    func greys(of volume: Volume, _ scale: GreyScale) -> [UInt8] {
        volume.voxels.withUnsafeBufferPointer { voxels in
            [UInt8](unsafeUninitializedCapacity: columns.count * rows.count) { greys, count in
                for row in rows {
                    let first = base + row.first
                    let second = base + row.second
                    for column in columns {
                        let above = column.mixed(voxels[first + column.first], voxels[first + column.second])
                        let below = column.mixed(voxels[second + column.first], voxels[second + column.second])
                        greys.initializeElement(at: count, to: scale.grey(row.mixed(above, below)))
                        count += 1
                    }
                }
            }
        }
    }

    /// The labels at the pixels' centres, row by row.
    func labels(of labels: LabelVolume) -> [UInt16] {
        labels.voxels.withUnsafeBufferPointer { voxels in
            rows.flatMap { row in columns.map { voxels[base + row.nearest + $0.nearest] } }
        }
    }
}
