import NocturneConcurrency
import NocturneCore

/// Operations on the shapes of labels in a map, each confined to the bounding box of a label with the reach of the operation.
struct LabelMorphology {
    let geometry: VolumeGeometry
    let scope: ComputeScope

    var shape: VolumeShape { geometry.shape }

    /// - Returns: one element for every label of the step, ascending.
    /// - Throws: `CancelledError`, the labels may then be partly changed; `AllocationError`.
    func apply(
        _ step: MorphologyStep,
        to labels: inout VoxelBuffer<UInt16>
    ) throws -> [(value: UInt16, change: MorphologyStep.Change)] {
        let slots = Slots(step.values)
        let found = try labels.withParallelReader { try VoxelBox.ofLabels(in: $0, shape, scope) }
        let boxes = slots.values.map { found[$0] }
        var changes = [MorphologyStep.Change](repeating: MorphologyStep.Change(), count: slots.values.count)
        if step.operation == .smooth {
            try smooth(slots, boxes, deviation: step.millimetres, &labels, &changes)
        } else if step.operation == .dilate, boxes.count(where: { $0 != nil }) > 1 {
            try dilate(slots, boxes, radius: step.millimetres, &labels, &changes)
        } else {
            for (slot, box) in boxes.enumerated() {
                guard let box else { continue }
                try apply(step, slots.values[slot], box, slots, &labels, &changes)
            }
        }
        return zip(slots.values, changes).map { ($0, $1) }
    }

    /// The peak memory in bytes in addition to the labels, for any labels.
    static func predictedBytes(of step: MorphologyStep, shape: VolumeShape, threads: Int) -> Int {
        let labels = step.values.count
        guard labels > 0 else { return 0 }
        let tallies = labels * shape.z * 2 * MemoryLayout<MorphologyStep.Change>.stride + (1 << 17)
        if step.operation == .smooth {
            // Shares; of several labels, also the largest of each voxel and its label.
            let voxel = labels > 1 ? 4 + 4 + 2 : 4
            return shape.count * voxel + threads * SharesField.planeBytes(shape) + tallies
        }
        let voxel = step.operation == .dilate && labels > 1 ? 4 + 4 : 4
        return shape.count * voxel + threads * DistanceField.planeBytes(shape) + tallies
    }

    /// One label by itself.
    private func apply(
        _ step: MorphologyStep,
        _ value: UInt16,
        _ labelled: VoxelBox,
        _ slots: Slots,
        _ labels: inout VoxelBuffer<UInt16>,
        _ changes: inout [MorphologyStep.Change]
    ) throws {
        let grows = step.operation == .dilate || step.operation == .close
        let reach = DistanceField.reach(radius: step.millimetres, spacing: geometry.spacing, in: shape)
        // The nearest voxel outside a label is found in the layer around its box.
        let margin = grows ? reach &+ SIMD3(repeating: 1) : SIMD3(repeating: 1)
        let box = labelled.enlarged(by: margin, in: shape)
        var field = try DistanceField(box: box, spacing: geometry.spacing, radius: step.millimetres)
        try field.mark(value, isMarked: grows, in: labels, shape, scope)
        try field.measure(scope)
        if step.operation == .open || step.operation == .close {
            try field.invert(scope)
            try field.measure(scope)
        }
        let (old, new): (UInt16, UInt16) = grows ? (0, value) : (value, 0)
        let changesNear = step.operation == .dilate || step.operation == .erode
        try field.withSquares { squares in
            try replace(in: box, of: &labels, slots, &changes) { label, voxel in
                label == old && squares[voxel].isFinite == changesNear ? new : label
            }
        }
    }

