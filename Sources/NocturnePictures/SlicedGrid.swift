import NocturneCore

/// A stored grid along the patient's axes, with the positions of the three slices to draw.
struct SlicedGrid: Sendable {
    /// An axis of the canonical grid.
    struct Axis: Sendable {
        /// In mm, rounded to a millionth, so that the rotation of an oblique grid leaves no rounding traces in it. At
        /// most 1e9, so that no value computed from the spacing in a damaged header exceeds an integer.
        let spacing: Double
        /// The index of the slice perpendicular to this axis.
        var centre: Int
        /// The storage offset added by each index.
        let offsets: [Int]
        var count: Int { offsets.count }
        /// In mm, from one end of the volume to the other.
        var extent: Double { Double(count) * spacing }
    }

    /// Along R, A and S.
    private(set) var axes: [Axis]
    /// The stored axis of each, and whether it is reversed.
    let orientation: AxisOrientation
    /// The box, in canonical indices, whose middle the slices pass through.
    let box: VoxelBox
    /// The storage offset of the canonical voxel (0, 0, 0).
    let origin: Int

    /// Slices through the middle of `box` (in stored indices), or of the volume.
    init(_ geometry: VolumeGeometry, through box: VoxelBox?) {
        let stored = geometry.shape
        let orientation = AxisOrientation(of: geometry.affine)
        let shape = orientation.shape(from: stored)
        let box = (box ?? VoxelBox(all: stored)).oriented(by: orientation, in: stored)
        func offset(_ axis: Int, _ index: Int) -> Int {
            let parts = (0..<3).map { $0 == axis ? index : 0 }
            let (i, j, k) = orientation.storedIndex(of: (parts[0], parts[1], parts[2]), in: stored)
            return stored.offset(i, j, k)
        }
        let origin = offset(0, 0)
        self.origin = origin
        self.orientation = orientation
        self.box = box
        axes = (0..<3).map { axis in
            let middle = (box.lower[axis] + box.upper[axis]) / 2
            return Axis(
                spacing: min(max(1e-6, (geometry.spacing[orientation.source[axis]] * 1e6).rounded() / 1e6), 1e9),
                centre: min(max(middle, 0), shape[axis] - 1),
                offsets: (0..<shape[axis]).map { offset(axis, $0) - origin }
            )
        }
    }

    /// The same with slices at other places, given as stored indices.
    func moved(to indices: SIMD3<Int>) -> SlicedGrid {
        var moved = self
        for axis in 0..<3 {
            let index = indices[orientation.source[axis]]
            moved.axes[axis].centre = orientation.reversed[axis] ? axes[axis].count - 1 - index : index
        }
        return moved
    }

    /// Moves the slice perpendicular to an axis to a canonical index.
    mutating func setCentre(_ index: Int, of axis: Int) { axes[axis].centre = index }

    /// The stored index of the voxel at which the three slices cross.
    func storedCentre(in shape: VolumeShape) -> SIMD3<Double> {
        let (i, j, k) = orientation.storedIndex(of: (axes[0].centre, axes[1].centre, axes[2].centre), in: shape)
        return SIMD3(Double(i), Double(j), Double(k))
    }

    /// The finite ones of about a hundred thousand voxels, evenly along the axes: the same for any order of storage.
    func sampled(_ volume: Volume) -> [Float] {
        var step = 1
        while axes.reduce(1, { $0 * (($1.count + step - 1) / step) }) > 1 << 17 { step += 1 }
        let places = axes.map { axis in stride(from: 0, to: axis.count, by: step).map { axis.offsets[$0] } }
        return volume.voxels.withUnsafeBufferPointer { voxels in
            places[2].flatMap { z in
                places[1].flatMap { y in
                    places[0].map { voxels[origin + $0 + y + z] }.filter(\.isFinite)
                }
            }
        }
    }

    /// The axis perpendicular to the slices that were acquired: that with the longest voxels, or S if they are (within a tenth) as
    /// long along it.
    var acquiredAxis: Int {
        let longest = axes.map(\.spacing).max() ?? 1
        return axes[2].spacing * 1.1 >= longest ? 2 : axes[1].spacing == longest ? 1 : 0
    }

