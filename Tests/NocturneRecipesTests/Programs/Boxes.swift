import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneTestSupport

/// A volume with values in boxes, which later boxes replace.
struct Boxes {
    var shape = VolumeShape(x: 40, y: 36, z: 44)
    var boxes: [(VoxelBox, Float)]
    var affine = Affine.identity

    static func cube(_ lower: Int, _ upper: Int) -> VoxelBox {
        VoxelBox(lower: SIMD3(repeating: lower), upper: SIMD3(repeating: upper))
    }

    /// A large box of ones with a small one of nines inside, and another of ones far away.
    static let standard = Boxes(boxes: [(cube(4, 14), 1), (cube(7, 10), 9), (cube(25, 33), 1)])

    /// Planes of different values along x, so that no tile has a single value.
    static let ramp = Boxes(
        shape: VolumeShape(x: 32, y: 28, z: 44),
        boxes: (0..<32).map { (VoxelBox(lower: SIMD3($0, 0, 0), upper: SIMD3($0 + 1, 28, 44)), Float($0 % 7)) }
    )

    /// One voxel amid ones is 0.75: whole numbers in regions would be set aside as a label map.
    var values: [Float] {
        var values = [Float](repeating: 0, count: shape.count)
        for (box, value) in boxes {
            for k in box.lower.z..<min(box.upper.z, shape.z) {
                for j in box.lower.y..<min(box.upper.y, shape.y) {
                    for i in box.lower.x..<min(box.upper.x, shape.x) { values[shape.offset(i, j, k)] = value }
                }
            }
        }
        let steps = [1, shape.x, shape.sliceCount]
        let inner = values.indices.first { place in
            values[place] == 1
                && steps.allSatisfy { step in
                    values.indices.contains(place - step) && values.indices.contains(place + step)
                        && values[place - step] == 1 && values[place + step] == 1
                }
        }
        if let inner { values[inner] = 0.75 }
        return values
    }

    func write(to bench: BatchBench, as name: String = "one.nii.gz") throws {
        let geometry = VolumeGeometry(shape: shape, affine: affine)
        let volume = Volume(geometry: geometry, voxels: try FrozenVoxels(values))
        try NIfTIWriter.writeVolume(
            volume,
            as: .float32,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: bench.folder("in/\(name)").path,
            scope: .serial()
        )
    }
}
