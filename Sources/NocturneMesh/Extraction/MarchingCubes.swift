internal import NocturneConcurrency
internal import NocturneCore

/// A surface in index space: the boundary between the voxels of a label and all others, before any smoothing.
struct IndexSurface: Sendable {
    /// Voxel indices relative to `origin`: middles of the lines between an inside and an outside voxel.
    var points: [SIMD3<Double>] = []
    var triangles: [SIMD3<UInt32>] = []
    /// Twice the volume, in voxels, that each point accounts for: see ``ShellVolumes``.
    var doubledVolumes: [Int32] = []
    /// The voxel from which the points count.
    var origin = SIMD3<Int>(0, 0, 0)
}

/// Walks through the cells around one label, slice by slice, and looks each up in the ``CubeTable``.
///
/// Memory besides the surface: 22 bytes for each (i, j) of the box, since only the cut edges of two slices are kept.
struct MarchingCubes {
    private let voxels: SharedReader<UInt16>
    private let value: UInt16
    private let shape: VolumeShape
    private let box: LabelBox
    /// Nodes along i and j: the box and a layer of outside around it, which closes the surface at the volume's border.
    private let width: Int
    private let height: Int

    private var surface = IndexSurface()
    private var lowerMask: [UInt8]
    private var upperMask: [UInt8]
    /// The point on each node's edge along i, along j (in the lower and the upper slice) and along k.
    private var alongI: (lower: [UInt32], upper: [UInt32])
    private var alongJ: (lower: [UInt32], upper: [UInt32])
    private var alongK: [UInt32]

    private static let none = UInt32.max

    /// - Throws: ``CancelledError`` when the flag is raised; it is looked at every slice.
    static func surface(
        of value: UInt16,
        in voxels: SharedReader<UInt16>,
        shape: VolumeShape,
        box: LabelBox,
        scope: ComputeScope
    ) throws(CancelledError) -> IndexSurface {
        var walker = MarchingCubes(voxels, value, shape, box)
        walker.loadUpperMask(slice: 0)
        for slice in 0...box.size.z {
            try scope.check()
            walker.moveUp(to: slice)
            walker.walkCells(slice: slice)
        }
        return walker.surface
    }

    private init(_ voxels: SharedReader<UInt16>, _ value: UInt16, _ shape: VolumeShape, _ box: LabelBox) {
        self.voxels = voxels
        self.value = value
        self.shape = shape
        self.box = box
        width = box.size.x + 2
        height = box.size.y + 2
        lowerMask = [UInt8](repeating: 0, count: width * height)
        upperMask = lowerMask
        let empty = [UInt32](repeating: Self.none, count: width * height)
        alongI = (empty, empty)
        alongJ = (empty, empty)
        alongK = empty
        surface.origin = box.lower &- SIMD3(1, 1, 1)
    }

    /// Makes the upper slice the lower one and loads the next. Slice 0 is the layer below the box.
    private mutating func moveUp(to slice: Int) {
        swap(&lowerMask, &upperMask)
        loadUpperMask(slice: slice + 1)
        swap(&alongI.lower, &alongI.upper)
        swap(&alongJ.lower, &alongJ.upper)
        for node in 0..<width * height {
            alongI.upper[node] = Self.none
            alongJ.upper[node] = Self.none
            alongK[node] = Self.none
        }
    }

    private mutating func loadUpperMask(slice: Int) {
        guard slice >= 1, slice <= box.size.z else {
            upperMask.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
            return
        }
        let k = box.lower.z + slice - 1
        for row in 1..<height - 1 {
            let line = voxels.base + shape.offset(box.lower.x, box.lower.y + row - 1, k)
            for column in 1..<width - 1 {
                upperMask[row * width + column] = line[column - 1] == value ? 1 : 0
            }
        }
    }

    private mutating func walkCells(slice: Int) {
        let table = CubeTable.shared
        for row in 0..<height - 1 {
            var left = columnBits(row * width)
            for column in 0..<width - 1 {
                let node = row * width + column
                let right = columnBits(node + 1)
                let inside = left | right << 1
                left = right
                if inside == 0 || inside == 255 { continue }
                for corner in stride(from: Int(table.starts[inside]), to: Int(table.starts[inside + 1]), by: 3) {
                    surface.triangles.append(
                        SIMD3(
                            point(table.edges[Int(table.corners[corner])], column, row, slice),
                            point(table.edges[Int(table.corners[corner + 1])], column, row, slice),
                            point(table.edges[Int(table.corners[corner + 2])], column, row, slice)
                        )
                    )
                }
            }
        }
    }

    /// The four masks of one column of a cell, at the bits of the corners with i = 0.
    private func columnBits(_ node: Int) -> Int {
        Int(lowerMask[node]) | Int(lowerMask[node + width]) << 2
            | Int(upperMask[node]) << 4 | Int(upperMask[node + width]) << 6
    }

    /// The number of the point on an edge of cell (column, row, slice); makes it when it is met for the first time.
    private mutating func point(_ edge: CubeTable.Edge, _ column: Int, _ row: Int, _ slice: Int) -> UInt32 {
        let i = column + edge.corner & 1
        let j = row + edge.corner >> 1 & 1
        let isUpper = edge.corner >> 2 & 1 == 1
        let node = j * width + i
        let known =
            switch (edge.axis, isUpper) {
            case (0, false): alongI.lower[node]
            case (0, true): alongI.upper[node]
            case (1, false): alongJ.lower[node]
            case (1, true): alongJ.upper[node]
            default: alongK[node]
            }
        if known != Self.none { return known }

        precondition(surface.points.count < Int(Self.none), "a surface has fewer than 2³² points")
        let number = UInt32(surface.points.count)
        var place = SIMD3(Double(i), Double(j), Double(slice + (isUpper ? 1 : 0)))
        place[edge.axis] += 0.5
        surface.points.append(place)
        var doubledVolume: Int32 = 0
        if edge.axis == 0 {
            let startsInside = isUpper ? upperMask[node] == 1 : lowerMask[node] == 1
            doubledVolume = startsInside ? Int32(2 * i + 1) : -Int32(2 * i + 1)
        }
        surface.doubledVolumes.append(doubledVolume)
        switch (edge.axis, isUpper) {
        case (0, false): alongI.lower[node] = number
        case (0, true): alongI.upper[node] = number
        case (1, false): alongJ.lower[node] = number
        case (1, true): alongJ.upper[node] = number
        default: alongK[node] = number
        }
        return number
    }
}
