import Foundation

/// Metrics in Prometheus's text format, version 0.0.4.
struct PrometheusText {
    struct Sample {
        let labels: [(name: String, value: String)]
        let value: Double
    }

    private(set) var text = ""
    /// Labels of every sample.
    private let common: [(name: String, value: String)]

    init(common: [(name: String, value: String)] = []) { self.common = common }

    /// Adds a gauge with its samples; without samples it is left out.
    /// - Parameter help: one line.
    mutating func add(_ name: String, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) gauge\n"
        for sample in samples {
            let labels = (common + sample.labels).map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
            text += " \(Self.number(sample.value))\n"
        }
    }

    /// Adds a gauge with one value; nil leaves it out.
    mutating func add(_ name: String, _ help: String, _ value: Double?) {
        add(name, help, value.map { [Sample(labels: [], value: $0)] } ?? [])
    }

    /// Adds a gauge with one value for each value of a label.
    mutating func add(_ name: String, _ help: String, by label: String, _ values: [(String, Double)]) {
        add(name, help, values.map { Sample(labels: [(label, $0.0)], value: $0.1) })
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { result = result.replacing("\"", with: "\\\"") }
        return result
    }
}
