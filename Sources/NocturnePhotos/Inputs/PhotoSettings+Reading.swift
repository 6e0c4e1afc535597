import NocturneInference
import NocturneNumerics
import NocturneSystem

/// What sections about photos share.
extension JSONFields {
    /// An area or a length in pixels, or its default.
    func pixels(_ key: String, _ standard: Int) throws(Fault) -> Int { try whole(key, standard, in: 1...1 << 20) }

    /// A number from 0 to a limit, or its default.
    func share(_ key: String, _ standard: Float, upTo limit: Double = 1) throws(Fault) -> Float {
        has(key) ? Float(try number(key, in: 0...limit)) : standard
    }

    /// The means and standard deviations of red, green and blue.
    func colors(order: NetworkColors.Order = .rgb) throws(Fault) -> NetworkColors {
        let deviation = try threeColors("standardDeviation")
        // Samples are divided by it.
        guard deviation.allSatisfy({ $0 >= 1e-6 }) else {
            throw fault("standardDeviation", is: deviation, not: "three numbers of at least 1e-6")
        }
        return NetworkColors(mean: try threeColors("mean"), deviation: deviation, order: order)
    }

    private func threeColors(_ key: String) throws(Fault) -> [Double] {
        // Within single precision, in which the network computes.
        try numbers(value(key), key, count: 3, in: -1e38...1e38)
    }
}
