import NocturneConcurrency
import NocturneCore

extension LabelMorphology {
    /// Places of some labels in a list, found by their values in constant time.
    struct Slots: Sendable {
        let values: [UInt16]
        /// For each value, one more than its place; 0 for others.
        private let table: [UInt16]

        /// - Parameter values: ascending, without repetition and background.
        init(_ values: [UInt16]) {
            self.values = values
            var table = [UInt16](repeating: 0, count: Int(values.last ?? 0) + 1)
            for (slot, value) in values.enumerated() { table[Int(value)] = UInt16(slot + 1) }
            self.table = table
        }

        func slot(of value: UInt16) -> Int? {
            let value = Int(value)
            guard value < table.count, table[value] > 0 else { return nil }
            return Int(table[value]) - 1
        }

        func contains(_ value: UInt16) -> Bool { slot(of: value) != nil }

        /// The bounding box of each label; nil for one that is not there. One pass over the voxels.
        func boxes(
            in labels: borrowing VoxelBuffer<UInt16>,
            _ shape: VolumeShape,
            _ scope: ComputeScope
        ) throws -> [VoxelBox?] {
            let slices = try labels.withParallelReader { labels in
                try scope.map(shape.z) { k in sliceBoxes(k, labels + k * shape.sliceCount, shape) }
            }
            var boxes = [VoxelBox?](repeating: nil, count: values.count)
            for slice in slices {
                for (slot, box) in slice { boxes[slot] = boxes[slot]?.union(box) ?? box }
            }
            return boxes
        }

        /// Only those of labels in the slice.
        private func sliceBoxes(_ k: Int, _ slice: UnsafePointer<UInt16>, _ shape: VolumeShape) -> [Int: VoxelBox] {
            var boxes: [Int: VoxelBox] = [:]
            for j in 0..<shape.y {
                let row = slice + j * shape.x
                var i = 0
                while i < shape.x {
                    let (value, begin) = (row[i], i)
                    repeat { i += 1 } while i < shape.x && row[i] == value
                    guard value != 0, let slot = slot(of: value) else { continue }
                    let run = VoxelBox(lower: SIMD3(begin, j, k), upper: SIMD3(i, j + 1, k + 1))
                    boxes[slot] = boxes[slot]?.union(run) ?? run
                }
            }
            return boxes
        }
    }
}
