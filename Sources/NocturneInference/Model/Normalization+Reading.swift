package import NocturneCore
package import NocturneSystem

/// The normalisations of channels in `model.json`.
extension JSONFields {
    /// The normalisations of one channel, in a row: an object, or a list of objects.
    package func normalizations(_ value: JSONValue, _ key: String) throws(Fault) -> [Normalization] {
        let steps = try objectOrObjects(value, key, atMost: Self.maximumListCount)
        if steps.isEmpty { throw fault(key, "is an empty list") }
        var normalizations: [Normalization] = []
        for step in steps {
            // The mask belongs to the volume as it is read.
            if steps.count > 1, try step.boolean("useMask", false) {
                throw step.fault("useMask", "is true, which only a single normalisation may have")
            }
            normalizations.append(try step.normalization())
        }
        return normalizations
    }

    private func normalization() throws(Fault) -> Normalization {
        try only([
            "scheme", "lowerBound", "upperBound", "mean", "standardDeviation", "useMask", "nonzero", "lower", "upper",
            "countPadding", "clip",
        ])
        let scheme = try string("scheme")
        // What would be ignored is refused.
        let flags = [
            ("useMask", "zScore"), ("nonzero", "zScore"), ("countPadding", "quantiles"), ("clip", "quantiles"),
        ]
        for (key, owner) in flags where owner != scheme {
            if try boolean(key, false) { throw fault(key, "is true, which only \(owner) may have") }
        }
        let usesMask = try boolean("useMask", false)
        switch scheme {
        case "zScore":
            guard try boolean("nonzero", false) else { return .zScore(usesMask: usesMask) }
            if usesMask { throw fault("nonzero", "is true, and so is useMask") }
            return .zScoreOfNonzero
        case "rgb01": return .rgb01
        case "rescale01": return .rescale01
        case "none": return .none
        case "quantiles":
            let (lower, upper) = (try number("lower", in: 0...1), try number("upper", in: 0...1))
            guard lower < upper else { throw fault("upper", is: upper, not: "above lower, \(lower)") }
            return .quantiles(
                lower: lower,
                upper: upper,
                countsPadding: try boolean("countPadding", false),
                clips: try boolean("clip", false)
            )
        case "rescale":
            let (lower, upper) = try bounds()
            return .rescale(lower: lower, upper: upper)
        case "linear":
            let (mean, deviation) = try moments()
            return .linear(mean: mean, deviation: deviation)
        case "ct":
            let ((lower, upper), (mean, deviation)) = (try bounds(), try moments())
            return .ct(lower: lower, upper: upper, mean: mean, deviation: deviation)
        default:
            let schemes = "ct, linear, zScore, rescale, rescale01, rgb01, quantiles, none"
            throw fault("scheme", is: scheme, not: "one of \(schemes)")
        }
    }

    /// The keys `lowerBound` and `upperBound`.
    private func bounds() throws(Fault) -> (lower: Float, upper: Float) {
        let (lower, upper) = (try float("lowerBound"), try float("upperBound"))
        guard lower < upper else { throw fault("upperBound", is: upper, not: "above lowerBound, \(lower)") }
        return (lower, upper)
    }

    /// The keys `mean` and `standardDeviation`.
    private func moments() throws(Fault) -> (mean: Float, deviation: Float) {
        let (mean, deviation) = (try float("mean"), try float("standardDeviation"))
        guard deviation > 0 else { throw fault("standardDeviation", is: deviation, not: "above 0") }
        return (mean, deviation)
    }

    /// A number within the range of single precision.
    package func float(_ key: String) throws(Fault) -> Float {
        let limit = Double.greatestFiniteMagnitude
        let number = try number(key, in: -limit...limit)
        guard Float(number).isFinite else { throw fault(key, is: number, not: "a number of single precision") }
        return Float(number)
    }
}