    /// Several labels at once: the nearer one takes a voxel, and of labels at one distance that of the lower value.
    private func dilate(
        _ slots: Slots,
        _ boxes: [VoxelBox?],
        radius: Double,
        _ labels: inout VoxelBuffer<UInt16>,
        _ changes: inout [MorphologyStep.Change]
    ) throws {
        let reach = DistanceField.reach(radius: radius, spacing: geometry.spacing, in: shape)
        let reached = boxes.map { $0?.enlarged(by: reach, in: shape) }
        guard let whole = VoxelBox(around: reached.compactMap { $0 }) else { return }
        var nearest = try VoxelBuffer<Float>(count: whole.shape.count)
        try fill(&nearest, in: whole, from: labels) { $0 == 0 ? .infinity : -1 }
        for (slot, box) in reached.enumerated() {
            guard let box else { continue }
            let value = slots.values[slot]
            var field = try DistanceField(box: box, spacing: geometry.spacing, radius: radius)
            try field.mark(value, isMarked: true, in: labels, shape, scope)
            try field.measure(scope)
            try field.withSquares { squares in
                try nearest.withParallelBuffer { nearest in
                    try replace(in: box, of: &labels, slots, &changes) { label, voxel in
                        let place = box.place(of: voxel, in: whole)
                        let square = squares[voxel]
                        guard square < nearest[place] * Float(1 - DistanceField.tolerance) else {
                            return label
                        }
                        nearest[place] = square
                        return value
                    }
                }
            }
        }
        // What a nearer label took again had been added before.
        for slot in changes.indices {
            changes[slot] = MorphologyStep.Change(voxelsAdded: changes[slot].voxelsAdded - changes[slot].voxelsRemoved)
        }
    }

    /// Values of a box, made of its labels.
    func fill(
        _ values: inout VoxelBuffer<Float>,
        in box: VoxelBox,
        from labels: borrowing VoxelBuffer<UInt16>,
        _ value: @Sendable (UInt16) -> Float
    ) throws {
        let (size, shape) = (box.shape, shape)
        try labels.withParallelReader { labels in
            try values.withParallelBuffer { values in
                try scope.forEach(size.z) { k in
                    for j in 0..<size.y {
                        let source = labels + box.offset(j, k, in: shape)
                        let row = values + (k * size.y + j) * size.x
                        for i in 0..<size.x { row[i] = value(source[i]) }
                    }
                }
            }
        }
    }

    /// Replaces labels in a box and counts what changes for those in `slots`.
    /// - Parameter label: the new label, from the old one and the index of the voxel in the box.
    func replace(
        in box: VoxelBox,
        of labels: inout VoxelBuffer<UInt16>,
        _ slots: Slots,
        _ changes: inout [MorphologyStep.Change],
        _ label: @Sendable (UInt16, Int) -> UInt16
    ) throws {
        let (size, shape) = (box.shape, shape)
        let tallies = try labels.withParallelBuffer { labels in
            try scope.map(size.z) { k in
                var tally = [MorphologyStep.Change](repeating: MorphologyStep.Change(), count: slots.values.count)
                for j in 0..<size.y {
                    let row = labels + box.offset(j, k, in: shape)
                    let begin = (k * size.y + j) * size.x
                    for i in 0..<size.x {
                        let (old, new) = (row[i], label(row[i], begin + i))
                        guard new != old else { continue }
                        row[i] = new
                        if let slot = slots.slot(of: old) { tally[slot].voxelsRemoved += 1 }
                        if let slot = slots.slot(of: new) { tally[slot].voxelsAdded += 1 }
                    }
                }
                return tally
            }
        }
        for tally in tallies {
            for slot in changes.indices { changes[slot] += tally[slot] }
        }
    }
}

extension VoxelBox {
    /// The index in `other`, which contains the box, of a voxel of this box.
    func place(of voxel: Int, in other: VoxelBox) -> Int {
        let (size, whole) = (shape, other.shape)
        let (row, i) = voxel.quotientAndRemainder(dividingBy: size.x)
        let (k, j) = row.quotientAndRemainder(dividingBy: size.y)
        let step = lower &- other.lower
        return ((k + step.z) * whole.y + j + step.y) * whole.x + i + step.x
    }
}
