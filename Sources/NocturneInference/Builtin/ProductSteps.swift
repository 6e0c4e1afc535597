internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// Matrix products over the last two axes, in fixed blocks of the result.
struct ProductStep: Step {
    let a: Operand
    let b: Operand
    let target: Int
    let (m, n, k): (Int, Int, Int)
    let alpha: Float
    let resultStride: Int
    /// Where each product of the batch starts, in a, b and the result.
    let starts: [(a: Int, b: Int, result: Int)]

    /// - Parameter result: the tensor that the products are written to; its rows are contiguous.
    init(_ a: Operand, _ b: Operand, result: (stored: Lowering.Stored, shape: [Int]), depth: Int, alpha: Float) {
        self.a = a
        self.b = b
        self.alpha = alpha
        let (target, shape) = result
        self.target = target.buffer
        m = shape[shape.count - 2]
        n = shape[shape.count - 1]
        k = depth
        resultStride = max(target.strides[shape.count - 2], n)
        let batch = Array(shape.dropLast(2))
        let results = Extents.places(batch, strides: Array(target.strides.dropLast(2)))
        let (left, right) = (a.starts(batch), b.starts(batch))
        starts = results.indices.map { (left[$0], right[$0], results[$0]) }
    }

    var reads: [Int] { [a.buffer, b.buffer] }
    var writes: [Int] { [target] }
    var work: StepWork {
        var work = StepWork.matrixProducts(
            m: m,
            n: n,
            k: k,
            count: starts.count,
            lefts: a.batch.reduce(1, *),
            rights: b.batch.reduce(1, *)
        )
        // Parts that threads can take.
        work.parts = (starts.count * rows * columns + together - 1) / together
        return work
    }

    private static let (blockM, blockN) = (256, 512)
    /// Blocks of the result.
    private var rows: Int { (m + Self.blockM - 1) / Self.blockM }
    private var columns: Int { (n + Self.blockN - 1) / Self.blockN }
    /// Small products are computed several at a time.
    /// About 2^18 multiply-adds are a part: less work than that is not worth handing to a thread.
    private var together: Int { max(1, (1 << 18) / max(1, min(m, Self.blockM) * min(n, Self.blockN) * k)) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let left = ParallelBuffer(run.floats(a.buffer))
        let right = ParallelBuffer(run.floats(b.buffer))
        let to = ParallelBuffer(run.floats(target))
        let (blockM, blockN) = (Self.blockM, Self.blockN)
        try run.scope.forEachRange(of: starts.count * rows * columns, by: together) { range in
            for index in range {
                // Blocks of one product are neighbours, and products follow each other.
                let (start, block) = (starts[index / (rows * columns)], index % (rows * columns))
                let (row, column) = (block / columns * blockM, block % columns * blockN)
                var product = nk_product(
                    a: nk_matrix(
                        data: left.base + start.a + a.offset(row: row),
                        stride: a.stride,
                        transposed: a.isTransposed ? 1 : 0
                    ),
                    b: nk_matrix(
                        data: right.base + start.b + b.offset(column: column),
                        stride: b.stride,
                        transposed: b.isTransposed ? 1 : 0
                    ),
                    c: to.base + start.result + row * resultStride + column,
                    c_stride: resultStride,
                    m: min(blockM, m - row),
                    n: min(blockN, n - column),
                    k: k,
                    alpha: alpha,
                    adds: 0
                )
                nk_matrix_product(&product)
            }
        }
    }
}

/// softmax(scale * query key + addends) value, in fixed blocks of queries whose scores are in scratch memory.
struct AttentionStep: Step {
    /// What is added to the scores.
    struct Addend {
        let buffer: Int
        let row: Int
        let column: Int
        let starts: [Int]
        /// Elements of the tensor.
        let count: Int

        init(_ stored: Lowering.Stored, _ shape: [Int], broadcastTo full: [Int]) {
            buffer = stored.buffer
            count = shape.reduce(1, *)
            let strides = Extents.broadcastStrides(shape, stored.strides, to: full)
            row = strides[full.count - 2]
            column = strides[full.count - 1]
            starts = Extents.places(Array(full.dropLast(2)), strides: Array(strides.dropLast(2)))
        }
    }

    /// Query, key and value.
    let operands: [ProductStep.Operand]
    let addends: [Addend]
    let target: Int
    let resultStride: Int
    let (queries, keys, depth, columns): (Int, Int, Int, Int)
    let scale: Float
    /// Where each operand and the result start, for each attention of the batch.
    let starts: [[Int]]

    /// - Parameter result: the tensor that is written to; its rows are contiguous.
    init(
        operands: [ProductStep.Operand],
        addends: [Addend],
        result: (stored: Lowering.Stored, shape: [Int]),
        depth: Int,
        keys: Int,
        scale: Float
    ) {
        let (target, shape) = result
        self.operands = operands
        self.addends = addends
        self.target = target.buffer
        self.scale = scale
        self.depth = depth
        self.keys = keys
        queries = shape[shape.count - 2]
        columns = shape[shape.count - 1]
        resultStride = max(target.strides[shape.count - 2], columns)
        let batch = Array(shape.dropLast(2))
        starts = operands.map(\.allStarts) + [Extents.places(batch, strides: Array(target.strides.dropLast(2)))]
    }

