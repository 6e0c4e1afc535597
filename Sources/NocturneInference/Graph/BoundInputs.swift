extension [TensorDescription] {
    /// The largest number of axes that every engine takes.
    private static var maximumRank: Int { 16 }

    /// All inputs with their shapes, in the file's order.
    /// - Parameters:
    ///   - given: extents by name; an input that is not listed takes those of the file, with the batch extent 1 where that is
    ///     open.
    ///   - network: the path, for errors.
    /// - Throws: ``ModelFormatError/shapeMismatch(network:reason:)``
    func bound(to given: [String: [Int]], network: String) throws(ModelFormatError) -> [TensorPort] {
        for name in given.keys.sorted() where !contains(where: { $0.name == name }) {
            throw .shapeMismatch(network: network, reason: "there is no input '\(name)'")
        }
        var ports: [TensorPort] = []
        for input in self {
            // An open first axis is the batch.
            let shape = given[input.name] ?? input.shape.enumerated().map { $1 ?? ($0 == 0 ? 1 : 0) }
            let fits = input.shape.isEmpty || input.shape.elementsEqual(shape) { $0 == nil || $0 == $1 }
            guard fits, shape.allSatisfy({ $0 > 0 }) else {
                let expected = input.shape.map { $0.map(String.init) ?? "?" }.joined(separator: "×")
                let found = shape.map(String.init).joined(separator: "×")
                let end = given[input.name] == nil ? ", and no shape was given" : ", not \(found)"
                throw .shapeMismatch(network: network, reason: "the input '\(input.name)' is \(expected)\(end)")
            }
            let count = shape.count <= Self.maximumRank ? Extents.count(shape) : nil
            guard let count, count <= Extents.maximumCount else {
                let reason = "the input '\(input.name)': a tensor of shape \(shape) is too large"
                throw .shapeMismatch(network: network, reason: reason)
            }
            ports.append((input.name, shape))
        }
        return ports
    }
}
