import NocturneCore
import NocturneNumerics

/// All 48 ways to permute and reverse three axes.
let allOrientations: [AxisOrientation] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].flatMap {
    permutation in
    (0..<8).map { bits in
        AxisOrientation(source: permutation, reversed: (0..<3).map { bits >> $0 & 1 == 1 })
    }
}

/// The rearranged voxels, one by one through Core's own index map.
func slowlyRearranged<Element>(_ voxels: [Element], _ stored: VolumeShape, _ orientation: AxisOrientation) -> [Element]
{
    let shape = orientation.shape(from: stored)
    return (0..<shape.count).map { index in
        let place = (index % shape.x, index / shape.x % shape.y, index / shape.sliceCount)
        let from = orientation.storedIndex(of: place, in: stored)
        return voxels[stored.offset(from.0, from.1, from.2)]
    }
}