    /// The axes across and down of images perpendicular to an axis, and the letters at their left, right, top and bottom.
    static func plane(_ axis: Int) -> (across: Int, down: Int, letters: String) {
        [(1, 2, "APSI"), (0, 2, "RLSI"), (0, 1, "RLAP")][axis]
    }

    /// The storage offset of the first voxel of the slice spanned by two axes.
    func base(across: Int, down: Int) -> Int {
        (0..<3).reduce(origin) { $1 == across || $1 == down ? $0 : $0 + axes[$1].offsets[axes[$1].centre] }
    }
}

/// The source voxels of a row or column of pixels: positions along one axis.
struct Sample {
    /// The voxels whose centres are next to that of the pixel, the lower one first.
    let first: Int
    let second: Int
    /// The fraction of the second voxel in the pixel; the rest is the first.
    let weight: Float
    /// The voxel in which the centre of the pixel lies.
    let nearest: Int
    /// All voxels that the pixel overlaps; none where voxels are larger than pixels.
    let touched: Range<Int>?
    /// The nearest voxel between its two neighbours. At an end of the axis, and where voxels are not larger than pixels, the nearest
    /// stands for a neighbour.
    let near: SIMD3<Int>
    /// Of ``near``.
    let nearWeights: SIMD3<Float>

    /// Samples at the centres of `pixels` equal parts of an axis of `count` voxels, from its end to its beginning,
    /// because images start at the right, the front and the head. The positions are indices of voxels.
    static func along(_ count: Int, pixels: Int) -> [Sample] {
        let step = Double(count) / Double(pixels)
        return (0..<pixels).reversed().map { pixel in
            let edge = (Double(pixel) + 0.5) * step
            let centre = min(max(edge - 0.5, 0), Double(count - 1))
            let first = Int(centre)
            let begin = min(Int(Double(pixel) * step), count - 1)
            let end = min(max(Int((Double(pixel + 1) * step - 1e-9).rounded(.up)), begin + 1), count)
            let nearest = min(Int(edge), count - 1)
            let isFine = step < 1
            return Sample(
                first: first,
                second: min(first + 1, count - 1),
                weight: Float(centre - Double(first)),
                nearest: nearest,
                touched: step > 1 ? begin..<end : nil,
                near: isFine
                    ? SIMD3(max(nearest - 1, 0), nearest, min(nearest + 1, count - 1)) : SIMD3(repeating: nearest),
                nearWeights: SIMD3<Float>(LabelDrawing.splineWeights(edge - 0.5 - Double(nearest)))
            )
        }
    }

    /// The same with storage offsets as positions.
    func placed(_ offsets: [Int]) -> Sample {
        Sample(
            first: offsets[first],
            second: offsets[second],
            weight: weight,
            nearest: offsets[nearest],
            touched: nil,
            near: SIMD3(offsets[near.x], offsets[near.y], offsets[near.z]),
            nearWeights: nearWeights
        )
    }

    /// An infinite neighbour of weight 0 must not contribute.
    func mixed(_ first: Float, _ second: Float) -> Float {
        weight > 0 ? first + (second - first) * weight : first
    }
}

/// One slice of a volume with the outlines of its labels.
///
/// Reads only voxels that are drawn, without a copy and through the orientation.
struct SlicePanel {
    /// From the left; positions are storage offsets.
    private let columns: [Sample]
    /// From the top.
    private let rows: [Sample]
    /// The storage offset to which those of columns and rows are added.
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

    /// The labels at the pixels' centres, row by row, with smooth borders; 0 without labels.
    func labels(of labels: LabelVolume?) -> [UInt16] {
        guard let labels else { return [UInt16](repeating: 0, count: columns.count * rows.count) }
        return labels.voxels.withUnsafeBufferPointer { voxels in
            LabelDrawing.smoothed(columns, rows) { voxels[base + $0 + $1] }
        }
    }
}
