import NocturneInference
import NocturneNumerics

/// Checks that sections about photos share.
extension ModelValidation {
    /// A whole number, or its default.
    func whole(
        _ raw: WholeNumber?,
        _ standard: Int,
        in range: ClosedRange<Int>,
        key: String
    ) throws(ModelPackageError) -> Int {
        let value = raw?.value ?? standard
        guard range.contains(value) else {
            throw refuse(key, expected: "\(range.lowerBound)...\(range.upperBound)", found: value)
        }
        return value
    }

    /// Sets an area or a length in pixels, where one is given.
    func set(_ value: inout Int, _ raw: WholeNumber?, key: String) throws(ModelPackageError) {
        value = try whole(raw, value, in: 1...1 << 20, key: key)
    }

    /// Sets a number from 0 to a limit, where one is given.
    func set(
        _ value: inout Float,
        _ raw: Double?,
        upTo limit: Double = 1,
        key: String
    ) throws(ModelPackageError) {
        guard let raw else { return }
        guard raw >= 0, raw <= limit else {
            throw refuse(key, expected: "a number in 0...\(Int(limit))", found: raw)
        }
        value = Float(raw)
    }

    /// Numbers for red, green and blue, finite in single precision too.
    func threeColors(_ values: [Double], key: String) throws(ModelPackageError) -> [Double] {
        guard values.count == 3, values.allSatisfy({ Float($0).isFinite }) else {
            throw refuse(key, expected: "three numbers: red, green, blue", found: values)
        }
        return values
    }

    /// Three means and standard deviations.
    func colors(
        mean: [Double],
        deviation: [Double],
        order: String? = nil,
        key: String
    ) throws(ModelPackageError) -> NetworkColors {
        let mean = try threeColors(mean, key: "\(key).mean")
        let deviation = try threeColors(deviation, key: "\(key).standardDeviation")
        guard deviation.allSatisfy({ $0 >= 1e-6 }) else {
            throw refuse("\(key).standardDeviation", expected: "three numbers above 0", found: deviation)
        }
        let order: NetworkColors.Order = try choice(order, .rgb, ["rgb", "bgr"], key: "\(key).channels")
        return NetworkColors(mean: mean, deviation: deviation, order: order)
    }

    /// A file that the package lists.
    func listedFile(_ name: String, _ files: [ModelFile], key: String) throws(ModelPackageError) -> String {
        guard files.contains(where: { $0.path == name }) else {
            throw refuse(key, expected: "one of the files", found: name)
        }
        return name
    }
}
