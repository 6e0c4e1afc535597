internal import NocturneConcurrency
import NocturneSystem

/// Reading or writing at indices that are computed at run time. An index that is out of range fails the run.
struct IndexedStep: Step {
    let kind: Operation.Indexed
    let sources: [Int]
    let shapes: [[Int]]
    let target: Int
    let shape: [Int]

    var reads: [Int] { sources }
    var writes: [Int] { [target] }
    var work: StepWork {
        let counts = shapes.map { $0.reduce(1, *) }
        let written = shape.reduce(1, *)
        switch kind {
        // One element is read for each that is written.
        case .gatherElements, .gatherSlices: return .traffic(.indexing, elements: counts[1] + 2 * written)
        case .scatterElements, .scatterSlices: return .traffic(.indexing, elements: counts.reduce(written, +))
        }
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let data = ParallelBuffer(run.floats(sources[0]))
        let indices = ParallelBuffer(run.floats(sources[1]))
        let to = ParallelBuffer(run.floats(target))
        switch kind {
        case .gatherElements(let axis):
            let columns = shape.last ?? 1
            try run.forEachPart(of: shape.reduce(1, *) / columns, cost: 4 * columns) { begin, end in
                for row in begin..<end {
                    eachElement(run, axis, row: row, columns, indices.base) { to.base[$0] = data.base[$1] }
                }
            }
        case .gatherSlices(let batch, let extents):
            // A slice has `length` elements. `each` is the number of slices that are read from one element of the batch, whose
            // data begin every `stride` elements.
            let length = shapes[0][(batch + extents.count)...].reduce(1, *)
            let positions = shapes[1].dropLast().reduce(1, *)
            let each = positions / shapes[1].prefix(batch).reduce(1, *)
            let stride = extents.reduce(length, *)
            try run.forEachPart(of: positions, cost: 2 * length) { begin, end in
                for position in begin..<end {
                    let start = sliceStart(run, position, extents, length, indices.base).map {
                        $0 + position / each * stride
                    }
                    if let start { (to.base + position * length).update(from: data.base + start, count: length) }
                }
            }
        case .scatterElements(let axis, let reduction):
            try copy(run)
            // Serial: several updates may name the same element, and their order determines the result.
            let updates = run.floats(sources[2])
            let columns = shapes[1].last ?? 1
            for row in 0..<shapes[1].reduce(1, *) / columns {
                eachElement(run, axis, row: row, columns, indices.base) {
                    reduction.apply(updates[$0], to: &to.base[$1])
                }
            }
        case .scatterSlices(let extents, let reduction):
            try copy(run)
            let updates = run.floats(sources[2])
            let length = shapes[0][extents.count...].reduce(1, *)
            for position in 0..<shapes[1].dropLast().reduce(1, *) {
                guard let start = sliceStart(run, position, extents, length, indices.base) else { continue }
                for offset in 0..<length {
                    reduction.apply(updates[position * length + offset], to: &to.base[start + offset])
                }
            }
        }
    }

    private func copy(_ run: PlanRun) throws(CancelledError) {
        let from = ParallelBuffer(run.floats(sources[0]))
        let to = ParallelBuffer(run.floats(target))
        try run.forEachPart(of: shape.reduce(1, *), cost: 2) { begin, end in
            (to.base + begin).update(from: from.base + begin, count: end - begin)
        }
    }

    /// An index as a place on an axis; nil, with the failure recorded, when it is out of range.
    private func place(_ run: PlanRun, _ value: Float, _ extent: Int) -> Int? {
        // Every number in the range of a 32-bit float index is exact; NaN compares as false.
        guard value >= -Float(extent), value < Float(extent) else {
            run.failure.record("index \(value) is out of range for an axis of \(extent)")
            return nil
        }
        let index = Int(value)
        return index < 0 ? index + extent : index
    }

    private func sliceStart(
        _ run: PlanRun,
        _ position: Int,
        _ extents: [Int],
        _ length: Int,
        _ indices: UnsafePointer<Float>
    ) -> Int? {
        var start = 0
        for (axis, extent) in extents.enumerated() {
            guard let place = place(run, indices[position * extents.count + axis], extent) else { return nil }
            start = start * extent + place
        }
        return start * length
    }

    /// Calls the body with each place among the indices of a row, and the place of the data that the index names.
    private func eachElement(
        _ run: PlanRun,
        _ axis: Int,
        row: Int,
        _ columns: Int,
        _ indices: UnsafePointer<Float>,
        _ body: (Int, Int) -> Void
    ) {
        let (data, own) = (shapes[0], shapes[1])
        let strides = Extents.strides(data)
        var (start, rest) = (0, row)
        for dimension in stride(from: own.count - 2, through: 0, by: -1) {
            if dimension != axis { start += rest % own[dimension] * strides[dimension] }
            rest /= own[dimension]
        }
        let step = axis == own.count - 1 ? 0 : 1
        for column in 0..<columns {
            let element = row * columns + column
            guard let place = place(run, indices[element], data[axis]) else { continue }
            body(element, start + column * step + place * strides[axis])
        }
    }
}

extension Operation.Indexed.Reduction {
    func apply(_ update: Float, to element: inout Float) {
        switch self {
        case .none: element = update
        case .add: element += update
        case .mul: element *= update
        case .min: element = Swift.min(element, update)
        case .max: element = Swift.max(element, update)
        }
    }
}
