internal import Glibc

/// The functions of one and two operands. Integer arithmetic wraps, because the numbers come from a file.
extension ConstantEvaluator {
    func compare<Number: Comparable>(_ x: Number, _ y: Number) -> Bool {
        switch node.op {
        case "Equal": x == y
        case "Greater": x > y
        case "Less": x < y
        case "GreaterOrEqual": x >= y
        default: x <= y
        }
    }

    func integer(_ x: Int64, _ y: Int64) -> Int64 {
        switch node.op {
        case "Add": return x &+ y
        case "Sub": return x &- y
        case "Mul": return x &* y
        case "Div": return x.dividedReportingOverflow(by: y).partialValue
        case "Mod":
            let rest = x.remainderReportingOverflow(dividingBy: y).partialValue
            // ONNX: with fmod = 0 the result has the sign of the divisor, with fmod = 1 that of the dividend.
            return node.integer("fmod", 0) == 0 && rest != 0 && (rest < 0) != (y < 0) ? rest &+ y : rest
        case "Pow": return power(x, y)
        case "Min": return min(x, y)
        case "Max": return max(x, y)
        case "And": return x != 0 && y != 0 ? 1 : 0
        case "Or": return x != 0 || y != 0 ? 1 : 0
        case "Xor": return (x != 0) != (y != 0) ? 1 : 0
        default: return compare(x, y) ? 1 : 0
        }
    }

    /// Wraps around as multiplication does; of a negative exponent the fraction is cut off.
    private func power(_ x: Int64, _ y: Int64) -> Int64 {
        guard y >= 0 else { return x == 1 || x == -1 && y % 2 == 0 ? 1 : x == -1 ? -1 : 0 }
        var (result, square, rest): (Int64, Int64, Int64) = (1, x, y)
        while rest > 0 {
            if rest & 1 == 1 { result &*= square }
            square &*= square
            rest >>= 1
        }
        return result
    }

    func float(_ x: Float, _ y: Float) -> Float {
        switch node.op {
        case "Add": x + y
        case "Sub": x - y
        case "Mul": x * y
        case "Div": x / y
        case "Mod": fmodf(x, y)
        case "Pow": powf(x, y)
        case "Min": min(x, y)
        default: max(x, y)
        }
    }

    /// A function of one operand. Integers have only those functions whose result is an integer again.
    func function() throws(ModelFormatError) -> ConstantTensor {
        let tensor = try input(0)
        if case .integers(let values) = tensor.elements, ["Neg", "Abs", "Not", "Sign"].contains(node.op) {
            let list = values.map { value in
                switch node.op {
                case "Neg": 0 &- value
                case "Abs": value < 0 ? 0 &- value : value
                case "Sign": value.signum()
                default: Int64(value == 0 ? 1 : 0)
                }
            }
            return ConstantTensor(shape: tensor.shape, integers: list)
        }
        let list = tensor.floats.map { value -> Float in
            switch node.op {
            case "Neg": -value
            case "Abs": abs(value)
            case "Floor": value.rounded(.down)
            case "Ceil": value.rounded(.up)
            // ONNX's Round takes halves to the even neighbour.
            case "Round": value.rounded(.toNearestOrEven)
            case "Sqrt": value.squareRoot()
            case "Exp": expf(value)
            case "Log": logf(value)
            case "Sin": sinf(value)
            case "Cos": cosf(value)
            case "Sign": value > 0 ? 1 : value < 0 ? -1 : value
            default: 1 / value
            }
        }
        return ConstantTensor(shape: tensor.shape, floats: list)
    }

    /// The product of all elements, which exporters use to count voxels.
    func product() throws(ModelFormatError) -> [ConstantTensor]? {
        guard let tensor = inputs.first ?? nil, let values = tensor.integers, tensor.shape.count <= 1 else {
            return nil
        }
        let product = values.reduce(Int64(1)) { $0 &* Int64($1) }
        return [ConstantTensor(shape: node.integer("keepdims", 1) != 0 ? [1] : [], integers: [product])]
    }

    /// Bounds are inputs since operator set 11, attributes before.
    func clipped() throws(ModelFormatError) -> [ConstantTensor]? {
        let tensor = try input(0)
        let bounds = (1...2).map { $0 < inputs.count ? inputs[$0] : nil }
        if case .integers(let values) = tensor.elements {
            let low = bounds[0]?.integers?.first.map(Int64.init) ?? .min
            let high = bounds[1]?.integers?.first.map(Int64.init) ?? .max
            return [ConstantTensor(shape: tensor.shape, integers: values.map { min(max($0, low), high) })]
        }
        let low = bounds[0]?.floats.first ?? node.float("min", -.greatestFiniteMagnitude)
        let high = bounds[1]?.floats.first ?? node.float("max", .greatestFiniteMagnitude)
        return [ConstantTensor(shape: tensor.shape, floats: tensor.floats.map { min(max($0, low), high) })]
    }

    /// Batch normalisation with the statistics of the tensor itself, by which exporters write the standardisation of
    /// weights.
    func standardised() throws(ModelFormatError) -> ConstantTensor {
        let tensor = try input(0)
        let (scale, shift) = (try input(1).floats, try input(2).floats)
        guard tensor.shape.count >= 2, tensor.count > 0, tensor.count <= maximumCount, scale.count == tensor.shape[1],
            shift.count == scale.count
        else { throw failure("\(scale.count) scales for an input of shape \(tensor.shape)") }
        let (channels, inner) = (tensor.shape[1], tensor.shape[2...].reduce(1, *))
        let each = tensor.shape[0] * inner
        var values = tensor.floats
        for channel in 0..<channels {
            // Channel c is at [n][c][inner]: one part of `inner` elements for every n.
            let places = (0..<each).map { ($0 / inner * channels + channel) * inner + $0 % inner }
            let mean = places.reduce(0.0) { $0 + Double(values[$1]) } / Double(each)
            // In two passes: a mean of squares would lose digits where the mean is large.
            let variance = places.reduce(0.0) { $0 + (Double(values[$1]) - mean) * (Double(values[$1]) - mean) }
            let factor = 1 / (variance / Double(each) + Double(node.float("epsilon", 1e-5))).squareRoot()
            for place in places {
                let normalised = (Double(values[place]) - mean) * factor
                values[place] = Float(normalised * Double(scale[channel]) + Double(shift[channel]))
            }
        }
        return ConstantTensor(shape: tensor.shape, floats: values)
    }
}