    private var blockRows: Int { min(queries, 256) }

    var reads: [Int] { operands.map(\.buffer) + addends.map(\.buffer) }
    var writes: [Int] { [target] }
    var work: StepWork {
        var work = StepWork.attention(
            queries: queries,
            keys: keys,
            depth: depth,
            columns: columns,
            count: starts[3].count,
            added: addends.reduce(0) { $0 + $1.count }
        )
        work.parts = (starts[3].count * blocks + together - 1) / together
        return work
    }

    private var blocks: Int { (queries + blockRows - 1) / blockRows }
    private var together: Int { max(1, (1 << 17) / max(1, blockRows * keys * (depth + columns))) }
    var scratchBytes: Int { (blockRows * (min(keys, NK_ATTENTION_KEYS) + 4) * 4 + 63) / 64 * 64 }

    func run(_ run: PlanRun) throws(CancelledError) {
        let sources = operands.map { ParallelBuffer(run.floats($0.buffer)) }
        let added = addends.map { ParallelBuffer(run.floats($0.buffer)) }
        let to = ParallelBuffer(run.floats(target))
        try run.scope.forEachRange(of: starts[3].count * blocks, by: together) { range in
            // One slot of scratch memory for all items of a part.
            run.scratch.withSlot { scratch in
                for index in range {
                    let (item, row) = (index / blocks, index % blocks * blockRows)
                    var attention = nk_attention()
                    attention.query = matrix(0, sources[0].base + starts[0][item] + operands[0].offset(row: row))
                    attention.key = matrix(1, sources[1].base + starts[1][item])
                    attention.value = matrix(2, sources[2].base + starts[2][item])
                    attention.rows = min(blockRows, queries - row)
                    attention.keys = keys
                    attention.depth = depth
                    attention.columns = columns
                    attention.scale = scale
                    attention.addend_count = Int32(addends.count)
                    // Two addends at most (NK_MAX_ADDENDS); a C array is a tuple in Swift.
                    if addends.count > 0 {
                        let addend = addends[0]
                        attention.addend.0 = UnsafePointer(added[0].base + addend.starts[item] + row * addend.row)
                        (attention.addend_row.0, attention.addend_column.0) = (addend.row, addend.column)
                    }
                    if addends.count > 1 {
                        let addend = addends[1]
                        attention.addend.1 = UnsafePointer(added[1].base + addend.starts[item] + row * addend.row)
                        (attention.addend_row.1, attention.addend_column.1) = (addend.row, addend.column)
                    }
                    let result = to.base + starts[3][item] + row * resultStride
                    nk_attend(&attention, result, resultStride, scratch.assumingMemoryBound(to: Float.self))
                }
            }
        }
    }

    private func matrix(_ operand: Int, _ data: UnsafePointer<Float>) -> nk_matrix {
        nk_matrix(data: data, stride: operands[operand].stride, transposed: operands[operand].isTransposed ? 1 : 0)
    }
}

extension ProductStep {
    /// The matrices of the last two axes of a tensor, with rows or columns that are contiguous.
    struct Operand: Sendable {
        let buffer: Int
        /// From one row to the next; for a transposed matrix, from one column to the next.
        let stride: Int
        var isTransposed: Bool
        let batch: [Int]
        let batchStrides: [Int]

        /// nil where neither rows nor columns are contiguous.
        init?(_ stored: Lowering.Stored, _ shape: [Int]) {
            let rank = shape.count
            guard rank >= 2 else { return nil }
            let (rows, columns) = (shape[rank - 2], shape[rank - 1])
            let (row, column) = (stored.strides[rank - 2], stored.strides[rank - 1])
            buffer = stored.buffer
            batch = Array(shape.dropLast(2))
            batchStrides = Array(stored.strides.dropLast(2))
            if columns == 1 || column == 1 {
                (stride, isTransposed) = (rows == 1 ? columns : max(row, columns), false)
            } else if rows == 1 || row == 1 {
                (stride, isTransposed) = (max(column, rows), true)
            } else {
                return nil
            }
            guard stride <= Int(Int32.max) else { return nil }
        }

        /// Where each matrix of a batch starts.
        func starts(_ full: [Int]) -> [Int] {
            Extents.places(full, strides: Extents.broadcastStrides(batch, batchStrides, to: full))
        }

        /// Where the matrices of the operand's own batch start.
        var allStarts: [Int] { Extents.places(batch, strides: batchStrides) }

        /// Where a row or column of the matrix as the product sees it starts.
        func offset(row: Int) -> Int { isTransposed ? row : row * stride }
        func offset(column: Int) -> Int { isTransposed ? column * stride : column }
    }
}
