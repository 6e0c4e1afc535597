internal import CNocturneKernels

/// Einsum of one or two operands: sums, transpositions and matrix products with batch axes.
extension GraphBinder {
    static let einsumHandlers: [String: Handler] = [
        "Einsum": { binder, node throws(ModelFormatError) in try binder.einsum(node) }
    ]

    /// An operand or result: one letter for each axis.
    private struct Term {
        var value: Int
        var letters: [Character]
    }

    /// Not supported: an ellipsis, and a letter that occurs twice in one operand (a diagonal).
    private mutating func einsum(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let equation = node.string("equation", "").filter { $0 != " " }
        let error = unsupported(node, "equation \(equation.prefix(60))")
        let sides = equation.split(separator: "->", omittingEmptySubsequences: false)
        let names = sides[0].split(separator: ",", omittingEmptySubsequences: false).map(Array.init)
        guard sides.count <= 2, names.count == node.inputs.count, (1...2).contains(names.count) else { throw error }
        var extents: [Character: Int] = [:]
        var terms: [Term] = []
        for (index, letters) in names.enumerated() {
            guard Set(letters).count == letters.count, letters.allSatisfy({ $0.isASCII && $0.isLetter }) else {
                throw error
            }
            let x = try operand(node, index)
            let shape = bound.shapes[x]
            guard shape.count == letters.count else {
                throw failure(node, "operand \(index) has shape \(shape) in equation \(equation.prefix(60))")
            }
            // `updateValue` returns what another axis of that letter had.
            for (letter, extent) in zip(letters, shape)
            where extents.updateValue(extent, forKey: letter) ?? extent != extent {
                throw failure(node, "axis \(letter) has two extents in equation \(equation.prefix(60))")
            }
            terms.append(Term(value: x, letters: letters))
        }
        let result = sides.count == 2 ? Array(sides[1]) : Self.implicitResult(names)
        guard Set(result).count == result.count, result.allSatisfy({ extents[$0] != nil }) else { throw error }
        // What neither the result nor the other operand has is summed first, which makes the product smaller.
        var product = try sum(terms[0], keeping: result + (terms.count > 1 ? terms[1].letters : []), node)
        if terms.count > 1 {
            let second = try sum(terms[1], keeping: result + terms[0].letters, node)
            product = try multiply(product, second, result, extents, node)
        }
        let order = result.map { letter in product.letters.firstIndex(of: letter) ?? 0 }
        let value = try transposed(product.value, order, node)
        try setOutput(of: node, to: .runtime(value))
    }

    /// Without an arrow: the letters that occur once, in alphabetical order.
    private static func implicitResult(_ names: [[Character]]) -> [Character] {
        let all = names.flatMap { $0 }
        return all.filter { letter in all.count { $0 == letter } == 1 }.sorted()
    }

    /// Sums over the axes whose letters nothing else has.
    private mutating func sum(
        _ term: Term,
        keeping kept: [Character],
        _ node: NetworkGraph.Node
    ) throws(ModelFormatError) -> Term {
        let shape = bound.shapes[term.value]
        let axes = shape.indices.filter { !kept.contains(term.letters[$0]) }
        if axes.isEmpty { return term }
        let ones = shape.indices.map { axes.contains($0) ? 1 : shape[$0] }
        let kind = Operation.Kind.alongAxes(axes, .reduce(Int32(NK_REDUCE_SUM)))
        let reduced = try append(kind, [term.value], shape: ones, node: node)
        let rest = shape.indices.filter { !axes.contains($0) }
        let dropped = try reshaped(reduced, rest.map { shape[$0] }, node)
        return Term(value: dropped, letters: rest.map { term.letters[$0] })
    }

    /// The product over the letters that both operands have and the result has not.
    private mutating func multiply(
        _ a: Term,
        _ b: Term,
        _ result: [Character],
        _ extents: [Character: Int],
        _ node: NetworkGraph.Node
    ) throws(ModelFormatError) -> Term {
        // Every letter is of one of four kinds, which are the axes of a matrix product with a batch.
        let batch = result.filter { a.letters.contains($0) && b.letters.contains($0) }
        let summed = a.letters.filter { b.letters.contains($0) && !result.contains($0) }
        let rows = result.filter { a.letters.contains($0) && !b.letters.contains($0) }
        let columns = result.filter { b.letters.contains($0) && !a.letters.contains($0) }
        func shape(_ letters: [Character]) -> [Int] { letters.map { extents[$0] ?? 1 } }
        func count(_ letters: [Character]) -> Int { shape(letters).reduce(1, *) }
        func order(_ term: Term, _ letters: [Character]) -> [Int] {
            letters.map { letter in term.letters.firstIndex(of: letter) ?? 0 }
        }
        let left = try transposed(a.value, order(a, batch + rows + summed), node)
        let right = try transposed(b.value, order(b, batch + summed + columns), node)
        let (m, k, n) = (count(rows), count(summed), count(columns))
        let product = try append(
            .matrixProduct(Operation.MatrixProduct()),
            [try reshaped(left, shape(batch) + [m, k], node), try reshaped(right, shape(batch) + [k, n], node)],
            shape: shape(batch) + [m, n],
            node: node
        )
        let letters = batch + rows + columns
        return Term(value: try reshaped(product, shape(letters), node), letters: letters)
    }
}
