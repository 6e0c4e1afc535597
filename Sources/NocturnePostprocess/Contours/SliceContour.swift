public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension SliceContour {
    /// The outlines of labels, along the edges of their pixels.
    ///
    /// Each 4-connected part of a slice is one polygon with corners halfway between voxel centres, so that it has
    /// exactly the area of its pixels, and every fill rule reproduces exactly these pixels. Parts that touch only at a
    /// corner stay separate. A hole is connected to the outline around it by a channel of zero width that is traversed in
    /// both directions: this is what DICOM specifies for CLOSED_PLANAR, and it is correct for the even-odd and the
    /// winding rule.
    /// - Parameter values: the requested labels, without repetition; 0 is never traced.
    /// - Returns: for each of `values`, its polygons by slice, then by their first pixel.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is checked for every slice.
    /// - Complexity: one pass over the voxels, and one over each label's box in each slice. 16 bytes per corner.
    public static func contours(
        of values: [UInt16],
        in labels: LabelVolume,
        scope: ComputeScope
    ) throws(CancelledError) -> [[SliceContour]] {
        let shape = labels.geometry.shape
        var table = [Int32](repeating: -1, count: 65536)
        for (index, value) in values.enumerated() where value != 0 { table[Int(value)] = Int32(index) }
        let places = table
        let slices = try labels.voxels.withParallelReader { reader throws(CancelledError) in
            try scope.map(shape.z) { k in
                let slice = reader.base + k * shape.sliceCount
                return trace(slice, width: shape.x, height: shape.y, places: places, values: values)
            }
        }
        var contours = [[SliceContour]](repeating: [], count: values.count)
        for k in slices.indices {
            for (label, points) in slices[k] { contours[label].append(SliceContour(slice: k, points: points)) }
        }
        return contours
    }

    /// All labels of one slice.
    private static func trace(
        _ slice: UnsafePointer<UInt16>,
        width: Int,
        height: Int,
        places: [Int32],
        values: [UInt16]
    ) -> [(label: Int, points: [SIMD2<Double>])] {
        var boxes: [Int: (left: Int, top: Int, right: Int, bottom: Int)] = [:]
        for j in 0..<height {
            var i = 0
            while i < width {
                let value = slice[j * width + i]
                let start = i
                repeat { i += 1 } while i < width && slice[j * width + i] == value
                let place = Int(places[Int(value)])
                guard place >= 0 else { continue }
                let box = boxes[place] ?? (start, j, i, j + 1)
                boxes[place] = (min(box.left, start), box.top, max(box.right, i), j + 1)
            }
        }
        var found: [(label: Int, points: [SIMD2<Double>])] = []
        for label in boxes.keys.sorted() {
            guard let box = boxes[label] else { continue }
            let value = values[label]
            var bitmap = BoundaryWalk.Bitmap(width: box.right - box.left, height: box.bottom - box.top)
            for j in box.top..<box.bottom {
                for i in box.left..<box.right where slice[j * width + i] == value {
                    bitmap.set(i - box.left, j - box.top)
                }
            }
            let corner = SIMD2(Double(box.left) - 0.5, Double(box.top) - 0.5)
            for polygon in BoundaryWalk.polygons(of: bitmap) {
                found.append((label, polygon.map { SIMD2(Double($0.x), Double($0.y)) + corner }))
            }
        }
        return found
    }
}
